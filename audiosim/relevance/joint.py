"""The estimator of correlated grades: an ordinal model, and a multivariate normal of the deviations from it.

    grade_i = mu_i + s_i (c + a z_i + b x_i + d r_i + sum of effects of the pair i)

The effects are normal, with variances of the model; mu_i is the expectation of the ordinal model's grade, which
reads no judgment, and s_i its standard deviation, no less than FLOOR of the mean of all. Effects that pairs share
correlate their grades; see `layout_of`. The trend, c + a z + b x + d r, is there because whole systems differ more than
the features of single documents tell, and because what many teams find is better; see `consensus`. It is as uncertain
as its covariance says. Judgments condition all of it, exactly.

A model knows the collection that it was learned on, and in part its kin; see `kinship`. Any other is a draw from a
distribution of collections, see `Between`: there trend and variances are as uncertain as collections differ, and where
nothing is known of any document, so is the mean, which is then that of the scale.

Sound, and evidence of the user's own, is met in the same way everywhere: each piece moves the mean by a slope of which
a prior is held, and documents that are alike in it share an effect; see `evidence_effects`.
"""

from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.corpus.pool import UNKNOWN, Pool
from audiosim.features.registry import FEATURES
from audiosim.relevance.belief import Belief
from audiosim.relevance.comparison_deviations import learn_comparison_deviations, usual_comparison_deviations
from audiosim.relevance.comparison_model import Compared, ComparedGains, ComparisonModel
from audiosim.relevance.disagreements import Disagreement, disagreements
from audiosim.relevance.evidence_effects import EvidenceEffects
from audiosim.relevance.evidence_kind import EvidenceKind
from audiosim.relevance.joint_prior import Prior, Uncertainty, components_of
from audiosim.relevance.judge_deviations import (
    COVARIATES,
    HELD,
    SMALL,
    JudgeDeviations,
    PanelModels,
    panel_model,
    true_of_pairs,
)
from audiosim.relevance.judge_reports import MOST, JudgeReport, judge_reports
from audiosim.relevance.judged_rows import JudgedRows, most_telling
from audiosim.relevance.judges import Panel, PanelModel, People, with_judges
from audiosim.relevance.kinship import Kinship, kinship_of
from audiosim.relevance.level_use import Levels
from audiosim.relevance.published import Model, usual_model
from audiosim.relevance.random_effects import SOUND
from audiosim.relevance.speaking import kinds_of
from audiosim.stats.block_normal import BlockNormal
from audiosim.stats.layout import REST, Layout
from audiosim.stats.threads import one_thread


