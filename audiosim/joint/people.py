"""Model of judges: each person's additions to a pair's gain, and the information in their judgments about other people.

Judgment j by person a of pair i of query q, in gains, where s_i is the pair's deviation and M_ik the share of pair i
that belongs to the results of system k:

    y_j = g_i + h_a + sum_k M_ik x_ak + s_i (w_aq + e_j)
    h_a ~ N(0, severity^2),  x_ak ~ N(0, taste^2),  w_aq ~ N(0, query^2),  e_j ~ N(0, noise^2)

Statements are about some people's mean opinion of each pair, see `Listeners`: the people who judged, or any number of
people like them. Conditioning is exact for each of these: judgments are further unknowns, correlated with those of the
pairs.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag
from scipy.special import chdtrc

from audiosim.collection.pool import Pool
from audiosim.collection.values import Judgment, Pair
from audiosim.errors import InputError
from audiosim.joint.moments import last_moment
from audiosim.results.value import Value, cached_property
from audiosim.stats.arrays import Array, Booleans, Integers, numbered
from audiosim.stats.normal.block_covariances import BlockCovariances, BlockInverse
from audiosim.stats.normal.block_normal import BlockNormal
from audiosim.stats.normal.blocks import SameCode, Within
from audiosim.stats.normal.conditioning import ConditionedBlock, SeenValues, by_number, condition_block
from audiosim.stats.normal.layout import REST, Layout, Repeats
from audiosim.stats.normal.projection import EffectsGiven
from audiosim.stats.normal.variance_components import Components, RestrictedLikelihood
from audiosim.stats.threads import one_thread

# Mean opinion of some people about each pair, given judgments, in blocks: a new judgment changes only its own.


@dataclass(frozen=True, eq=False)
class Voices:
    """The judgments of p people about n pairs, before any is made: the same whoever's mean opinion they tell.

    gains   gains of the pairs for listeners at large
    shared  (q, q) covariance of the shared effects of an opinion: those of the gains, the severities of the p people,
            the tastes of some of them, and a severity and tastes of all others
    parts   (n, s) share of each pair that belongs to the results of each system
    scale   (n,) deviation of each pair
    noise   (p,) variance of each person's noise, in deviations of a pair
    together  variance shared by one person's judgments of a query, likewise
    taste   variance of the tastes that are not separate effects: it counts as noise
    column  (p,) place of each person among the tastes, -1 if not a separate effect

    Results for a block are cached with its judgments: the next judgment recomputes only its own block.
    """

    gains: BlockNormal
    shared: Array
    parts: Array
    scale: Array
    noise: Array
    together: float
    taste: float
    column: Integers

    @cached_property
    def _seen(self) -> dict[int, tuple[bytes, "BlockJudgments"]]:
        return {}

    @cached_property
    def last_given(self) -> list[EffectsGiven]:
        """The shared effects given the judgments of the last state; see `BlockNormal.given`."""
        return []

    def of(self, place: Integers, judge: Integers, gain: Array) -> dict[int, "BlockJudgments"]:
        """Judgments (J,) by block: their pairs, judges and gains."""
        block, found = self.gains.block[place], {}
        for said in by_number(block):
            code = int(block[said[0]])
            # Compared by content, not by identity: each state creates new arrays, mostly with equal parts.
            key = b"".join(of[said].tobytes() for of in (place, judge, gain))
            kept = self._seen.get(code)
            if kept is None or kept[0] != key:
                kept = self._seen[code] = key, self._seen_in(code, place[said], judge[said], gain[said])
            found[code] = kept[1]
        return found

    def _seen_in(self, block: int, place: Integers, judge: Integers, gain: Array) -> "BlockJudgments":
        """Judgments of the pairs of a block."""
        rows, some = self.gains.blocks[block], self.scale[place]
        order = np.argsort(rows)
        at = order[np.searchsorted(rows, place, sorter=order)]
        # Person by query, and noise, are within a query: they stay in the block. Severity and taste cross queries, so
        # they are loadings on shared effects; only the few tastes without an effect of their own become noise.
        same_pair, same_judge = at[:, None] == at, judge[:, None] == judge
        own = self.gains.within[block][np.ix_(at, at)] + np.outer(some, some) * same_judge * (
            self.together + same_pair * self.noise[judge]
        )
        own[np.diag_indices_from(own)] += self.taste * (self.parts[place] ** 2).sum(axis=1) * (self.column[judge] < 0)
        loadings = np.hstack([self.gains.loadings[block][at], self._loadings(place, judge)])
        return BlockJudgments(at, judge, SeenValues.of(own, loadings, gain - self.gains.mean[place]))

    def _loadings(self, place: Integers, judge: Integers) -> Array:
        """(k, q) loadings of judgments on severities and tastes."""
        systems, people = self.parts.shape[1], len(self.noise)
        found = np.zeros((len(place), len(self.shared) - len(self.gains.shared)))
        found[np.arange(len(place)), judge] = 1
        for line, column in enumerate(self.column[judge].tolist()):
            if column >= 0:
                start = people + column * systems
                found[line, start : start + systems] = self.parts[place[line]]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class BlockJudgments:
    """Judgments (k,) of a block: the place of each pair in the block, its judge, and the values."""

    at: Integers
    judge: Integers
    values: SeenValues


@dataclass(frozen=True, eq=False)
class Opinions:
    """Mean opinion of some people about n pairs before p people judged, and its covariance with their judgments.

    voices  the judgments
    prior   prior of the mean opinion
    each    weight of each of the p people in the mean
    """

    voices: Voices
    prior: BlockNormal
    each: float

    @cached_property
    def _conditioned(self) -> dict[int, ConditionedBlock]:
        return {}

    def given(self, place: Integers, judge: Integers, gain: Array) -> BlockNormal:
        """Distribution of the mean opinion given judgments (J,): their pairs, judges and gains."""
        if not len(place):
            return self.prior
        seen = {}
        for block, said in self.voices.of(place, judge, gain).items():
            kept = self._conditioned.get(block)
            if kept is None or kept.seen is not said.values:
                kept = self._conditioned[block] = self._remainder(block, said)
            seen[block] = kept
        return self.prior.given(seen, self.voices.last_given)

    def _remainder(self, block: int, said: BlockJudgments) -> ConditionedBlock:
        """Remainder of a block given the judgments of its pairs."""
        voices, scale = self.voices, self.voices.scale[self.voices.gains.blocks[block]]
        # The mean opinion contains 1 / A of each judge's own deviations; a judgment shares exactly that part.
        hit = said.at[:, None] == np.arange(len(scale))
        own = self.each * (voices.together + hit * voices.noise[said.judge, None])
        across = voices.gains.within[block][said.at] + np.outer(scale[said.at], scale) * own
        return condition_block(self.prior.within[block], self.prior.loadings[block], across, said.values)


PAIR, SEVERITY, TASTE, JUDGE_QUERY = "pair", "judge", "judge_system", "judge_query"
OPINIONS_KEPT = PANELS_KEPT = 4
TASTES = 400  # most effects of people on systems; the tastes of people who judged least count as noise


@dataclass(frozen=True, eq=False)
class Panel:
    """Judgments of a pool's pairs, each with its judge.

    judges  p names, in the order of their first judgments
    place   (J,) place of the pair
    judge   (J,) index of the person
    gain    (J,) grade over the highest
    """

    judges: tuple[str, ...]
    place: Integers
    judge: Integers
    gain: Array

    @classmethod
    def of(cls, pool: Pool, judgments: Iterable[Judgment]) -> "Panel":
        """The last judgment of each person of each pair of a pool, in order of their first ones."""
        said = {(pair, one.assessor): one.grade for one in judgments if (pair := one.pair) in pool.positions}
        judges = tuple(dict.fromkeys(name for _, name in said))
        code = {name: number for number, name in enumerate(judges)}
        rows = [(pool.positions[pair], code[name], grade) for (pair, name), grade in said.items()]
        place, judge, grade = np.array(rows, dtype=np.float64).reshape(-1, 3).T
        return cls(judges, place.astype(np.int64), judge.astype(np.int64), grade / pool.scale.maximum)

    def after(self, place: int, name: str, gain: float) -> "Panel":
        """The panel after a person's first judgment of a pair."""
        judges = self.judges if name in self.judges else (*self.judges, name)
        code = judges.index(name)
        return Panel(judges, np.append(self.place, place), np.append(self.judge, code), np.append(self.gain, gain))

    def first(self, count: int) -> "Panel":
        """The first `count` judgments, with the same people."""
        return self.some(np.arange(min(count, len(self.place))))

    def some(self, kept: Integers) -> "Panel":
        """The judgments at these places, with the same people."""
        return Panel(self.judges, self.place[kept], self.judge[kept], self.gain[kept])

    @property
    def several(self) -> bool:
        """True if at least two people have judged, so that their effects can be estimated."""
        return len(self.judges) > 1

    def is_of(self, grades: Array) -> bool:
        """True if these judgments give the grades (n,), NaN where unjudged."""
        judged = np.zeros(len(grades), dtype=np.bool_)
        judged[self.place] = True
        return bool(np.array_equal(judged, ~np.isnan(grades)))

    @cached_property
    def counts(self) -> Integers:
        """(p,) judgments of each person."""
        return np.bincount(self.judge, minlength=len(self.judges))


