"""Reports on judging machines: leniency, favourites, agreement with people, and worth in judgments.

With people's grade y and the machine's e, both standardised, and R the teams that retrieved each pair,

    e = a + b y + sum over teams t of R_it f_t + u_q + noise,   f ~ N(0, d^2),   ln d ~ N(favour)

f_t, the machine's addition to all results of a team, has this posterior with d integrated out on a grid. For a pair
that nobody judged, y is the grade expected of people, with its covariance. The less is known about such pairs, the less
information they carry. Even so, a favour is noticed early if it exceeds the differences between people's scores. b and
the noise are those of the judged pairs, with favours in the regression: otherwise a large favour would count as noise
and hide itself. Agreement and worth are based on the systems' scores by judgments without any machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import ndtr, ndtri

from audiosim.collection.evidence import JudgeSettings, MachineJudge
from audiosim.collection.pool import Pool
from audiosim.joint.people import interval
from audiosim.joint.posterior import Belief
from audiosim.joint.terms import usual_slopes
from audiosim.ordinal.evidence import MachineGrades, machine_grades, mean_weights
from audiosim.results.value import Value
from audiosim.stats.arrays import Array, Integers
from audiosim.stats.normal.multivariate import Moments, variance_of_differences

MOST = 1200  # most pairs used for favourites
FEWEST = 10  # fewest of these that people judged
OF_QUERY = 0.2  # share of the noise of a machine shared by pairs of a query
WIDE = 100.0  # variance prior variance of a and b
LEFT_OVER = 0.1  # bias of a favour: with noisy grades, good teams seem favoured by up to this
FREE = 1.0  # standard deviation of favours while slope and noise are estimated
ROUNDS = 3
FAVOURS = np.geomspace(0.02, 2.0, 24)
DRAWS = 400
# Numbers of further judgments that a machine is compared with.
STEPS = (1, 5, 10, 25, 50, 100, 200, 400, 800, 1600, 3200, 6400, 12800)
Bounds = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Favour:
    """Addition of a machine to all grades of a team, beyond the quality that people see.

    size  favour in standard deviations of its grades, with a 95 % interval
    sure  True if a simultaneous interval for all systems excludes 0
    """

    team: str
    size: Bounds
    sure: bool


@dataclass(frozen=True, slots=True)
class MachineReport(Value):
    """Leniency, favourites, agreement and worth of a machine, by people's judgments.

    judge      name
    judgments  pairs of the pool that it grades
    severity   excess of its grades over people's, as a share of the scale; None where its scale is another
    agreement  correlation of its mean grades of systems with people's scores
    favours    favours for all teams, the surest first
    settings   who made it, and whom it may favour
    made       team that it may favour; empty: unspecified
    worth      number of further human judgments that it replaces now
    """

    judge: str
    judgments: int
    severity: Bounds | None
    agreement: Bounds
    favours: tuple[Favour, ...]
    settings: JudgeSettings
    made: str
    worth: Bounds

    @property
    def findings(self) -> tuple[str, ...]:
        """Sentences on the teams that it certainly favours or disfavours, its maker's first."""
        said = sorted((one for one in self.favours if one.sure), key=lambda one: one.team != self.made)
        return tuple(self._sentence(one) for one in said)

    def _sentence(self, one: Favour) -> str:
        verb = "favours" if one.size[0] > 0 else "disfavours"
        known = f", of its own maker {self.settings.maker}," if not self.settings.may_favour else ", as it might,"
        whose = known if one.team == self.made else ""
        middle, low, high = (abs(value) for value in one.size)
        low, high = min(low, high), max(low, high)
        return f"{self.judge} {verb} {one.team}{whose} by {middle:.2f} ({low:.2f} to {high:.2f}) of its deviations"

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON."""
        surest = self.favours[0] if self.favours else None
        parts: dict[str, Bounds | None] = {
            "severity": self.severity,
            "noise": None,
            "taste": None if surest is None else surest.size,
            "agreement": self.agreement,
            "worth": self.worth,
        }
        found: dict[str, Any] = {"judge": self.judge, "kind": "machine", "judgments": self.judgments}
        for name, values in parts.items():
            middle, low, high = values or (None, None, None)
            found |= {name: middle, f"{name}_low": low, f"{name}_high": high}
            if name == "noise":
                found["favours"] = None if surest is None else surest.team
        teams = [
            {"team": one.team, "taste": one.size[0], "low": one.size[1], "high": one.size[2], "sure": one.sure}
            for one in self.favours
        ]
        who = {key: getattr(self.settings, key) or None for key in ("maker", "version", "prompt", "may_favour")}
        return found | who | {"teams": teams, "findings": list(self.findings)}


def machine_reports(pool: Pool, without: Belief, beside: Sequence[tuple[str, Belief]]) -> list[MachineReport]:
    """Reports on the machines of a pool that give any information.

    without  belief by people's judgments without machines
    beside   name of each machine, and the belief by these judgments and this machine alone
    """
    judges = {judge.name: judge for judge in pool.judges}
    weights = mean_weights(pool, pool.found)
    unit = float(np.sqrt(np.mean(without.prior.variance[pool.found])))
    people = without.gains.project(weights)
    scaled = Moments(people.mean / unit, people.covariance / unit**2)
    curve = _confidence_curve(pool, without, weights)
    beliefs = dict(beside)
    found = []
    for machine in machine_grades(pool):
        judge = judges[machine.name]
        made = _team_of(pool, judge.settings.may_favour or judge.settings.maker)
        sure = _confidence(beliefs[machine.name].gains.project(weights))
        found.append(
            MachineReport(
                machine.name,
                int((machine.known & pool.found).sum()),
                _severity(pool, judge, machine, without),
                _agreement(machine.scores, scaled),
                _favours(pool, machine, without),
                judge.settings,
                made,
                _worth(curve, sure, int((~without.judged & pool.found).sum())),
            )
        )
    return found


def favours_of(
    teams: Sequence[str], retrieved: Array, query: Integers, said: Array, people: Array, unsure: Array | None = None
) -> tuple[Favour, ...]:
    """Favours of a machine for teams, the surest first.

    retrieved  (J, t) 1 where a team retrieved a pair
    query      (J,) code of the pair's query
    said       (J,) grades by the machine, in its standard deviations
    people     (J,) grades by people, or the grades expected of them
    unsure     (J, J) covariance of the expected grades, 0 where a pair is judged; None: all are judged
    """
    prior, count = usual_slopes(), len(teams)
    if count < 2:
        return ()
    unsure = np.zeros((len(said), len(said))) if unsure is None else unsure
    judged = np.diagonal(unsure) == 0
    spread = float(people[judged].std()) if judged.any() else 0.0
    if judged.sum() < FEWEST or spread == 0 or said[judged].std() == 0:
        return tuple(Favour(name, interval(0.0, prior.favour[0]), False) for name in teams)
    fixed = np.column_stack([np.ones(len(said)), (people - people[judged].mean()) / spread])
    slope, noise = _slope_and_noise(fixed[judged], retrieved[judged], said[judged], prior.favour[0])
    rest = noise * ((1 - OF_QUERY) * np.eye(len(said)) + OF_QUERY * (query[:, None] == query)) + WIDE * fixed @ fixed.T
    rest += (slope / spread) ** 2 * unsure
    whole = retrieved - retrieved.mean(axis=0)
    solved = np.linalg.solve(rest, np.column_stack([whole, said]))
    gram, moments = whole.T @ solved[:, :-1], whole.T @ solved[:, -1]
    weights, middles, variances = [], [], []
    for favour in FAVOURS:
        precision = gram + np.eye(count) / favour**2
        covariance = np.linalg.inv(precision)
        # Only the part of the likelihood that depends on d, by Woodbury's identity.
        fit = moments @ covariance @ moments - np.linalg.slogdet(precision)[1] - 2 * count * np.log(favour)
        weights.append(0.5 * fit - 0.5 * (np.log(favour / prior.favour[0]) / prior.favour[1]) ** 2)
        middles.append(covariance @ moments)
        variances.append(np.diagonal(covariance))
    chance = np.exp(np.array(weights) - max(weights))
    chance /= chance.sum()
    middle = chance @ np.array(middles)
    wide = chance @ (np.array(variances) + np.array(middles) ** 2) - middle**2
    deviation = np.sqrt(np.maximum(0, wide) + LEFT_OVER**2)
    together = float(ndtri(1 - 0.025 / count))
    found = [
        Favour(name, interval(m, d), bool(abs(m) > together * d))
        for name, m, d in zip(teams, middle.tolist(), deviation.tolist(), strict=True)
    ]
    return tuple(found[k] for k in np.argsort(-np.abs(middle / deviation), kind="stable"))


def _slope_and_noise(fixed: Array, retrieved: Array, said: Array, favour: float) -> tuple[float, float]:
    """Slope of a machine's grades on people's, and variance of its noise, with teams' favours taken out.

    fixed  (J, 2) regressors of the judged pairs
    """
    columns = np.column_stack([fixed, retrieved - retrieved.mean(axis=0)])
    gram, moments = columns.T @ columns, columns.T @ said
    noise = float(said.var())
    for _ in range(ROUNDS):
        shrunk = np.diag([0.0, 0.0, *np.full(retrieved.shape[1], noise / FREE**2)])
        inverse = np.linalg.inv(gram + shrunk)
        found = inverse @ moments
        free = float(np.trace(inverse @ gram))
        noise = max(1e-3, float(((said - columns @ found) ** 2).sum()) / max(1.0, len(said) - free))
    return float(found[1]), noise


def _favours(pool: Pool, machine: MachineGrades, people: Belief) -> tuple[Favour, ...]:
    """Favours of a machine for the teams of a pool, by pairs that it grades: judged ones, then some that are not."""
    graded = machine.known & pool.found
    judged = np.flatnonzero(people.settled & graded)[:MOST]
    others = np.random.default_rng(0).permutation(np.flatnonzero(~people.settled & graded))
    places = np.sort(np.concatenate([judged, others[: max(0, MOST - len(judged))]]))
    teams = tuple(dict.fromkeys(pool.team_names))
    of_team = np.array([[name == team for name in pool.team_names] for team in teams], dtype=np.float64)
    retrieved = (of_team @ pool.retrieved[:, places].toarray() > 0).T.astype(np.float64)
    gains = people.gains
    said, unsure = machine.parts.sum(axis=1)[places], gains.among(places)
    return favours_of(teams, retrieved, pool.query[places], said, gains.mean[places], unsure)


def _severity(pool: Pool, judge: MachineJudge, machine: MachineGrades, people: Belief) -> Bounds | None:
    """Mean grade of a machine less that of people, over the pairs that it grades, as a share of the scale."""
    counted, highest = machine.known & pool.found, pool.scale.maximum
    said = pool.spread(judge.grades())[counted]
    if said.min() < 0 or not highest / 2 < said.max() <= highest:
        return None  # not on the people's scale: within it, and reaching its upper half
    share = sparse.csr_array(counted[None, :] / counted.sum())
    moments = people.gains.project(share)
    return interval(float(said.mean()) / highest - float(moments.mean[0]), float(np.sqrt(moments.variance[0])))


def _agreement(scores: Array, people: Moments) -> Bounds:
    """Correlation of scores with people's scores, over draws of the posterior."""
    draws = _drawn(people)
    centred = draws - draws.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(centred, axis=1) * np.linalg.norm(scores - scores.mean())
    found = centred @ (scores - scores.mean()) / np.maximum(1e-12, lengths)
    low, middle, high = np.quantile(found, [0.025, 0.5, 0.975]).tolist()
    return middle, low, high


