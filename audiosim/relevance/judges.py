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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag

from audiosim.arrays import Array, Integers
from audiosim.corpus.model import Judgment
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError
from audiosim.properties import cached_property
from audiosim.relevance.moments import last_moment
from audiosim.relevance.opinions import Opinions
from audiosim.stats.normal.block_normal import BlockNormal
from audiosim.stats.normal.layout import REST, Layout

PAIR, SEVERITY, TASTE, JUDGE_QUERY = "pair", "judge", "judge_system", "judge_query"
OPINIONS_KEPT = 4
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
        said = {(one.pair, one.assessor): one.grade for one in judgments if one.pair in pool.positions}
        judges = tuple(dict.fromkeys(name for _, name in said))
        code = {name: number for number, name in enumerate(judges)}
        rows = [(pool.positions[pair], code[name], grade) for (pair, name), grade in said.items()]
        place, judge, grade = np.array(rows, dtype=np.float64).reshape(-1, 3).T
        return cls(judges, place.astype(np.int64), judge.astype(np.int64), grade / pool.scale.maximum)

    def after(self, place: int, name: str, gain: float) -> "Panel":
        """The panel after a person's new grade for a pair; NaN withdraws their grade."""
        judges = self.judges if name in self.judges else (*self.judges, name)
        code = judges.index(name)
        known = np.flatnonzero((self.place == place) & (self.judge == code))
        if np.isnan(gain):
            place_left, judge_left = np.delete(self.place, known), np.delete(self.judge, known)
            left = Panel(judges, place_left, judge_left, np.delete(self.gain, known))
            # A person without judgments leaves the panel: an empty column would still weigh in its mean.
            return left if np.any(left.judge == code) else left.without(code)
        if len(known):
            said = self.gain.copy()
            said[known] = gain
            return replace(self, gain=said)
        return Panel(judges, np.append(self.place, place), np.append(self.judge, code), np.append(self.gain, gain))

    def after_all(self, said: Iterable[tuple[int, str, float]]) -> "Panel":
        """The panel after several calls of `after`, in time linear, not quadratic, in their number."""
        gains = {
            (place, self.judges[code]): gain
            for place, code, gain in zip(self.place.tolist(), self.judge.tolist(), self.gain.tolist(), strict=True)
        }
        counts = dict(zip(self.judges, self.counts.tolist(), strict=True))
        for place, name, gain in said:
            key, known = (place, name), (place, name) in gains
            if not math.isnan(gain):
                gains[key], counts[name] = gain, counts.get(name, 0) + (not known)
            elif known:
                del gains[key]
                counts[name] -= 1
                if not counts[name]:  # a person who returns later is appended as new
                    del counts[name]
        code = {name: number for number, name in enumerate(counts)}
        places = np.fromiter((place for place, _ in gains), np.int64, len(gains))
        judges = np.fromiter((code[name] for _, name in gains), np.int64, len(gains))
        return Panel(tuple(counts), places, judges, np.fromiter(gains.values(), np.float64, len(gains)))

    def first(self, count: int) -> "Panel":
        """The first `count` judgments, with the same people."""
        return Panel(self.judges, self.place[:count], self.judge[:count], self.gain[:count])

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

    def without(self, judge: int) -> "Panel":
        """The judgments by everybody else."""
        kept = self.judge != judge
        names = tuple(name for code, name in enumerate(self.judges) if code != judge)
        return Panel(names, self.place[kept], (self.judge - (self.judge > judge))[kept], self.gain[kept])


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

    @cached_property
    def gains(self) -> BlockNormal:
        """The gains before any judgment."""
        deviations = {**self.deviations, REST: self.deviations[PAIR]}
        return self.layout.normal(deviations, self.mean).with_effects(self.effects, self.covariance)

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
            found = self._opinions[key] = self._before(len(panel.judges), some, listeners)
        return found.given(panel.place, panel.judge, panel.gain)

    def forget(self) -> None:
        """Drop cached results of earlier posteriors: with hundreds of people these take tens of megabytes."""
        self._opinions.clear()

    def noise_of_each(self, judges: int) -> Array:
        """(p,) noise of the first p people, relative to the common noise."""
        known = np.empty(0) if self.noise is None else self.noise[:judges]  # withdrawn judgments may shrink the panel
        return np.append(known, np.ones(judges - len(known)))

    def _before(self, judges: int, some: Integers, listeners: Listeners) -> Opinions:
        """Opinions before any judgment; `some` are the people with tastes as separate effects."""
        severity, taste = self.deviations[SEVERITY] ** 2, self.deviations[TASTE] ** 2
        systems, (n, folded) = self.parts.shape[1], (len(self.parts), judges - len(some))
        noise = (self.deviations[REST] * self.noise_of_each(judges)) ** 2
        # Judges have effects of their own, as judgments reveal them; all other people act together as one more person.
        variances = np.repeat([severity, taste, severity, taste], [judges, len(some) * systems, 1, systems])
        of_pairs = [
            np.full((n, judges), listeners.each),
            np.tile(listeners.each * self.parts, (1, len(some))),
            np.full((n, 1), np.sqrt(listeners.fresh)),
            # Where individual tastes are not separate effects, the taste of these people's mean still is.
            np.sqrt(listeners.fresh + listeners.each**2 * folded) * self.parts,
        ]
        alone = listeners.each**2 * float(noise.sum()) + listeners.fresh * self.deviations[REST] ** 2
        together = (listeners.each**2 * judges + listeners.fresh) * self.deviations[JUDGE_QUERY] ** 2
        gains, scale = self.gains, self.layout.scale
        within = tuple(
            _with_more(own, scale[rows], together, alone) for own, rows in zip(gains.within, gains.blocks, strict=True)
        )
        every = block_diag(gains.shared, np.diag(variances))
        prior = BlockNormal(self.mean, gains.blocks, within, gains.sparse_loadings.beside(np.hstack(of_pairs)), every)
        column = np.full(judges, -1)
        column[some] = np.arange(len(some))
        common = self.deviations[JUDGE_QUERY] ** 2
        return Opinions(gains, prior, self.parts, scale, noise, common, taste, column, listeners.each)


