"""Methods compared on equal parts of a collection with equal budgets: accuracy, confidence, interval coverage."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from audiosim.errors import AudiosimError, InputError
from audiosim.ranking import Selection
from audiosim.ranking.ranking import Ranking
from audiosim.simulation.calibration import jackknife_error, mean_and_error
from audiosim.simulation.trials import Part, Trial
from audiosim.stats.arrays import Array
from audiosim.tables.text import write_text
from audiosim.text import one_line
from audiosim.workers import each_in_turn
from peers.statement import LEVEL, Outcome, StatedRanking, pairs_of
from peers.task import Grader, Peer, Task, check_measure_of_peers

OWN = "audiosim"  # key of audiosim's own statements
BUDGETS = (50, 100, 200, 400)
SHARES = ("systems", "differences")
Played = Mapping[str, Sequence[Outcome]]  # outcomes on one part, by method, one for each budget


@dataclass(frozen=True, eq=False)
class Honesty:
    """Methods that ranked the systems of random parts of a collection, compared with the truth.

    collection  name of the collection
    measure     measure that ranks the systems
    budgets     rising numbers of judged pairs
    played      outcomes of each part and method at each budget; an expensive method may have fewer parts
    """

    collection: str
    measure: str
    budgets: tuple[int, ...]
    played: tuple[Played, ...]

    @property
    def methods(self) -> list[str]:
        """Names, audiosim's own first."""
        return list(dict.fromkeys(method for one in self.played for method in one))

    def rows(self) -> list[dict[str, Any]]:
        """One row for each method and budget: means over the parts and their standard errors; None where unknown.

        parts        number of parts
        right        share of the pairs of systems in their true order
        stated       mean confidence
        excess       stated less right
        systems      share of 95 % intervals of scores that contain the truth
        differences  the same for differences of two systems
        half         mean half width of the intervals of differences
        """
        return [
            {"method": method, "budget": budget}
            | _summary([one[method][place] for one in self.played if method in one])
            for method in self.methods
            for place, budget in enumerate(self.budgets)
        ]


def columns_of(rows: Sequence[Mapping[str, Any]], *names: str) -> list[Array]:
    """Columns of rows as arrays, NaN for None."""
    return [np.array([np.nan if row[name] is None else row[name] for row in rows], dtype=np.float64) for name in names]


def _summary(seen: Sequence[Outcome]) -> dict[str, Any]:
    """Outcomes of one method at one budget, over all parts, as plain values."""
    claims = [(one.stated, one.right) for one in seen]
    stated = [stated for stated, _ in claims if stated is not None]
    excess = [stated - right for stated, right in claims if stated is not None]
    values: dict[str, Any] = {"parts": len(seen)} | mean_and_error("right", [one.right for one in seen])
    values |= mean_and_error("stated", stated) | mean_and_error("excess", excess)
    for kind in SHARES:
        values |= _share(kind, [getattr(one, kind) for one in seen])
    return values | mean_and_error("half", [one.half for one in seen if one.half is not None])


def _share(kind: str, counts: Sequence[tuple[int, int]]) -> dict[str, float | None]:
    """The share of intervals that contain the truth over all parts, and its standard error by the jackknife."""
    held, of = np.array(counts, dtype=np.float64).T
    others = of.sum() - of
    error = jackknife_error((held.sum() - held) / others) if len(of) > 1 and (others > 0).all() else None
    return {kind: float(held.sum() / of.sum()) if of.any() else None, f"{kind}_error": error}


def across(collections: Sequence[Honesty]) -> list[dict[str, Any]]:
    """Rows as in `Honesty.rows`, averaged over several collections with equal weight, and `rms`.

    rms  root of the mean over the collections of the squared excess

    Standard errors are those over the parts of each collection, not over collections. A method missing from some
    collections has the mean of the others, and `collections` gives their number.
    """
    rows: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for one in collections:
        for row in one.rows():
            rows.setdefault((row["method"], row["budget"]), []).append(row)
    return [{"method": method, "budget": budget} | _mean_of(of) for (method, budget), of in rows.items()]


def _mean_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {"collections": len(rows)}
    for name in ("right", "stated", "excess", *SHARES, "half"):
        values = [row[name] for row in rows if row[name] is not None]
        errors = [row[f"{name}_error"] or 0.0 for row in rows if row[name] is not None]
        found[name] = float(np.mean(values)) if values else None
        found[f"{name}_error"] = float(np.sqrt(np.square(errors).sum()) / len(values)) if values else None
    excess = [row["excess"] for row in rows if row["excess"] is not None]
    return found | {"rms": float(np.sqrt(np.mean(np.square(excess)))) if excess else None}