class JointEstimator:
    """A joint model for one pool; it never changes, so threads may share it."""

    def __init__(self, pool: Pool, models: tuple[Model, ...], kinds: Collection[EvidenceKind] | None = None) -> None:
        """An estimator for one pool.

        models  in order of preference, as of `OrdinalEstimator`; the first has components
        kinds   of evidence that it takes into account; all that are known where None
        """
        model = models[0]
        components = components_of(model)[1]
        self._model, self._models, self._pool = model, models, pool
        self._taught: Array | None = None
        self._panel: Panel | None = None
        self._panel_models = PanelModels(self.panel_model)
        self._reserve: JointEstimator | None = None
        self._first = self  # of those that learn from it, too: they are copies
        self._unheard = self  # of those that hear people, too: they have their reserve in common
        carried = carried_to(pool, model)
        sound = SOUND in components and (carried == 1 or pool.sounds is not None)
        if model.between is None or carried > 0:
            self._prior = Prior.of(pool, models, sound)
            self._held = Uncertainty.at_home(self._prior, model, carried)
        else:
            known = knows_documents(model, pool)
            self._prior = Prior.of(pool, models if known else (usual_model(pool.scale),), sound, known)
            self._held = Uncertainty.elsewhere(self._prior, model, model.between)
        effects = EvidenceEffects.of(pool, self._prior.layout, kinds)
        if effects.names:
            self._held = self._held.with_evidence(effects, self._prior.layout)
            self._prior = replace(self._prior, layout=effects.onto(self._prior.layout))
        self._spoken = effects.spoken(self._prior.ordinal)
        self._brought = effects.names
        self._compared = Compared.of(pool, pool.comparisons)
        self._comparison_deviations: dict[str, float] = {}
        if len(self._compared):
            self._learn_from_comparisons()
        self._begin(self._held.standard_deviations(self._held.centre, self._held.spread))

    def _learn_from_comparisons(self) -> None:
        """Sizes of components, and of what people add to comparisons, by what was compared."""
        layout, held = self._with_trend(), self._held
        own, unsure = usual_comparison_deviations(layout)
        pair, pair_unsure = true_of_pairs(held)
        usual = {**held.centre, REST: pair}
        centre = {name: max(size, SMALL) for name, size in usual.items()} | own | {COVARIATES: 1.0}
        spread = {**held.spread, REST: pair_unsure, **unsure}
        with one_thread():
            learned = learn_comparison_deviations(
                layout, held.mean, self._parts_of_pairs(), self._compared, centre, spread
            )
        found, left = ({name: of[name] for name in held.centre} for of in (learned.found, learned.spread))
        self._comparison_deviations = {name: learned.found[name] for name in own}
        self._held = replace(held, centre=found, spread=left, compared=True)

    def _answers(self, gains: BlockNormal) -> ComparedGains | None:
        """The comparisons of pairs whose gains have this prior; None where there are none."""
        compared = self._compared
        if not len(compared):
            return None
        care = np.ones(len(compared.judges))
        parts, scale = self._parts_of_pairs(), self._prior.layout.scale
        return ComparedGains(ComparisonModel(compared, parts, scale, self._comparison_deviations, care), gains)

    def _begin(self, standard_deviations: Mapping[str, float]) -> None:
        self.standard_deviations = standard_deviations
        gains = self._prior.layout.normal(standard_deviations, self._held.mean)
        gains = gains.with_effects(self._prior.layout.fixed, self._held.covariance)
        words, spoke = self._spoken
        # By how much collections vary in level, trend and variances says nothing of how wide a level is.
        # Of the pairs that were retrieved alone: what else is asked for changes nothing of these.
        wider = (np.sqrt(gains.variance) / self._prior.layout.scale)[self._pool.found].mean()
        width = min(1.0, 1 / float(wider)) if self._held.away else 1.0
        self._start = replace(
            self._prior.ordinal,
            prior=gains,
            evidence=words,
            spoke=spoke,
            use=Levels(width=width),
            answers=self._answers(gains),
        )

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def version(self) -> str:
        """The version of the model."""
        return self._model.version

    def predict(self, grades: Array) -> Belief:
        belief = self._start.revise(grades)
        if self._panel is None or not self._panel.is_of(grades):
            return belief
        return belief.heard(People(self._panel, self._panel_models.of))

    def hearing(self, panel: Panel) -> "JointEstimator":
        """The estimator that knows who judged, where the grades that it is asked about are those of these people."""
        other = copy(self)
        other._panel = panel
        return other

    def relearned(self, grades: Array) -> "JointEstimator":
        """The estimator whose components are those of these judgments and of the model together; see `relearning`.

        grades  (n,) NaN where unjudged

        The prior of the standard deviations is log-normal, that of the trend normal. The trend itself needs
        no learning: it is among the effects that are conditioned.
        """
        with one_thread():
            return self._relearned(grades)

    def _relearned(self, grades: Array) -> "JointEstimator":
        places = np.flatnonzero(~np.isnan(grades))
        other = self._having(grades, self.learned_deviations(places, grades[places] / self._start.maximum))
        shaped = other._start.revise(grades).shaped()
        other._start = other._start.using(shaped.use)
        return other

    def learned_deviations(self, places: Integers, gains: Array) -> dict[str, float]:
        """Standard deviations to predict with, by name, of these gains and of the model together.

        places  (k,) of the judged pairs
        gains   (k,) as shares of the highest
        """
        from audiosim.stats.components import estimate_components  # costs start-up time that most uses need not pay

        held, layout = self._held, self._with_trend().part(places)
        centre = {name: max(size, SMALL) for name, size in held.centre.items()} | {COVARIATES: 1.0}
        spread = {**held.spread, COVARIATES: HELD}
        found = estimate_components([layout], [gains - held.mean[places]], centre, spread)
        left = {name: min(spread[name], found.errors[name] / found.standard_deviations[name]) for name in held.centre}
        return held.standard_deviations({name: found.standard_deviations[name] for name in held.centre}, left)

    def panel_model(self, panel: Panel, deviations: JudgeDeviations | None = None) -> PanelModel:
        """Model of the pool's gains and of the people who judge them, its deviations learned from what they said.

        deviations  prior of those of people; the usual one where None
        """
        parts = self._parts_of_pairs()
        with one_thread():
            return panel_model(self._prior.layout, self._with_trend(), self._held, parts, panel, deviations)

    @property
    def prior(self) -> Prior:
        """Prior of the pairs before anything is judged, except for the standard deviations."""
        return self._prior

    @property
    def uncertainty(self) -> Uncertainty:
        """Prior uncertainty about trend and standard deviations."""
        return self._held

    def _having(self, grades: Array, standard_deviations: Mapping[str, float]) -> "JointEstimator":
        other = copy(self)
        other._taught, other._reserve, other._unheard = grades, None, other
        other._begin(standard_deviations)
        return other

    @property
    def basis(self) -> object:
        """All that a lesson rests on beside the grades."""
        return self._prior, self._held, self._pool.found

    @property
    def learned(self) -> dict[str, Any]:
        """Standard deviations and levels as they were learned last."""
        return {"standard_deviations": dict(self.standard_deviations), **self._start.use.to_dict()}

    def resumed(self, grades: Array, learned: Mapping[str, Any]) -> "JointEstimator":
        """The estimator that has learned this from these judgments (n,), NaN where unjudged."""
        other = self._having(grades, learned["standard_deviations"])
        other._start = other._start.using(other._start.use.resumed(learned))
        return other

    def unlearned(self) -> "JointEstimator":
        """The estimator as it was when nothing was judged."""
        return self._first

    def in_reserve(self) -> "JointEstimator | None":
        """Estimator for where this one does not fit: nothing known of documents, and a collection like any other.

        It has learned from the same judgments. None where nothing is held of other collections, or this is it already.
        """
        between = self._model.between
        bare = not self._brought and self._pool is unknown_documents(self._pool)
        if between is None or (self._held.away and bare):
            return None
        reserve = self._unheard._kept_reserve()
        return reserve if self._panel is None else reserve.hearing(self._panel)

    def _kept_reserve(self) -> "JointEstimator":
        """The reserve, which has learned once: to learn takes a hundred times as long as to predict."""
        if self._reserve is None:
            models = (replace(self._model, training=None), *self._models[1:])
            made = JointEstimator(unknown_documents(self._pool), models, kinds=())
            self._reserve = made if self._taught is None else made.relearned(self._taught)
        return self._reserve

    def following(self, learned: object) -> "JointEstimator | None":
        """The estimator with components and the shape of levels that one of another pool of the collection has learned.

        None where that one has other components.
        """
        if (
            not isinstance(learned, JointEstimator)
            or learned.standard_deviations.keys() != self.standard_deviations.keys()
        ):
            return None
        other = copy(self)
        other._unheard = other
        other._begin(learned.standard_deviations)
        other._start = other._start.using(other._start.use.as_in(learned._start.use))
        return other

    def judged_rows(self, panel: Panel) -> JudgedRows:
        """Judgments of a panel with their covariance, its components learned from them."""
        model, parts = self.panel_model(panel), self._parts_of_pairs()
        unit = float(np.sqrt(np.mean(model.layout.scale**2)))
        rows = with_judges(self._with_trend(), parts, panel)
        deviations = {**model.likeliest, COVARIATES: 1.0}
        return JudgedRows(rows, deviations, panel, panel.gain - self._held.mean[panel.place], unit, parts)

    def judge_reports(self, panel: Panel) -> list[JudgeReport]:
        """Reports on those who judged, by the first judgments of a panel; see `judge_reports.MOST`."""
        with one_thread():
            return judge_reports(self.judged_rows(panel.first(MOST)), self._pool.systems)

    def disagreements(self, panel: Panel, count: int | None = None) -> list[Disagreement]:
        """Pairs on which people differ most, by at most MOST judgments; see `disagreements`."""
        with one_thread():
            return disagreements(self.judged_rows(most_telling(panel, MOST)), self._pool.pairs, count)

    def _parts_of_pairs(self) -> Array:
        """(n, s) how much each pair is of what each system retrieved."""
        parts = np.asarray(self._pool.retrieved.T.toarray(), dtype=np.float64)
        return np.asarray(parts / np.maximum(1, parts.sum(axis=1, keepdims=True)))

    def _with_trend(self) -> Layout:
        """The layout with the trend as effects of unit size: its columns times a root of their covariance."""
        layout = self._prior.layout
        values, vectors = np.linalg.eigh(self._held.covariance)
        columns = layout.fixed @ (vectors * np.sqrt(np.maximum(0, values))) / layout.scale[:, None]
        return replace(layout, trend=None, shared={**layout.shared, COVARIATES: columns})


def unknown_documents(pool: Pool) -> Pool:
    """The pool with nothing known of its documents beyond who retrieved them; itself where nothing is."""
    known = np.any(pool.genre != UNKNOWN) or np.any(pool.artist != UNKNOWN)
    if not known and pool.sounds is None and not pool.evidence and not pool.judges:
        return pool
    nothing = np.full(len(pool.pairs), UNKNOWN)
    return replace(pool, genre=nothing, query_genre=nothing, artist=nothing, sounds=None, evidence=(), judges=())


def carried_to(pool: Pool, model: Model) -> float:
    """Share of what a model learned that carries over to a pool: 1 at home, and where it knows of no other collection.

    See `kinship`. Of another edition only what is known of documents tells which pairs are as the model has them.
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
    """True if a model was learned for the pool's scale from document properties, known here for some documents."""
    there = np.any(pool.genre != UNKNOWN) or np.any(pool.artist != UNKNOWN)
    return model.scale == pool.scale.name and _of_documents(model) and bool(there)


def _of_documents(model: Model) -> bool:
    """True if a model has a feature that is of documents, not of who retrieved them."""
    return any(name not in FEATURES or kinds_of(FEATURES[name]) != ("output",) for name in model.features)
