"""Evaluation with full judgments: scores, people, tests between systems, and how stable it all is."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.corpus.collection import Collection, as_collection
from audiosim.errors import InputError
from audiosim.measures.bounds import score_bounds
from audiosim.measures.judged import Scores, Unjudged, judged_runs
from audiosim.measures.measure import Measure, as_measure
from audiosim.stats.distributions import Empirical
from audiosim.stats.gtheory import crossed
from audiosim.stats.inference import (
    Comparison,
    bootstrap_test,
    permutation_test,
    sign_test,
    t_test,
    wilcoxon_test,
)
from audiosim.stats.intervals import Interval, mean_interval, prediction_interval
from audiosim.stats.multiple import benjamini_hochberg, holm
from audiosim.users.satisfaction import published_mapping, success, user_form

if TYPE_CHECKING:
    import pandas as pd

STABLE = 0.95  # the coefficient that required query sets are to reach; Urbano (2013), Tables 6.2 and 6.3
SYSTEM_TESTS: dict[str, Callable[[Array, np.random.Generator], Comparison]] = {
    "t": lambda scores, rng: t_test(scores),
    "wilcoxon": lambda scores, rng: wilcoxon_test(scores),
    "sign": lambda scores, rng: sign_test(scores),
    "bootstrap": lambda scores, rng: bootstrap_test(scores, rng),
    "permutation": lambda scores, rng: permutation_test(scores, rng),
}


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of fully judged systems, and statements about their differences.

    scores      of the s systems, best first
    intervals   (s) the mean score of each and its 95 % t-interval
    new         (s) where the score on one new query will lie, 95 %, were scores normal; rows cut it to [0, 1]
    satisfied   (s) the share of users that the system satisfies, and its 95 % t-interval over queries;
                None where no mapping from this measure and scale to people is published
    success     (s,) P(Succ): the probability that most users are satisfied on a new query; None likewise
    comparison  of all pairs of systems; None of a single system
    bounds      (s) each: what the mean would be at least and at most, were all documents judged; None: not asked for
    """

    scores: Scores
    intervals: tuple[Interval, ...]
    new: tuple[Interval, ...]
    satisfied: tuple[Interval, ...] | None
    success: Array | None
    comparison: Comparison | None
    bounds: tuple[Array, Array] | None = None

    def system_rows(self) -> list[dict[str, Any]]:
        """One row per system, best first."""
        rows = []
        for place, (system, mean, new) in enumerate(zip(self.scores.systems, self.intervals, self.new, strict=True)):
            row = {"system": system, "mean": mean.estimate, "low": mean.lower, "high": mean.upper}
            row |= {"new_low": max(0.0, new.lower), "new_high": min(1.0, new.upper)}
            if self.satisfied is not None and self.success is not None:
                people = self.satisfied[place]
                row |= {"satisfied": people.estimate, "satisfied_low": people.lower, "satisfied_high": people.upper}
                row |= {"success": float(self.success[place])}
            if self.bounds is not None:
                row |= {"least": float(self.bounds[0][place]), "most": float(self.bounds[1][place])}
            rows.append(row)
        return rows

    def pair_rows(self) -> list[dict[str, Any]]:
        """One row per pair of systems, the better one first: difference, effect size, interval, p-values."""
        found = self.comparison
        if found is None:
            return []
        names = self.scores.systems
        columns = {
            "difference": found.difference,
            "effect_size": found.standardised,
            "low": found.lower,
            "high": found.upper,
            "p": found.p_value,
            "p_holm": holm(found.p_value),
            "p_benjamini_hochberg": benjamini_hochberg(found.p_value),
        }
        values = zip(*(column.tolist() for column in columns.values()), strict=True)
        places = zip(found.first.tolist(), found.second.tolist(), strict=True)
        return [
            {"a": names[a], "b": names[b]} | dict(zip(columns, row, strict=True))
            for (a, b), row in zip(places, values, strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as plain values, ready for JSON; an infinite end or effect size is null."""
        rows = {"systems": self.system_rows(), "pairs": self.pair_rows()}
        finite = {name: [_finite(row) for row in found] for name, found in rows.items()}
        return {"queries": len(self.scores.queries), "test": self.comparison.test if self.comparison else None} | finite

    def to_frame(self) -> "pd.DataFrame":
        """The systems as a pandas table, best first, indexed by system."""
        import pandas as pd

        return pd.DataFrame(self.system_rows()).set_index("system")


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    return {key: None if isinstance(value, float) and not np.isfinite(value) else value for key, value in row.items()}


def evaluate(
    collection: str | Path | Collection,
    measure: str | Measure = "CG@5",
    *,
    unjudged: Unjudged = "error",
    test: str = "t",
    rng: np.random.Generator | None = None,
) -> Evaluation:
    """Evaluate the systems of a collection whose retrieved documents are all judged.

    collection  or its folder
    measure     such as "nDCG@5"
    unjudged    what a retrieved document without judgment does: `error`, `zero` (with bounds of what the scores would
                be, see `score_bounds`), or `skip` (those below it move up)
    test      between systems: t, wilcoxon, sign, bootstrap or permutation
    rng       for the last two; seeded with 0 where None

    At least two queries are needed.
    """
    if test not in SYSTEM_TESTS:
        raise InputError(f"test must be one of {', '.join(SYSTEM_TESTS)}, got {test!r}")
    collection, measure = as_collection(collection), as_measure(measure)
    runs = judged_runs(collection, measure.cutoff, unjudged)
    found = runs.scores(measure)
    if len(found.queries) < 2:
        raise InputError(f"an evaluation needs at least two queries, collection {collection.identifier} has one")
    order = found.order
    scores = Scores(measure, tuple(found.systems[i] for i in order), found.queries, found.values[order])
    satisfied, succeeds = _people(measure, collection.scale.name, runs.scores(user_form(measure)).values[order])
    rng = np.random.default_rng(0) if rng is None else rng
    return Evaluation(
        scores=scores,
        intervals=tuple(mean_interval(row) for row in scores.values),
        new=tuple(prediction_interval(row) for row in scores.values),
        satisfied=satisfied,
        success=succeeds,
        comparison=SYSTEM_TESTS[test](scores.values, rng) if len(order) > 1 else None,
        bounds=_bounds(collection, measure, order) if unjudged == "zero" else None,
    )


def _bounds(collection: Collection, measure: Measure, order: Integers) -> tuple[Array, Array]:
    low, high = score_bounds(collection, measure)
    return low.mean(axis=1)[order], high.mean(axis=1)[order]


def _people(measure: Measure, scale: str, values: Array) -> tuple[tuple[Interval, ...] | None, Array | None]:
    """The share of users satisfied by each system, and P(Succ), from its user-oriented scores (s, q)."""
    try:
        mapping = published_mapping(user_form(measure), scale)
    except InputError:
        return None, None
    shares = mapping.probability(values)
    distributions = [Empirical(np.sort(row)) for row in values]
    return tuple(mean_interval(row) for row in shares), np.array([success(one, mapping) for one in distributions])


def reliability_of(
    collection: Collection, measure: str | Measure = "CG@5", unjudged: Unjudged = "error"
) -> dict[str, Any]:
    """The generalizability study of a collection by one measure; see `reliability`."""
    measure = as_measure(measure)
    return reliability(judged_runs(collection, measure.cutoff, unjudged).scores(measure))


def reliability(scores: Scores) -> dict[str, Any]:
    """The generalizability study of a score matrix, as plain values.

    `system`, `query` and `residual` are shares of the variance; `generalizability` is E rho^2 and
    `dependability` Phi at the number of queries there is, each with its 95 % interval; the queries
    for each are the fewest that bring it to .95, null where the systems do not differ.
    Urbano (2013), chapter 6.
    """
    study = crossed(scores.values)
    relative, absolute = study.relative_interval(), study.absolute_interval()
    return study.shares() | {
        "generalizability": float(study.relative()),
        "generalizability_low": float(relative[0]),
        "generalizability_high": float(relative[1]),
        "dependability": float(study.absolute()),
        "dependability_low": float(absolute[0]),
        "dependability_high": float(absolute[1]),
        "queries_for_generalizability": study.queries_for_relative(STABLE),
        "queries_for_dependability": study.queries_for_absolute(STABLE),
        "queries": study.queries,
        "negative": list(study.negative),
    }