NO_JUDGES = Panel((), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))


@dataclass(frozen=True, slots=True)
class Listeners:
    """Population of a statement: the judges, all with the same weight, and further people like them.

    each   weight of each judge
    fresh  sum of the squared weights of people who have not judged
    """

    each: float
    fresh: float

    @classmethod
    def of(cls, who: "Who", judges: int) -> "Listeners":
        """The panel of judges; listeners at large, infinitely many; or a given number of people.

        A number counts the judges first; the rest are people like them.
        """
        if who == "listeners":
            return cls(0.0, 0.0)
        count = judges if who == "panel" else who
        if count < max(1, judges):
            raise InputError(f"expected panel, listeners, or a number of people of at least the {judges} who judged")
        return cls(1 / max(1, count), (count - judges) / count**2 if count else 0.0)


Who = Literal["panel", "listeners"] | int


@dataclass(frozen=True, eq=False)
class PanelModel:
    """Joint distribution of a pool's gains and judgments, before any judgment.

    layout  layout of the components of gains, where `rest` belongs to the pair itself
    effects, covariance  (n, f) more loadings on shared effects, and (f, f) their covariance: the trend
    parts   (n, s) share of each pair that belongs to the results of each system
    mean    (n,) means of the gains
    deviations   standard deviations by name: those of the layout, with `pair` for `rest`, and of SEVERITY, TASTE,
            JUDGE_QUERY and `rest`, the noise
    noise   (p,) noise of the first people, relative to the common noise, which all others have
    likeliest  the deviations before their own uncertainty enlarged them
    noise_error  relative standard error of the noise
    learned  estimate of the deviations; None if nobody has judged
    """

    layout: Layout
    effects: Array
    covariance: Array
    parts: Array
    mean: Array
    deviations: Mapping[str, float]
    noise: Array | None = None
    likeliest: Mapping[str, float] = field(default_factory=dict)
    noise_error: float = math.inf
    learned: Components | None = None

    @cached_property
    def gains(self) -> BlockNormal:
        """The gains before any judgment; covariances are made on access, as a judgment needs those of one block."""
        found = self.layout.normal({**self.deviations, REST: self.deviations[PAIR]}, self.mean)
        assert isinstance(found.within, Within)
        return replace(found, within=replace(found.within, kept=None)).with_effects(self.effects, self.covariance)

    @cached_property
    def tastes_met(self) -> Array:
        """(n,) sum of the squared shares of each pair: the variance from tastes, in units of one taste's variance."""
        return np.asarray((self.parts**2).sum(axis=1))

    @cached_property
    def _opinions(self) -> dict[tuple[Listeners, int, bytes], Opinions]:
        return {}

    def posterior(self, panel: Panel, listeners: Listeners) -> BlockNormal:
        """Distribution of some people's mean opinion of each pair, given the judgments."""
        some = tasters(panel, self.parts.shape[1])
        # The distribution before judgments depends on no grade, so one result serves all states of a campaign.
        key = listeners, len(panel.judges), some.tobytes()
        found = self._opinions.get(key)
        if found is None:
            # The posterior of a smaller, earlier panel is not needed again, and takes tens of megabytes with hundreds
            # of people.
            for other in [other for other in list(self._opinions) if other[1:] != key[1:]]:
                self._opinions.pop(other, None)
            if len(self._opinions) >= OPINIONS_KEPT:
                self._opinions.clear()
            voices = next((one.voices for one in [*self._opinions.values()]), None)
            found = self._opinions[key] = self._before(len(panel.judges), some, listeners, voices)
        with one_thread():
            return found.given(panel.place, panel.judge, panel.gain)

    def forget(self) -> None:
        """Drop the gains and cached results of earlier posteriors: with hundreds of people, tens of megabytes."""
        self._opinions.clear()
        vars(self).pop("gains", None)

    def noise_of_each(self, judges: int) -> Array:
        """(p,) noise of the first p people, relative to the common noise."""
        known = np.empty(0) if self.noise is None else self.noise[:judges]  # withdrawn judgments may shrink the panel
        return np.append(known, np.ones(judges - len(known)))

    def _before(self, judges: int, some: Integers, listeners: Listeners, voices: Voices | None) -> Opinions:
        """Opinions before any judgment; `some` are the people with tastes as separate effects.

        voices  of these people, if other listeners' opinions have them already
        """
        severity, taste = self.deviations[SEVERITY] ** 2, self.deviations[TASTE] ** 2
        systems, (n, folded) = self.parts.shape[1], (len(self.parts), judges - len(some))
        noise = (self.deviations[REST] * self.noise_of_each(judges)) ** 2
        # In parts, the tastes sparse: with hundreds of effects the dense loadings would take 25 MB, several times.
        tastes = sparse.csr_array(listeners.each * self.parts)
        of_pairs = [
            np.full((n, judges), listeners.each),
            *[tastes] * len(some),
            np.full((n, 1), np.sqrt(listeners.fresh)),
            # Where individual tastes are not separate effects, the taste of these people's mean still is.
            np.sqrt(listeners.fresh + listeners.each**2 * folded) * self.parts,
        ]
        alone = listeners.each**2 * float(noise.sum()) + listeners.fresh * self.deviations[REST] ** 2
        together = (listeners.each**2 * judges + listeners.fresh) * self.deviations[JUDGE_QUERY] ** 2
        gains, scale = self.gains, self.layout.scale
        if voices is None:
            # Judges have effects of their own, as judgments reveal them; all others act together as one more person.
            variances = np.repeat([severity, taste, severity, taste], [judges, len(some) * systems, 1, systems])
            column = numbered(some, judges)
            common, every = self.deviations[JUDGE_QUERY] ** 2, block_diag(gains.shared, np.diag(variances))
            voices = Voices(gains, every, self.parts, scale, noise, common, taste, column)
        # Made on access: a new judgment needs the covariance of its own block, and all of them take megabytes.
        more = partial(_with_more, gains, scale, together, alone)
        assert isinstance(gains.within, Within)
        own = scale * (together * scale) + gains.within.diagonals + alone * scale**2
        within, loadings = Within(gains.within.blocks, more, own, {}, None), gains.sparse_loadings.beside(*of_pairs)
        return Opinions(voices, BlockNormal(self.mean, gains.blocks, within, loadings, voices.shared), listeners.each)