def _drawn(moments: Moments) -> Array:
    """(DRAWS, s) draws."""
    rng = np.random.default_rng(0)
    return rng.multivariate_normal(moments.mean, moments.covariance, DRAWS, method="eigh")


def _confidence(scores: Moments) -> float:
    """Mean over pairs of systems of the probability that their means are in the right order."""
    first, second = np.triu_indices(len(scores.mean), 1)
    if not len(first):
        return 1.0
    spread = variance_of_differences(scores.covariance, first, second)
    return float(_sure(scores.mean[first] - scores.mean[second], spread).mean())


def _sure(differences: Array, variances: Array) -> Array:
    return np.asarray(ndtr(np.abs(differences) / np.sqrt(np.maximum(1e-15, variances))))


def _confidence_curve(pool: Pool, people: Belief, weights: sparse.csr_array) -> list[tuple[int, Array]]:
    """Numbers of further judgments of random pairs, and (DRAWS,) possible values of confidence after each.

    The effect of future judgments on a normal distribution is known: the variance of the moving means equals the lost
    variance. No machine is used.
    """
    left = np.flatnonzero(~people.judged & pool.found)
    order = np.random.default_rng(0).permutation(left)
    before = people.gains.project(weights)
    first, second = np.triu_indices(len(before.mean), 1)
    curve = [(0, np.full(DRAWS, _confidence(before)))]
    for count in [step for step in STEPS if step < len(order)] + [len(order)]:
        chosen = order[:count]
        after = people.gains.condition_all(chosen, people.gains.mean[chosen]).project(weights) if count else before
        moved = _drawn(Moments(before.mean, before.covariance - after.covariance))
        spread = variance_of_differences(after.covariance, first, second)
        curve.append((count, _sure(moved[:, first] - moved[:, second], spread).mean(axis=1)))
    return curve


def _worth(curve: list[tuple[int, Array]], sure: float, left: int) -> Bounds:
    """Further judgments that give the same confidence without a machine: mean and ends of a 95 % interval."""
    if not left:
        return 0.0, 0.0, 0.0
    counts = np.array([count for count, _ in curve], dtype=np.float64)
    found = [[confidence.mean(), *np.quantile(confidence, [0.975, 0.025])] for _, confidence in curve]
    ends = [float(np.interp(sure, np.maximum.accumulate(line), counts)) for line in np.array(found).T]
    return ends[0], ends[1], ends[2]


def _team_of(pool: Pool, maker: str) -> str:
    """Team of a maker, which is a system or a team; empty if it is neither."""
    if maker in pool.systems:
        return pool.team_names[pool.systems.index(maker)]
    return maker if maker in pool.team_names else ""
