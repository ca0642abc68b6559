"""Prior of a joint model for one pool: expectations, shared effects, and the uncertainty of their deviations."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, get_args

import numpy as np
from scipy.linalg import block_diag

from audiosim.collection.pool import UNKNOWN, Pool
from audiosim.errors import InputError
from audiosim.joint.fit import SMALL
from audiosim.joint.independent import OrdinalEstimator
from audiosim.joint.posterior import Belief, kinds_of
from audiosim.joint.terms import EvidenceEffects, covariates, layout_of
from audiosim.ordinal.features import FEATURES, needs_judgments
from audiosim.ordinal.model import TREND, Between, Model, Source, Trend, documents_of, places_of
from audiosim.stats.arrays import Array, Booleans
from audiosim.stats.normal.layout import REST, Layout

# Kinship of a pool with a model's training collections, by content or declaration, not by folder name.
#
# home      the same result lists: nearly all places in those of the pool occur in the training collection
# systems   other queries, but systems of the same names, and the same documents or a common `edition_of`
# edition   the same documents or a common `edition_of`, but other systems, or another scale
# stranger  any other collection
#
# A place is a query, a document, and the document ranked above it. With fewer systems or queries, a smaller cutoff,
# reordered lines or other judgments, all places still occur in the training collection; new queries bring new places.
# Documents are the same if their identifier, genre and artist are.
#
# The share of a model's knowledge that carries over is a correlation: a parameter that varies between collections
# with
# variance T^2 varies around that of a kin collection with variance
#
# (1 - carried) T^2
#
# in addition to the uncertainty about the kin itself. Everything carries over at home, and nothing to a stranger. For
# kin the share is learned from collections with several editions: see `training.between_editions`.


Kinship = Literal["home", "systems", "edition", "stranger"]
NEAREST_FIRST: tuple[Kinship, ...] = get_args(Kinship)
KIN: tuple[Kinship, ...] = ("systems", "edition")
MOST = 0.95  # share of known places from which the pool is home: a corrected run does not make another collection
TOO_MANY = 2  # times as many pairs as known places: not all can be known, even if their number is underestimated
HALF = 0.5  # share of systems with known names from which they count as the same
SHARED = 0.05  # share of known documents from which they count as the same


def kinship_of(pool: Pool, sources: Iterable[Source]) -> Kinship:
    """The nearest kinship of a pool with any of the collections that a model was fitted to."""
    places, documents = cache(lambda: places_of(pool)), cache(lambda: documents_of(pool))
    found = (_kinship(pool, source, places, documents) for source in sources)
    return min(found, key=NEAREST_FIRST.index, default="stranger")


def _kinship(pool: Pool, source: Source, places: Callable[[], set[str]], documents: Callable[[], set[str]]) -> Kinship:
    """Kinship with one collection; a file without its content recognises home by the hash of the whole pool."""
    if source.pairs == len(pool.pairs) and source.pool == pool.content_hash:
        return "home"
    if source.places is None or source.documents is None:
        return "stranger"
    same_scale = source.scale == str(pool.scale)
    # A pool has at least one place per pair: with far more pairs than known places, there is no need to look.
    larger = np.count_nonzero(pool.found) > TOO_MANY * source.places.size
    if same_scale and not larger and source.places.containment(places()) >= MOST:
        return "home"
    series = {source.edition_of, source.collection} - {""}
    declared = pool.edition_of in series or source.edition_of == pool.collection
    if not declared and source.documents.containment(documents()) < SHARED:
        return "stranger"
    return "systems" if same_scale and same_systems(pool.systems, source.names) else "edition"


def same_systems(systems: Iterable[str], known: Iterable[str]) -> bool:
    """True if most systems have known names: they then count as the same, perhaps improved."""
    names = set(systems)
    return len(names & set(known)) >= HALF * len(names)


# Share of a model's knowledge that applies to a pool, by the kinship of collections and by known documents.


def unknown_documents(pool: Pool) -> Pool:
    """The pool without metadata, so that documents differ only in their retrieving systems; unchanged without any."""
    known = np.any(pool.genre != UNKNOWN) or np.any(pool.artist != UNKNOWN)
    if not known and pool.sounds is None and not pool.evidence and not pool.judges:
        return pool
    nothing = np.full(len(pool.pairs), UNKNOWN)
    return replace(pool, genre=nothing, query_genre=nothing, artist=nothing, sounds=None, evidence=(), judges=())


def carried_to(pool: Pool, model: Model) -> float:
    """Share of a model's knowledge that carries over to a pool: 1 at home, or if the model knows no other collection.

    See `kinship`. For another edition this needs metadata: only metadata identify the pairs that resemble the model's.
    """
    if model.between is None:
        return 1.0
    kinship = kinship_to(pool, model)
    if kinship == "home":
        return 1.0
    if kinship == "edition" and not knows_documents(model, pool):
        return 0.0
    return model.between.carried.get(kinship, 0.0)


def kinship_to(pool: Pool, model: Model) -> Kinship:
    """Kinship of a pool with the collections that a model was fitted to."""
    return "stranger" if model.training is None else kinship_of(pool, model.training.collections)


def knows_documents(model: Model, pool: Pool) -> bool:
    """True if a model was learned for the pool's scale from properties known for some of its documents."""
    there = np.any(pool.genre != UNKNOWN) or np.any(pool.artist != UNKNOWN)
    # A feature of the documents themselves, not only of the systems that retrieved them.
    of_documents = any(name not in FEATURES or kinds_of(FEATURES[name]) != ("output",) for name in model.features)
    return model.scale == pool.scale.name and of_documents and bool(there)