def _with_more(gains: BlockNormal, scale: Array, together: float, alone: float, block: int) -> Array:
    """(m, m) K + s s' x (together + alone I) of a block."""
    own = scale[gains.blocks[block]]
    found = np.outer(own, together * own)
    found += gains.within[block]
    found[np.diag_indices_from(found)] += alone * own**2
    return found


class PanelModels:
    """Models of panels, each learned up to the last moment of learning, see `joint.moments`; keeps recent ones."""

    def __init__(self) -> None:
        """An empty store."""
        self._made = dict[tuple[bytes, ...], PanelModel]()

    def knows(self, panel: Panel) -> bool:
        """True if the model of a panel is kept here."""
        return _key(_learned_from(panel)) in self._made

    def of(self, panel: Panel, make: Callable[[Panel], PanelModel]) -> PanelModel:
        """Model learned from the judgments of a panel up to the last moment of learning, by `make` if not kept."""
        first = _learned_from(panel)
        found = self._made.get(_key(first))
        return self.keep(panel, make(first) if found is None else found)

    def keep(self, panel: Panel, model: PanelModel) -> PanelModel:
        """Keep the model of a panel, which is returned."""
        key = _key(_learned_from(panel))
        # Opinions take 50 MB with a hundred people, so only one panel's are kept: a history and the present take turns.
        for made in [made for other, made in self._made.copy().items() if other != key]:
            made.forget()
        if key not in self._made and len(self._made) >= PANELS_KEPT:
            self._made.clear()
        self._made[key] = model
        return model