def compare_methods(
    trial: Trial,
    parts: Sequence[Part],
    peers: Mapping[str, Peer],
    budgets: Sequence[int] = BUDGETS,
    seed: int = 0,
    jobs: int = 1,
    keep: Path | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Honesty:
    """Play audiosim's campaign and every peer on the same parts of a collection, at the same budgets.

    budgets  numbers of judged pairs, 0 or more, rising, each below the smallest part's pool
    seed     seed of the peers' draws; peers that draw evenly draw the same pairs
    jobs     number of processes; with more than one everything must be picklable
    keep     folder for results, created if need be; an interrupted run continues from it
    """
    if not budgets or min(budgets) < 0 or any(low >= high for low, high in pairwise(budgets)):
        raise InputError(f"budgets must rise from 0 or more, got {', '.join(map(str, budgets)) or 'none'}")
    if OWN in peers:
        raise InputError(f"a peer cannot be called {OWN}: audiosim's own results have that name")
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
    work = _Play(trial, tuple(parts), tuple(peers.items()), tuple(budgets), seed, keep)
    played = tuple(each_in_turn(work, len(parts), jobs, progress))
    return Honesty(trial.collection.name, played[0][0], tuple(budgets), tuple(outcomes for _, outcomes in played))


@dataclass(frozen=True, slots=True)
class _Play:
    """Plays every method on the part with a number."""

    trial: Trial
    parts: tuple[Part, ...]
    peers: tuple[tuple[str, Peer], ...]
    budgets: tuple[int, ...]
    seed: int
    keep: Path | None

    def __call__(self, number: int) -> tuple[str, dict[str, list[Outcome]]]:
        """Name of the measure, and the outcomes by method."""
        truth, states = self.trial.play(self.parts[number])
        start = next(states)
        check_measure_of_peers(start.measure)
        if self.budgets[-1] >= len(start.pool.pairs):
            size, most = len(start.pool.pairs), self.budgets[-1]
            raise InputError(f"part {number + 1} has {size} pairs; expected budgets below that, got {most}")
        gains = start.pool.spread(self.parts[number].of(self.trial.collection).grades()) / start.pool.scale.maximum
        kept = _Kept(self.keep, self._key(start, gains, number))
        found = kept.read(OWN)
        if found is None:
            found = _own([start], states, self.budgets, truth.scores)
            kept.write(OWN, *found)
        outcomes, order = {OWN: found[0]}, found[1]
        task = Task(start.measure, start.pool, tuple(order))
        for name, peer in self.peers:
            there = kept.read(name)
            outcomes[name] = there[0] if there else self._of(name, peer, task, gains, truth.scores, number)
            if there is None:
                kept.write(name, outcomes[name], [])
        return str(start.measure), outcomes

    def _of(self, name: str, peer: Peer, task: Task, gains: Array, truth: Array, number: int) -> list[Outcome]:
        """Outcomes of one peer, one for each budget, each from a separate run."""
        found = []
        for budget in self.budgets:
            grader = Grader(gains, budget)
            said = ask_peer(name, peer, task, grader, np.random.default_rng([self.seed, number]))
            found.append(Outcome.of(said, truth, int(grader.seen.sum())))
        return found

    def _key(self, start: Selection, gains: Array, number: int) -> str:
        """Key of a part's stored results: equal for equal pairs, grades, budgets, model, rule and seed."""
        said = [start.pool.content_hash, gains.tolist(), str(start.measure), self.budgets, self.seed, number]
        said += [start.estimator.name, start.selection_rule.name, start.distribution, start.batch]
        return f"{start.pool.collection}-{hashlib.sha256(json.dumps(said).encode()).hexdigest()[:12]}"


def ask_peer(name: str, peer: Peer, task: Task, grader: Grader, rng: np.random.Generator) -> StatedRanking:
    """StatedRanking of a peer about these systems; any failure becomes a one-line error."""
    try:
        said: object = peer(task, grader, rng)
    except AudiosimError as error:
        raise InputError(f"peer {name}: {error}") from error
    except Exception as error:  # another's code may raise anything
        raise InputError(f"peer {name} fails: {one_line(error)}") from error
    systems = len(task.pool.systems)
    if not isinstance(said, StatedRanking) or len(said.scores) != systems:
        raise InputError(f"peer {name} must return a StatedRanking of {systems} systems, got {type(said).__name__}")
    return said


def _own(seen: list[Selection], states: Any, budgets: Sequence[int], truth: Array) -> tuple[list[Outcome], list[int]]:
    """Outcomes of audiosim's campaign, and the places of its judgments, in their order."""
    outcomes = []
    for budget in budgets:
        while seen[-1].judged < budget:
            seen.append(next(states))
            del seen[:-1]
        outcomes.append(Outcome.of(statement_of(seen[-1].ranking), truth, seen[-1].judged))
    return outcomes, list(seen[-1].order)


def statement_of(ranking: Ranking) -> StatedRanking:
    """Statement of audiosim, with the pairs of systems in the order of a StatedRanking."""
    first, second = pairs_of(len(ranking.systems))
    place = np.empty((len(ranking.systems),) * 2, dtype=np.int64)
    better, worse = ranking.scores.pairs
    place[better, worse] = place[worse, better] = np.arange(len(better))
    of, reach, mean = place[first, second], ranking.scores.quantile(LEVEL), ranking.scores.mean
    half, between = (reach * np.sqrt(variance) for variance in (ranking.scores.variance, ranking.scores.differences[1]))
    return StatedRanking(
        mean, half, mean[first] - mean[second], between[of], np.clip(ranking.scores.confidences[of], 0.5, 1)
    )


@dataclass(frozen=True, slots=True)
class _Kept:
    """Outcomes of a part in files of a folder, one per method; without a folder nothing is stored."""

    folder: Path | None
    key: str

    def read(self, method: str) -> tuple[list[Outcome], list[int]] | None:
        """Outcomes of a method, with the order of its judgments if it has one; None if not played yet."""
        if self.folder is None or not (path := self._path(method)).exists():
            return None
        try:
            said = json.loads(path.read_text(encoding="utf-8"))
            return [Outcome.from_dict(one) for one in said["outcomes"]], said["order"]
        except (ValueError, KeyError, TypeError):
            raise InputError(f"{path}: expected the outcomes of {method}; remove it to repeat the run") from None

    def write(self, method: str, outcomes: Sequence[Outcome], order: Sequence[int]) -> None:
        """Store outcomes, all or nothing."""
        if self.folder is not None:
            said = {"outcomes": [one.to_dict() for one in outcomes], "order": [int(place) for place in order]}
            write_text(self._path(method), [json.dumps(said)])

    def _path(self, method: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{self.key}-{method}.json"