def _with_more(within: Array, scale: Array, together: float, alone: float) -> Array:
    """(m, m) K + s s' x (together + alone I)."""
    found = np.outer(scale, together * scale)
    found += within
    found[np.diag_indices_from(found)] += alone * scale**2
    return found


@dataclass(frozen=True, eq=False)
class People:
    """The judges, their judgments, and the resulting opinions of any people.

    panel     their judgments
    model_of  function from a panel to its model
    is_known  function of a panel: True if its model is available without learning
    """

    panel: Panel
    model_of: Callable[[Panel], PanelModel]
    is_known: Callable[[Panel], bool] = lambda _: False

    @cached_property
    def model(self) -> PanelModel:
        """Model of their judgments."""
        return self.model_of(self.panel)

    @property
    def known(self) -> bool:
        """True if the model is available; learning it can take seconds."""
        return self.is_known(self.panel)

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
    said = layout.repeated(panel.place)
    count, systems = len(panel.place), parts.shape[1]
    person = sparse.csr_array((1 / said.scale, (np.arange(count), panel.judge)), shape=(count, len(panel.judges)))
    some = tasters(panel, systems)
    column = np.full(len(panel.judges), -1)
    column[some] = np.arange(len(some))
    line, system = np.nonzero(parts[panel.place] * (column[panel.judge] >= 0)[:, None])
    values = parts[panel.place[line], system] / said.scale[line]
    at = column[panel.judge[line]] * systems + system
    met, at = np.unique(at, return_inverse=True)
    tastes = sparse.csr_array((values, (line, at)), shape=(count, len(met)))
    return replace(
        said,
        kernels={
            **said.kernels,
            PAIR: tuple(panel.place[rows][:, None] == panel.place[rows] for rows in said.blocks),
            JUDGE_QUERY: tuple(panel.judge[rows][:, None] == panel.judge[rows] for rows in said.blocks),
        },
        shared={**said.shared, SEVERITY: person, TASTE: tastes},
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