def _learned_from(panel: Panel) -> Panel:
    return panel.first(last_moment(len(panel.place)))


def _key(first: Panel) -> tuple[bytes, ...]:
    # From what one person judged, no noise of theirs is learned until somebody else has judged as well.
    return (bytes([first.several]), *(part.tobytes() for part in (first.place, first.judge, first.gain)))


@dataclass(frozen=True, eq=False)
class People:
    """The judges, their judgments, and the resulting opinions of any people.

    panel   their judgments
    models  models of panels
    make    function from a panel to its model, for one that is not among them
    """

    panel: Panel
    models: PanelModels
    make: Callable[[Panel], PanelModel]

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if "model" in state:  # learned by another process: the next state needs it too
            self.models.keep(self.panel, state["model"])

    @cached_property
    def model(self) -> PanelModel:
        """Model of their judgments."""
        return self.models.of(self.panel, self.make)

    @property
    def known(self) -> bool:
        """True if the model is available; learning it can take seconds."""
        return self.models.knows(self.panel)

    def heard_out(self, pairs: int) -> Booleans:
        """(n,) True where all of them have judged a pair: nobody's own noise leaves their mean opinion uncertain."""
        return np.asarray(np.bincount(self.panel.place, minlength=pairs) == len(self.panel.judges))

    @cached_property
    def _posteriors(self) -> dict[Who, BlockNormal]:
        return {}

    def posterior(self, who: Who) -> BlockNormal:
        """Distribution of some people's mean opinion of each pair."""
        if who not in self._posteriors:
            self._posteriors[who] = self.model.posterior(self.panel, Listeners.of(who, len(self.panel.judges)))
        return self._posteriors[who]


