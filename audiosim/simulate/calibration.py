"""Is a ranking as right as it claims to be? Campaigns replayed on many random parts of a collection."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.collection import Collection
from audiosim.corpus.model import Run
from audiosim.errors import InputError
from audiosim.simulate.replay import Replay, right

BINS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)  # those of Urbano (2013), Tables 8.2 and 8.4


@dataclass(frozen=True, slots=True, eq=False)
class Claims:
    """What was claimed of pairs of systems in several rankings, and how right it was.

    stated  for each ranking the confidence (p,) in the order of each pair
    right   for each ranking how right each of these orders is (p,): 1, 0, or 1/2 for a tie
    judged  for each ranking how many pairs of documents were judged
    """

    stated: tuple[Array, ...]
    right: tuple[Array, ...]
    judged: tuple[int, ...]

    def bins(self) -> list[dict[str, Any]]:
        """One row per bin of confidence: its ends, the number and share of claims, mean confidence, accuracy.

        As in Urbano (2013), Tables 8.2 and 8.4; mean confidence and accuracy are None where a bin is empty.
        """
        stated, right = np.concatenate(self.stated), np.concatenate(self.right)
        place = np.clip(np.searchsorted(BINS, stated, side="right") - 1, 0, len(BINS) - 2)
        rows = []
        for code, (low, high) in enumerate(pairwise(BINS)):
            inside = place == code
            count = int(inside.sum())
            row: dict[str, Any] = {"low": low, "high": high, "claims": count, "share": count / max(1, len(stated))}
            row["stated"] = float(stated[inside].mean()) if count else None
            row["accuracy"] = float(right[inside].mean()) if count else None
            rows.append(row)
        return rows

    @property
    def calibration_error(self) -> float:
        """Expected calibration error: the mean over the bins, by their share, of |accuracy - mean confidence|.

        Naeini, Cooper & Hauskrecht (2015), AAAI, with the thesis's bins.
        """
        return float(sum(row["share"] * abs(row["accuracy"] - row["stated"]) for row in self.bins() if row["claims"]))

    @property
    def brier(self) -> float:
        """Brier score: the mean of (confidence - right)^2, right being 1 or 0; 0 is best, 1/4 that of a coin.

        Brier (1950), doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2.
        """
        return float(((np.concatenate(self.stated) - np.concatenate(self.right)) ** 2).mean())

    def to_dict(self) -> dict[str, Any]:
        """The claims as plain values, ready for JSON; errors are standard errors over the rankings."""
        stated, accuracy = ([float(values.mean()) for values in of] for of in (self.stated, self.right))
        excess = [claim - truth for claim, truth in zip(stated, accuracy, strict=True)]
        return {
            **_mean_and_error("judged", self.judged),
            **_mean_and_error("stated", stated),
            **_mean_and_error("accuracy", accuracy),
            **_mean_and_error("excess", excess),
            "calibration_error": self.calibration_error,
            "brier": self.brier,
            "bins": self.bins(),
        }


def _mean_and_error(name: str, values: Sequence[float]) -> dict[str, float | None]:
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    return {name: float(np.mean(values)), f"{name}_error": error}


@dataclass(frozen=True, slots=True, eq=False)
class Repeats:
    """Campaigns on random parts of a collection.

    queries  how many each part has
    teams    how many each part has the systems of
    first    claims before anything was judged
    last     claims when judging stopped
    """

    queries: int
    teams: int
    first: Claims
    last: Claims

    def to_dict(self) -> dict[str, Any]:
        """The repeats as plain values, ready for JSON."""
        return {
            "repeats": len(self.first.judged),
            "queries": self.queries,
            "teams": self.teams,
            "start": self.first.to_dict(),
            "end": self.last.to_dict(),
        }


def repeat(
    collection: Collection,
    campaign: Callable[[Collection], Replay],
    times: int,
    rng: np.random.Generator,
    queries: int | None = None,
    teams: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Repeats:
    """Replay a campaign on many random parts of a collection, each a subset of its queries and teams without
    replacement, and hold what it claimed against the truth of that part.

    campaign  plays on a part
    queries   in each part; half of them where None
    teams     in each part; three quarters of them where None

    Parts of one collection share queries and systems: standard errors over them speak of this collection.
    """
    every = list(dict.fromkeys(query for run in collection.runs for query in run.rankings))
    named = list(dict.fromkeys(collection.team(run.system) for run in collection.runs))
    queries = -(-len(every) // 2) if queries is None else queries
    teams = -(-3 * len(named) // 4) if teams is None else teams
    _check_parts(times, queries, len(every), teams, len(named))
    _check_pairs(collection, teams)
    claims = []
    for done in range(times):
        progress(done, times)
        drawn = rng.permutation(len(every))[:queries], rng.permutation(len(named))[:teams]
        part = part_of(collection, {every[i] for i in drawn[0]}, {named[i] for i in drawn[1]})
        claims.append(_claims(campaign(part)))
    progress(times, times)
    first, last = (Claims(*(tuple(of) for of in zip(*side, strict=True))) for side in zip(*claims, strict=True))
    return Repeats(queries, teams, first, last)


def _check_parts(times: int, queries: int, every: int, teams: int, named: int) -> None:
    if times < 1:
        raise InputError(f"the number of repeats must be at least 1, got {times}")
    if not 1 <= queries <= every:
        raise InputError(f"a part must have 1 to {every} queries, got {queries}")
    if not 1 <= teams <= named:
        raise InputError(f"a part must have 1 to {named} teams, got {teams}")


def _check_pairs(collection: Collection, teams: int) -> None:
    """Every part must have two systems to compare, even where the smallest teams are drawn."""
    sizes = sorted(Counter(collection.team(run.system) for run in collection.runs).values())
    if sum(sizes[:teams]) < 2:
        raise InputError(f"a part needs two systems to compare, and one of {teams} teams may have a single one")


def part_of(collection: Collection, queries: set[str], teams: set[str]) -> Collection:
    """The collection with only some of its queries, and the systems of some of its teams."""
    runs = tuple(
        Run(run.system, {query: documents for query, documents in run.rankings.items() if query in queries})
        for run in collection.runs
        if collection.team(run.system) in teams
    )
    judgments = tuple(judgment for judgment in collection.judgments if judgment.query in queries)
    return replace(collection, runs=runs, judgments=judgments)


def _claims(replay: Replay) -> tuple[tuple[Array, Array, int], ...]:
    """What was claimed at the start and at the end, how right it was, and how much was judged."""
    return tuple(
        (s.ranking.confidences, right(s.ranking, replay.scores), s.judged) for s in (replay.start, replay.selection)
    )
