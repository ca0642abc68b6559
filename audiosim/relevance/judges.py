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
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.linalg import block_diag

from audiosim.arrays import Array, Integers
from audiosim.corpus.model import Judgment
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError
from audiosim.stats.block_normal import BlockNormal
from audiosim.stats.conditioning import ConditionedBlock, condition_block
from audiosim.stats.layout import REST, Layout

PAIR, SEVERITY, TASTE, JUDGE_QUERY = "pair", "judge", "judge_system", "judge_query"
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
    """

    layout: Layout
    effects: Array
    covariance: Array
    parts: Array
    mean: Array
    deviations: Mapping[str, float]
    noise: Array | None = None
    likeliest: Mapping[str, float] = field(default_factory=dict)

    def posterior(self, panel: Panel, listeners: Listeners) -> BlockNormal:
        """Distribution of the mean of what some people would say of each pair, given what was said."""
        deviations, taste = self.deviations, self._with_taste(panel)
        noise = self._noise(panel)
        gains = self.layout.normal({**deviations, REST: deviations[PAIR]}, self.mean).with_effects(
            self.effects, self.covariance
        )
        columns, people = self._columns(panel, taste), self._people(panel, taste, listeners)
        scale, common = self.layout.scale, noise[panel.judge] ** 2
        shared = block_diag(gains.shared, columns.covariance)
        of_pairs = tuple(
            np.hstack([own, people.loadings[rows]]) for own, rows in zip(gains.loadings, gains.blocks, strict=True)
        )
        own_noise = listeners.each**2 * float((noise**2).sum()) + listeners.fresh * deviations[REST] ** 2
        together = (listeners.each**2 * len(panel.judges) + listeners.fresh) * deviations[JUDGE_QUERY] ** 2
        within = tuple(
            own + np.outer(scale[rows], scale[rows]) * (together + own_noise * np.eye(len(rows)))
            for own, rows in zip(gains.within, gains.blocks, strict=True)
        )
        prior = BlockNormal(self.mean, gains.blocks, within, of_pairs, shared)
        seen: dict[int, ConditionedBlock] = {}
        for block, rows in enumerate(gains.blocks):
            said = np.flatnonzero(np.isin(panel.place, rows))
            if not len(said):
                continue
            order = np.argsort(rows)
            at = order[np.searchsorted(rows, panel.place[said], sorter=order)]
            same_pair = at[:, None] == at
            same_judge = panel.judge[said][:, None] == panel.judge[said]
            some = scale[rows][at]
            own = gains.within[block][np.ix_(at, at)] + np.outer(some, some) * same_judge * (
                deviations[JUDGE_QUERY] ** 2 + same_pair * common[said]
            )
            own[np.diag_indices_from(own)] += columns.own[said]
            hit = at[:, None] == np.arange(len(rows))
            across = gains.within[block][at] + np.outer(some, scale[rows]) * listeners.each * (
                deviations[JUDGE_QUERY] ** 2 + hit * common[said][:, None]
            )
            loadings = np.hstack([gains.loadings[block][at], columns.loadings[said]])
            off = panel.gain[said] - self.mean[panel.place[said]]
            seen[block] = condition_block(within[block], of_pairs[block], across, own, loadings, off)
        return prior.given(seen)

    def _noise(self, panel: Panel) -> Array:
        """(p,) standard deviation of each person's noise; the common one of whoever came since it was learned."""
        known = np.empty(0) if self.noise is None else self.noise
        return self.deviations[REST] * np.append(known, np.ones(len(panel.judges) - len(known)))

    def _with_taste(self, panel: Panel) -> Integers:
        """The people whose tastes are effects of their own: as many as TASTES allow, of those who judged most."""
        most = np.argsort(-panel.counts, kind="stable")[: TASTES // max(1, self.parts.shape[1])]
        return np.sort(most)

    def _columns(self, panel: Panel, taste: Integers) -> "_Columns":
        """Loadings that judgments add to shared effects: a column a person, and one for each of their tastes."""
        systems = self.parts.shape[1]
        person = np.eye(len(panel.judges))[panel.judge]
        parts = self.parts[panel.place]
        tastes = np.hstack([np.empty((len(panel.place), 0)), *(parts * person[:, [code]] for code in taste.tolist())])
        free = ~np.isin(panel.judge, taste)
        own = self.deviations[TASTE] ** 2 * (parts**2).sum(axis=1) * free
        variances = np.repeat(
            [
                self.deviations[SEVERITY] ** 2,
                self.deviations[TASTE] ** 2,
                self.deviations[SEVERITY] ** 2,
                self.deviations[TASTE] ** 2,
            ],
            [len(panel.judges), len(taste) * systems, 1, systems],
        )
        nothing = np.zeros((len(panel.place), 1 + systems))
        return _Columns(np.hstack([person, tastes, nothing]), np.diag(variances), own)

    def _people(self, panel: Panel, taste: Integers, listeners: Listeners) -> "_Columns":
        """Loadings of each pair on the same effects, by the people that a statement is about."""
        n = len(self.parts)
        folded = len(panel.judges) - len(taste)  # whose tastes are no effects: those of their mean are
        beside = np.sqrt(listeners.fresh + listeners.each**2 * folded)
        loadings = [
            np.full((n, len(panel.judges)), listeners.each),
            np.tile(listeners.each * self.parts, (1, len(taste))),
            np.full((n, 1), np.sqrt(listeners.fresh)),
            beside * self.parts,
        ]
        return _Columns(np.hstack(loadings), np.empty((0, 0)), np.empty(0))


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


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """Loadings on the effects of people, their covariance, and (J,) what is left of them to each judgment's noise."""

    loadings: Array
    covariance: Array
    own: Array


def with_judges(layout: Layout, parts: Array, panel: Panel) -> Layout:
    """Layout of judgments, to estimate all deviations by: those of gains, and of who judged.

    layout  of the n pairs
    parts   (n, s) how much each pair is of what each system retrieved

    The noise is its `rest`; severity and taste do not grow with a pair's deviation.
    """
    said = layout.repeated(panel.place)
    person = np.eye(len(panel.judges))[panel.judge] / said.scale[:, None]
    tastes = np.hstack([parts[panel.place] * person[:, [code]] for code in range(len(panel.judges))])
    return replace(
        said,
        kernels={
            **said.kernels,
            PAIR: tuple(panel.place[rows][:, None] == panel.place[rows] for rows in said.blocks),
            JUDGE_QUERY: tuple(panel.judge[rows][:, None] == panel.judge[rows] for rows in said.blocks),
        },
        shared={**said.shared, SEVERITY: person, TASTE: tastes[:, tastes.any(axis=0)]},
    )