VARIETY = 0.2  # standard deviation of the logarithm of a size over queries of one collection
# Standard deviation of the constant per unit of the logarithm of the number of systems. Random subsets of 12, 9, 6, 3
# and 1 of the 18 systems of MIREX 2011, .4, .7, 1.1, 1.8 and 2.9 units fewer, shift scores by .03, .05, .09, .17 and
# .36.
OF_FEWER = 0.75
LEAST = 1e-3  # smallest standard deviation of a pair, as a share of the scale
FLOOR = 0.6  # smallest share of the mean standard deviation; ordinal models are overconfident at the ends


@dataclass(frozen=True, eq=False)
class Prior:
    """Prior of the pairs of a pool before any judgment, except for the variance components.

    ordinal   belief by the ordinal models
    layout    layout of the components; constant, system agreement, consensus and repetition are its trend
    mean      (n,) expected grade as a share of the highest
    informed  (n,) True where the ordinal model has a feature of the pair
    systems   number of systems of the pool
    """

    ordinal: Belief
    layout: Layout
    mean: Array
    informed: Booleans
    systems: int

    @classmethod
    def of(cls, pool: Pool, models: tuple[Model, ...], sound: bool, metadata: bool = True) -> "Prior":
        """The prior by some models, in order of preference as in `OrdinalEstimator`.

        sound     True to let recordings that sound alike share an effect
        metadata  True to let documents of a genre or an artist share one
        """
        readers = [name for model in models for name in model.features if needs_judgments([name])]
        if readers:
            raise InputError(f"a joint model reads the judgments itself: {readers[0]} must not be among its features")
        ordinal = OrdinalEstimator(pool, models).predict(np.full(len(pool.pairs), np.nan))
        scale, mean = np.sqrt(ordinal.prior.variance), ordinal.prior.mean
        scale = np.maximum(max(LEAST, FLOOR * float(scale[pool.found].mean())), scale)
        trend = np.column_stack([np.ones(len(mean)), *covariates(pool)]) * scale[:, None]
        layout = replace(layout_of(pool, scale, sound, metadata), trend=trend)
        informed = np.array([bool(model.terms) for model in models])[ordinal.model]
        return cls(ordinal, layout, mean, informed, len(pool.systems))

    def fewer(self, model: Model) -> float:
        """Difference in the logarithm of the number of systems to the nearest collection that a model was fitted to.

        0 if the model does not record it, because it was not fitted here.
        """
        known = () if model.training is None else model.training.collections
        return min((abs(float(np.log(self.systems / source.systems))) for source in known), default=0.0)


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Prior uncertainty about the trend and the variance components, before any judgment of the collection.

    mean        (n,) expected grade as a share of the highest, trend included
    covariance  (f, f) covariance of the trend's coefficients
    centre      standard deviations, by component
    spread      standard deviations of their logarithms
    away        True for a collection that the model was not trained on
    compared    True if comparisons already separated the pair's own part of `rest` from people's noise
    """

    mean: Array
    covariance: Array
    centre: Mapping[str, float]
    spread: Mapping[str, float]
    away: bool
    compared: bool = False

    @classmethod
    def at_home(cls, prior: Prior, model: Model, carried: float = 1.0) -> "Uncertainty":
        """Prior uncertainty for the collection that the model was trained on: its estimates and their standard errors.

        carried  share of the model's knowledge that carries over, see `kinship`: 1 at home, less for its kin

        A size has the spread of its logarithm by the model's standard error, at least VARIETY. Kin differ in addition
        by (1 - carried) of the variance between collections. With fewer systems the constant is less certain: the
        ordinal model reads the share of systems that found a document, and its meaning depends on their number.
        """
        trend, components = components_of(model)
        centre = {name: components[name][0] for name in prior.layout.names}
        # A size near 0 would make the relative error explode, and a size without an error is uninformative: both end at
        # 1.
        spread = {
            name: max(VARIETY, min(1.0, (components[name][1] or np.inf) / max(size, SMALL)))
            for name, size in centre.items()
        }
        covariance = np.array(trend.covariance)
        covariance[0, 0] += (OF_FEWER * prior.fewer(model)) ** 2
        if model.between is not None and carried < 1:
            left = np.sqrt(1 - carried)
            covariance += (left * model.between.trend_deviations) ** 2
            spread = {name: float(np.hypot(of, left * model.between.spread(name))) for name, of in spread.items()}
        mean = prior.mean + prior.layout.fixed @ list(trend.coefficients.values())
        return cls(mean, covariance, centre, spread, False)

    @classmethod
    def elsewhere(cls, prior: Prior, model: Model, between: Between) -> "Uncertainty":
        """Prior uncertainty for any other collection.

        Pairs with known features have the model's trend, other pairs the average trend of collections. Query,
        retrievers and rest have the model's sizes where most pairs have known features. All other sizes are those
        between collections, or the model's for effects that only documents with metadata share.
        """
        trend, components = components_of(model)
        # Coefficients depend on the pair: the model's trend corrects its ordinal expectation, and uninformed pairs have
        # none.
        usual = np.array([between.trend[name][0] for name in TREND])
        own_trend = np.array([trend.coefficients[name] for name in TREND])
        coefficients = np.where(prior.informed[:, None], own_trend, usual)
        # Sizes depend on the collection, as a component has one variance for all pairs: the majority decides. Only the
        # components within a query depend on the ordinal model's features; those shared between queries vary like
        # collections do.
        known = prior.informed.mean() > 1 / 2
        centre, spread = {}, {}
        for name in prior.layout.names:
            own = known and name in {"query", "retrievers", "rest"}
            usual_size = between.standard_deviations.get(name, components[name])[0]
            # Log-normal sizes cannot leave 0, so a component estimated as 0 starts from SMALL.
            centre[name] = max(components[name][0], SMALL) if own else usual_size
            spread[name] = between.spread(name)
        mean = prior.mean + np.vecdot(prior.layout.fixed, coefficients)
        return cls(mean, between.trend_deviations**2, centre, spread, True)

    def with_evidence(self, effects: EvidenceEffects, layout: Layout) -> "Uncertainty":
        """The same with a slope for each piece of evidence, and standard deviations of the effects that it adds.

        layout  layout that receives the effects

        The variance that likenesses explain is taken from `rest`, and the variance that columns are expected to explain
        from the components that they name; at least half of each deviation is left.
        """
        brought = effects.regressors
        columns = brought.columns * layout.scale[:, None]
        added = {name: size for name, size in brought.standard_deviations.items() if name not in layout.kernels}
        taken = sum(size**2 for name, (size, _) in added.items() if name in brought.kernels)
        rest = np.sqrt(max((self.centre[REST] / 2) ** 2, self.centre[REST] ** 2 - taken))
        left = _left_of({**self.centre, REST: float(rest)}, brought.explained)
        return replace(
            self,
            mean=self.mean + columns @ brought.slopes,
            covariance=block_diag(self.covariance, brought.covariance),
            centre={**left, **{name: size for name, (size, _) in added.items()}},
            spread={**self.spread, **{name: unsure for name, (_, unsure) in added.items()}},
        )

    def standard_deviations(self, found: Mapping[str, float], spread: Mapping[str, float]) -> dict[str, float]:
        """Standard deviations for predictions: away from home the root mean square of each log-normal distribution.

        found   medians
        spread  standard deviations of the logarithms
        """
        return {name: float(size * np.exp(spread[name] ** 2 if self.away else 0)) for name, size in found.items()}


def _left_of(centre: Mapping[str, float], explained: Mapping[tuple[str, ...], float]) -> dict[str, float]:
    """Sizes left once columns explain a part of the components, several together in proportion to their variances.

    explained  variance, by names of components
    """
    left = dict(centre)
    for names, variance in explained.items():
        there = [name for name in names if name in centre]
        total = sum(centre[name] ** 2 for name in there)
        for name in there:
            left[name] = centre[name] * float(np.sqrt(max(1 / 4, 1 - variance / total)))
    return left


def components_of(model: Model) -> tuple[Trend, Mapping[str, tuple[float, float | None]]]:
    """Trend and components of a model; an error if it has none."""
    if model.components is None or model.trend is None:
        raise InputError(f"model {model.name} has no components: train it by audiosim train --features joint")
    return model.trend, model.components