def tasters(panel: Panel, systems: int) -> Integers:
    """The people with tastes as separate effects: those who had judged most, as many as TASTES allows.

    Counts judgments up to the last moment of learning, so that the choice does not change with every judgment.
    """
    counts = panel.first(last_moment(len(panel.place))).counts
    return np.sort(np.argsort(-counts, kind="stable")[: TASTES // max(1, systems)])


def with_judges(layout: Layout, parts: Array, panel: Panel) -> Layout:
    """Layout of judgments for estimating all deviations: those of gains and those of judges.

    layout  layout of the n pairs
    parts   (n, s) share of each pair that belongs to the results of each system

    The noise is its `rest`; severity and taste do not grow with a pair's deviation.
    """
    said = layout.part(panel.place)
    count, systems = len(panel.place), parts.shape[1]
    person = sparse.csr_array((1 / said.scale, (np.arange(count), panel.judge)), shape=(count, len(panel.judges)))
    some = tasters(panel, systems)
    column = numbered(some, len(panel.judges))
    line, system = np.nonzero(parts[panel.place] * (column[panel.judge] >= 0)[:, None])
    values = parts[panel.place[line], system] / said.scale[line]
    at = column[panel.judge[line]] * systems + system
    met, at = np.unique(at, return_inverse=True)
    tastes = sparse.csr_array((values, (line, at)), shape=(count, len(met)))
    return replace(
        said,
        kernels={
            **said.kernels,
            PAIR: SameCode(said.blocks, panel.place),
            JUDGE_QUERY: SameCode(said.blocks, panel.judge),
        },
        shared={**said.shared, SEVERITY: person, TASTE: tastes},
        repeats=Repeats(panel.place, panel.judge, JUDGE_QUERY),
    )


def added_variance(model: PanelModel, panel: Panel, name: str) -> Array:
    """(n,) variance that one person's judgment adds to the gain of each pair.

        v_d = share (severity^2 + taste^2 sum_k M_dk^2) + s_d^2 (query^2 + noise^2),   share = v / (v + n severity^2)

    with n the number of their earlier judgments, which show how severe they are. Information from their earlier
    judgments of the same query is left out, so that v_d is too large rather than too small.

    name  name of the person, who may be new
    """
    of = {key: model.deviations[key] ** 2 for key in (SEVERITY, TASTE, JUDGE_QUERY, REST)}
    code = panel.judges.index(name) if name in panel.judges else -1
    times = float(model.noise_of_each(len(panel.judges))[code]) if code >= 0 else 1.0
    scale = np.asarray(model.layout.scale) ** 2
    own = scale * (of[JUDGE_QUERY] + of[REST] * times**2)
    typical = float(own.mean()) + float(scale.mean()) * model.deviations[PAIR] ** 2
    share = typical / (typical + of[SEVERITY] * (int(panel.counts[code]) if code >= 0 else 0))
    return np.asarray(share * (of[SEVERITY] + of[TASTE] * model.tastes_met) + own)


# Noise of each judge relative to the common noise.
#
# noise_a = noise exp(t_a),   t_a ~ N(0, VARIES^2)
#
# A careless person's judgments count less; nobody's are dropped. With P the inverse of the covariance of the
# judgments y,
# projected off their mean, and v_j the noise variance of judgment j, the logarithm of the likelihood of t_a has
#
# slope        sum over the judgments j of a  v_j ((P y)_j^2 - P_jj)
# information  2 sum over the judgments j of a  (v_j P_jj)^2
#
# where the information is the expected one, without the information that judgments give about each other's noise.


VARIES = 0.35  # standard deviation of the logarithm of noise over people
ROUNDS = 12  # largest number of steps
NEAR = 0.02  # smallest relevant change of a logarithm; smaller ones change no result
FARTHEST = 1.0  # largest move of a logarithm in one step


@dataclass(frozen=True, slots=True, eq=False)
class JudgeNoise:
    """Noise of p people.

    times   (p,) noise of each, relative to the common noise
    errors  (p,) standard errors of the logarithms of these
    """

    times: Array
    errors: Array


def judge_noise(rows: Layout, deviations: Mapping[str, float], panel: Panel, off: Array) -> JudgeNoise:
    """Noise of each person of a panel: maximum of likelihood times prior, by Fisher scoring.

    rows        layout of the judgments
    deviations  deviations of all components of that layout, by name
    off         (J,) judgments less their expectations
    """
    variances = np.array([deviations[name] ** 2 for name in rows.names])
    logarithms, prior, people = np.zeros(len(panel.judges)), VARIES**-2, len(panel.judges)
    for _ in range(ROUNDS):
        times = np.exp(logarithms)[panel.judge]
        bend = RestrictedLikelihood(replace(rows, times=times), off).at(variances)
        noise = (deviations[REST] * rows.scale * times) ** 2
        slope = np.bincount(panel.judge, noise * (bend.projected**2 - bend.own), people) - prior * logarithms
        information = 2 * np.bincount(panel.judge, (noise * bend.own) ** 2, people) + prior
        step = np.clip(slope / information, -FARTHEST, FARTHEST)
        logarithms = logarithms + step
        if np.abs(step).max(initial=0) < NEAR:
            break
    return JudgeNoise(np.exp(logarithms), 1 / np.sqrt(information))


# Judgments of a panel with their covariance under the model, for reports on people and pairs.


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Judgments of a panel, their expectations, and their covariance C.

    rows        layout of the J judgments, the trend among its effects
    deviations  deviations of all components of that layout, by name
    panel       the judges and their judgments
    off         (J,) y, judgments less the mean of each before any was made
    unit        deviation of a pair, as a share of the scale; noise is a multiple of it
    parts       (n, s) share of each pair that belongs to the results of each system
    """

    rows: Layout
    deviations: Mapping[str, float]
    panel: Panel
    off: Array
    unit: float
    parts: Array

    @cached_property
    def noise(self) -> JudgeNoise:
        """Noise of each person."""
        return judge_noise(self.rows, self.deviations, self.panel, self.off)

    @cached_property
    def inverse(self) -> BlockInverse:
        """C^-1, with each person's own noise."""
        rows = replace(self.rows, times=self.noise.times[self.panel.judge])
        return BlockCovariances.of(rows).inverse(np.array([self.deviations[name] ** 2 for name in rows.names]))

    @cached_property
    def solved(self) -> Array:
        """(J,) C^-1 y."""
        return self.inverse.solve(self.off[:, None])[:, 0]

    @property
    def person(self) -> Array:
        """(J, p) 1 where the judgment is the person's."""
        return np.eye(len(self.panel.judges))[self.panel.judge]

    @property
    def progress(self) -> Array:
        """(J, p) place of each judgment among those of the same person, from -1/2 for the first to 1/2 for the last.

        0 in other people's columns, and for a single judgment.
        """
        found = np.zeros((len(self.off), len(self.panel.judges)))
        for code in range(len(self.panel.judges)):
            own = np.flatnonzero(self.panel.judge == code)
            if len(own) > 1:
                found[own, code] = np.arange(len(own)) / (len(own) - 1) - 0.5
        return found


def most_telling(panel: Panel, most: int) -> Panel:
    """At most `most` judgments of a panel: the latest on pairs with several judges, then the first of the others.

    They are returned in the order of judging.
    """
    shared = np.bincount(panel.place)[panel.place] > 1 if len(panel.place) else np.empty(0, dtype=np.bool_)
    several: Integers = np.flatnonzero(shared)[-most:]
    rest = np.flatnonzero(~shared)[: most - len(several)]
    kept = np.sort(np.concatenate([several, rest]))
    return panel.some(kept)


# Pairs on which people differ more than the model expects: candidates for discussion or another judgment.
#
# For the judgments y of a pair, r are the residuals from their prediction by all judgments of other pairs, with
# covariance V. Severity, taste and each person's view of the query are removed as far as they are known.
# r = P_SS^-1 (P y)_S,   V = P_SS^-1,   P = C^-1,   S the judgments of the pair
#
# With L the contrasts among k of them, (L r)' (L V L')^-1 L r has the chi-squared distribution with k - 1 degrees of
# freedom if people differ as they do elsewhere; its root divided by that of k - 1 is the standardised spread.


@dataclass(frozen=True, slots=True)
class Disagreement(Value):
    """Disagreement between people on one pair.

    pair    pair of query and document
    grades  grades by name, as shares of the scale
    beyond  excess of each grade over its prediction from that person's other judgments, likewise
    spread  standardised: 1 where they differ as usual here
    chance  probability of at least this much disagreement on a pair if people differ as they do elsewhere
    """

    pair: Pair
    grades: dict[str, float]
    beyond: dict[str, float]
    spread: float
    chance: float

    def to_dict(self, highest: float = 1.0) -> dict[str, Any]:
        """Plain values; grades and `beyond` on the scale.

        highest  highest grade of the scale
        """
        on_scale = [{name: round(highest * of[name], 9) for name in of} for of in (self.grades, self.beyond)]
        said = {"grades": on_scale[0], "beyond": on_scale[1]}
        return {**self.pair._asdict(), **said, "spread": self.spread, "chance": self.chance}


def disagreements(judged: JudgedRows, pairs: tuple[Pair, ...], count: int | None = None) -> list[Disagreement]:
    """Pairs that several people judged, greatest disagreement first.

    pairs  pairs of the pool
    count  largest number returned; None for all
    """
    panel, found = judged.panel, []
    for rows, inverse in judged.inverse.within():
        places = panel.place[rows]
        for place in np.unique(places[np.bincount(places)[places] > 1]).tolist():
            some = np.flatnonzero(places == place)
            covariance = np.asarray(np.linalg.inv(inverse[np.ix_(some, some)]), np.float64)
            off = covariance @ judged.solved[rows[some]]
            names = [panel.judges[code] for code in panel.judge[rows[some]].tolist()]
            spread, chance = standardised_spread(off, covariance)
            grades = dict(zip(names, panel.gain[rows[some]].tolist(), strict=True))
            beyond = dict(zip(names, off.tolist(), strict=True))
            found.append(Disagreement(pairs[place], grades, beyond, spread, chance))
    found.sort(key=lambda one: (one.chance, -one.spread, one.pair))
    return found[:count]


def standardised_spread(off: Array, covariance: Array) -> tuple[float, float]:
    """Spread of k values relative to their covariance (k, k), and the chance of at least as much."""
    k = len(off)
    contrasts = np.linalg.svd(np.ones((1, k)))[2][1:]
    differences = contrasts @ off
    square = float(differences @ np.linalg.solve(contrasts @ covariance @ contrasts.T, differences))
    return float(np.sqrt(square / (k - 1))), float(chdtrc(k - 1, square))


# Reports on judges: each one's severity, favourites and noise, from everybody's judgments.


MOST = 3000  # most judgments used, the first ones
REACH = 1.959964  # standard errors of a 95 % interval
FEWEST_FOR_DRIFT = 10


@dataclass(frozen=True, slots=True)
class JudgeReport(Value):
    """Severity, noise, taste and worth of one person, from everybody's judgments.

    judge      name
    judgments  number of their judgments
    severity   excess of their grades over those of listeners at large, as a share of the scale, with an interval
    noise      standard deviation of the same judgment made again, as a share of the scale, with an interval
    favours    system that they most surely grade differently, beyond their severity; None with a single system
    taste      excess of its grades by them over those by listeners at large, as a share of the scale, with an interval
    drift      excess of their last judgment over their first one of the same pair, as a share of the scale, with an
               interval; None with fewer than FEWEST_FOR_DRIFT judgments
    worth      equivalent number of judgments with the common noise
    """

    judge: str
    judgments: int
    severity: tuple[float, float, float]
    noise: tuple[float, float, float]
    favours: str | None
    taste: tuple[float, float, float]
    drift: tuple[float, float, float] | None
    worth: float

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON; intervals end where differences of grades do, at -1 and 1."""
        found: dict[str, Any] = {"judge": self.judge, "kind": "person", "judgments": self.judgments}
        for name in ("severity", "noise", "taste", "drift"):
            value, low, high = within_scale(*values) if (values := getattr(self, name)) else (None, None, None)
            found |= {name: value, f"{name}_low": low, f"{name}_high": high}
            if name == "noise":
                found["favours"] = self.favours
        return found | {"worth": self.worth}


def judge_reports(judged: JudgedRows, systems: Sequence[str]) -> list[JudgeReport]:
    """Reports on the people of a panel, in the order of their first judgments.

    Severity and taste are the conditional means of their effects, noise is that of `judge_noise`, with 95 % intervals.
    Drift d is the coefficient in grades y + t d, where t is the progress of a person's judgments, by generalised least
    squares:

        d = t' C^-1 y / t' C^-1 t,   variance 1 / t' C^-1 t
    """
    panel, parts, deviations = judged.panel, judged.parts, judged.deviations
    inverse, solved, noise, person = judged.inverse, judged.solved, judged.noise, judged.person
    severity, unsure = _effects(inverse, solved, person, deviations[SEVERITY])
    progress = judged.progress
    information = np.einsum("jq,jq->q", progress, inverse.solve(progress))
    found = []
    for code, name in enumerate(panel.judges):
        theirs = parts[panel.place] * person[:, [code]]
        taste, doubt = _effects(inverse, solved, theirs, deviations[TASTE])
        most = int(np.argmax(np.abs(taste) / doubt)) if len(systems) > 1 else 0
        common, times = deviations[REST] * judged.unit, float(noise.times[code])
        off_by = float(np.exp(REACH * noise.errors[code]))
        count = int(panel.counts[code])
        drift = None
        if count >= FEWEST_FOR_DRIFT:
            drift = interval(
                float(progress[:, code] @ solved) / information[code], 1 / float(np.sqrt(information[code]))
            )
        found.append(
            JudgeReport(
                name,
                count,
                interval(severity[code], unsure[code]),
                (common * times, common * times / off_by, common * times * off_by),
                systems[most] if len(systems) > 1 else None,
                interval(taste[most], doubt[most]),
                drift,
                count / times**2,
            )
        )
    return found


def _effects(inverse: BlockInverse, solved: Array, loadings: Array, deviation: float) -> tuple[Array, Array]:
    """(q,) conditional mean and (q,) standard deviation of effects of one deviation with these loadings (J, q).

    d^2 Z' C^-1 y,   d^2 - d^4 diag(Z' C^-1 Z)
    """
    explained = np.einsum("jq,jq->q", loadings, inverse.solve(loadings))
    return deviation**2 * (loadings.T @ solved), np.sqrt(np.maximum(0, deviation**2 - deviation**4 * explained))


def within_scale(value: float, low: float, high: float) -> tuple[float, float, float]:
    """A value and its interval, as shares of the scale, with the ends cut to [-1, 1]; the value stays inside."""
    return value, min(value, max(-1.0, low)), max(value, min(1.0, high))


def interval(middle: float, deviation: float) -> tuple[float, float, float]:
    """A value with its 95 % interval."""
    reach = REACH * float(deviation)
    return float(middle), float(middle) - reach, float(middle) + reach
