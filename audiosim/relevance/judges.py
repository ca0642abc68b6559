"""People who judge: what each of them adds to a pair's gain, and what their judgments say of one who has not judged.

Judgment j by person a of pair i of query q, in gains, s_i being the pair's deviation and M_ik how much it is of what
system k retrieved:

    y_j = g_i + h_a + sum_k M_ik x_ak + s_i (w_aq + e_j)
    h_a ~ N(0, severity^2),  x_ak ~ N(0, taste^2),  w_aq ~ N(0, query^2),  e_j ~ N(0, noise^2)

What is stated is about the mean of what some people would say of each pair, see `Listeners`: of those who judged, or of
any number of people like them. Conditioning is exact, whoever it is about: judgments are unknowns beside those of the
pairs, correlated with them.
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
from audiosim.stats.block_normal import BlockNormal
from audiosim.stats.layout import REST, Layout

PAIR, SEVERITY, TASTE, JUDGE_QUERY = "pair", "judge", "judge_system", "judge_query"
OPINIONS_KEPT = 4
TASTES = 400  # effects of people on systems at most: those of the people who judged least are taken for noise


@dataclass(frozen=True, eq=False)
class Panel:
    """Judgments of a pool's pairs, each by somebody.

    judges  p names, in the order of their first judgments
    place   (J,) which pair
    judge   (J,) which of the people
    gain    (J,) grade over the highest
    """

    judges: tuple[str, ...]
    place: Integers
    judge: Integers
    gain: Array

    @classmethod
    def of(cls, pool: Pool, judgments: Iterable[Judgment]) -> "Panel":
        """The last judgment of each person of each pair of a pool, in the order of their first ones."""
        said = {(one.pair, one.assessor): one.grade for one in judgments if one.pair in pool.positions}
        judges = tuple(dict.fromkeys(name for _, name in said))
        code = {name: number for number, name in enumerate(judges)}
        rows = [(pool.positions[pair], code[name], grade) for (pair, name), grade in said.items()]
        place, judge, grade = np.array(rows, dtype=np.float64).reshape(-1, 3).T
        return cls(judges, place.astype(np.int64), judge.astype(np.int64), grade / pool.scale.maximum)

    def after(self, place: int, name: str, gain: float) -> "Panel":
        """The panel once this is what somebody says of a pair; NaN: they say nothing of it any more."""
        judges = self.judges if name in self.judges else (*self.judges, name)
        code = judges.index(name)
        known = np.flatnonzero((self.place == place) & (self.judge == code))
        if np.isnan(gain):
            place_left, judge_left = np.delete(self.place, known), np.delete(self.judge, known)
            left = Panel(judges, place_left, judge_left, np.delete(self.gain, known))
            return left if np.any(left.judge == code) else left.without(code)
        if len(known):
            said = self.gain.copy()
            said[known] = gain
            return replace(self, gain=said)
        return Panel(judges, np.append(self.place, place), np.append(self.judge, code), np.append(self.gain, gain))

    def after_all(self, said: Iterable[tuple[int, str, float]]) -> "Panel":
        """The panel after one `after` the other, in time that grows with their number and not with its square."""
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
                if not counts[name]:  # who comes back later is a new one
                    del counts[name]
        code = {name: number for number, name in enumerate(counts)}
        places = np.fromiter((place for place, _ in gains), np.int64, len(gains))
        judges = np.fromiter((code[name] for _, name in gains), np.int64, len(gains))
        return Panel(tuple(counts), places, judges, np.fromiter(gains.values(), np.float64, len(gains)))

    def first(self, count: int) -> "Panel":
        """So many of the judgments, the first ones, by the same people."""
        return Panel(self.judges, self.place[:count], self.judge[:count], self.gain[:count])

    @property
    def several(self) -> bool:
        """True if two people have judged, so that one is not the other."""
        return len(self.judges) > 1

    def is_of(self, grades: Array) -> bool:
        """True if these are the judgments that grades (n,), NaN where unjudged, come of."""
        judged = np.zeros(len(grades), dtype=np.bool_)
        judged[self.place] = True
        return bool(np.array_equal(judged, ~np.isnan(grades)))

    @cached_property
    def counts(self) -> Integers:
        """(p,) judgments of each person."""
        return np.bincount(self.judge, minlength=len(self.judges))

    def without(self, judge: int) -> "Panel":
        """The judgments of all others."""
        kept = self.judge != judge
        names = tuple(name for code, name in enumerate(self.judges) if code != judge)
        return Panel(names, self.place[kept], (self.judge - (self.judge > judge))[kept], self.gain[kept])


NO_JUDGES = Panel((), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))


@dataclass(frozen=True, slots=True)
class Listeners:
    """People whose mean a statement is about: each who judged with one weight, and others like them beside.

    each   weight of everyone who judged
    fresh  sum of the squares of the weights of those who did not
    """

    each: float
    fresh: float

    @classmethod
    def of(cls, who: "Who", judges: int) -> "Listeners":
        """The panel of those who judged; listeners at large, who are beyond counting; or so many people.

        A number counts those who judged, as far as they go; the others are people like them.
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
    """Gains and judgments of a pool jointly, but for what was judged.

    layout  of the components of gains, `rest` among them being what is true of the pair alone
    effects, covariance  (n, f) more loadings on shared effects, and (f, f) their covariance: the trend
    parts   (n, s) how much each pair is of what each system retrieved
    mean    (n,) of the gains
    deviations   standard deviations by name: those of the layout, `pair` in place of `rest`, and of SEVERITY, TASTE,
            JUDGE_QUERY and `rest`, the noise
    noise   (p,) standard deviation of the noise of the first people, over the common one, that of all others
    likeliest  the deviations before their own uncertainty made them larger
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
        """The gains before anything was said."""
        deviations = {**self.deviations, REST: self.deviations[PAIR]}
        return self.layout.normal(deviations, self.mean).with_effects(self.effects, self.covariance)

    @cached_property
    def _opinions(self) -> dict[tuple[Listeners, int, bytes], Opinions]:
        return {}

    def posterior(self, panel: Panel, listeners: Listeners) -> BlockNormal:
        """Distribution of the mean of what some people would say of each pair, given what was said."""
        some = tasters(panel, self.parts.shape[1])
        key = listeners, len(panel.judges), some.tobytes()
        found = self._opinions.get(key)
        if found is None:
            if len(self._opinions) >= OPINIONS_KEPT:
                self._opinions.clear()
            found = self._opinions[key] = self._before(len(panel.judges), some, listeners)
        return found.given(panel.place, panel.judge, panel.gain)

    def _before(self, judges: int, some: Integers, listeners: Listeners) -> Opinions:
        """Opinions before anything was said; `some` are the people whose tastes are effects of their own."""
        severity, taste = self.deviations[SEVERITY] ** 2, self.deviations[TASTE] ** 2
        systems, (n, folded) = self.parts.shape[1], (len(self.parts), judges - len(some))
        known = np.empty(0) if self.noise is None else self.noise[:judges]  # a panel may go back
        noise = (self.deviations[REST] * np.append(known, np.ones(judges - len(known)))) ** 2
        variances = np.repeat([severity, taste, severity, taste], [judges, len(some) * systems, 1, systems])
        of_pairs = [
            np.full((n, judges), listeners.each),
            np.tile(listeners.each * self.parts, (1, len(some))),
            np.full((n, 1), np.sqrt(listeners.fresh)),
            # Of people whose tastes are no effects of their own, those of their mean are.
            np.sqrt(listeners.fresh + listeners.each**2 * folded) * self.parts,
        ]
        alone = listeners.each**2 * float(noise.sum()) + listeners.fresh * self.deviations[REST] ** 2
        together = (listeners.each**2 * judges + listeners.fresh) * self.deviations[JUDGE_QUERY] ** 2
        gains, scale = self.gains, self.layout.scale
        within = tuple(
            own + np.outer(scale[rows], scale[rows]) * (together + alone * np.eye(len(rows)))
            for own, rows in zip(gains.within, gains.blocks, strict=True)
        )
        every = block_diag(gains.shared, np.diag(variances))
        prior = BlockNormal(self.mean, gains.blocks, within, gains.sparse_loadings.beside(np.hstack(of_pairs)), every)
        column = np.full(judges, -1)
        column[some] = np.arange(len(some))
        common = self.deviations[JUDGE_QUERY] ** 2
        return Opinions(gains, prior, self.parts, scale, noise, common, taste, column, listeners.each)


@dataclass(frozen=True, eq=False)
class People:
    """People who judged, what they said, and what follows from it for anybody.

    panel     their judgments
    model_of  gives the model of a panel's judgments
    """

    panel: Panel
    model_of: Callable[[Panel], PanelModel]

    @cached_property
    def model(self) -> PanelModel:
        """Model of their judgments."""
        return self.model_of(self.panel)

    @cached_property
    def _posteriors(self) -> dict[Who, BlockNormal]:
        return {}

    def posterior(self, who: Who) -> BlockNormal:
        """Distribution of the mean of what some people would say of each pair."""
        if who not in self._posteriors:
            self._posteriors[who] = self.model.posterior(self.panel, Listeners.of(who, len(self.panel.judges)))
        return self._posteriors[who]


def tasters(panel: Panel, systems: int) -> Integers:
    """The people whose tastes are effects of their own: as many as TASTES allow, of those who had judged most.

    By the last moment of learning, so that it does not change from one judgment to the next.
    """
    counts = panel.first(last_moment(len(panel.place))).counts
    return np.sort(np.argsort(-counts, kind="stable")[: TASTES // max(1, systems)])


def with_judges(layout: Layout, parts: Array, panel: Panel) -> Layout:
    """Layout of judgments, to estimate all deviations by: those of gains, and of who judged.

    layout  of the n pairs
    parts   (n, s) how much each pair is of what each system retrieved

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
