"""Terminal views of the commands on full judgments."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import starmap
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from audiosim.evaluation.by_measure import ByMeasure
from audiosim.evaluation.evaluation import Evaluation, agreement_rows
from audiosim.evaluation.reliability import AssessorReliability
from audiosim.people.examples import ExampleSet
from audiosim.people.preferences import Preferences
from audiosim.people.study import StudyOutcome
from audiosim.report.rank import interval_bar
from audiosim.report.screen import Column, PlainTable, filled, interval, number, numbered, word
from audiosim.stats.distributions import DistributionFits
from audiosim.stats.split_half import SplitHalf
from audiosim.text import spelled_p

PAIRS_SHOWN = 15
ROWS_SHOWN = 20
SHARES = {"system": "Systems", "query": "Queries", "assessor": "Assessors"}
SHARES |= {"system_query": "System x query", "residual": "Residual"}
RATES = {"non_significance": "Not significant", "success": "Success", "lack_of_power": "Lack of power"}
RATES |= {"minor_conflict": "Minor conflict", "major_conflict": "Major conflict"}
ALPHAS_SHOWN = (0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5)


def evaluation_view(by: ByMeasure[Evaluation]) -> RenderableType:
    """The systems by each measure, best first, and the pairs whose order is least certain."""
    found = by.found
    return Group(*(part for measure, one in found.items() for part in _evaluation(measure, one)), *_agreement(found))


def _agreement(found: Mapping[str, Evaluation]) -> list[RenderableType]:
    """Agreement of every two measures on the ranking."""
    if len(found) < 2:
        return []
    numbers = (("Same order", "accuracy"), ("Tau", "tau"), ("Rho", "rho"), ("RMSE d", "rmse_differences"))
    table = filled(agreement_rows(found), word("Measure", "a"), word("Measure", "b"), *starmap(number, numbers))
    head = Text("Agreement of the measures on the ranking, and on the differences between systems (RMSE d):")
    return [head, table]


def _evaluation(measure: str, one: Evaluation) -> list[RenderableType]:
    rows, people = one.rows(), one.satisfied is not None
    low, high = min(row["low"] for row in rows), max(row["high"] for row in rows)
    users = [number(f"of {rows[0].get('users')} users", "users_satisfied", ".1f")]
    extra = [
        *([number("Satisfied", "satisfied", ".1%"), number("Success", "success", ".1%")] if people else []),
        *([*users, number("most of them", "most_satisfied", ".1%")] if one.of_users is not None else []),
        *([number("Mean rank", "mean_rank", ".2f")] if one.ranks is not None else []),
        *([Column("if all judged", _bounds)] if one.bounds is not None else []),
        Column("", lambda row: interval_bar(row["low"], row["mean"], row["high"], low, high), "bar"),
    ]
    first = number("", "place", ""), word("System", "system"), number(measure, "mean"), interval()
    table = filled(numbered(rows), *first, *extra)
    form = one.scores.measure.form_in_words
    count = one.scores.values.shape[1]
    means = Text(f"95 % interval: of the mean over queries like {'this one' if count == 1 else f'these {count}'}.")
    if one.bounds is not None:
        means.append(
            " If all judged: the lowest and highest score that the missing judgments of these queries could give."
        )
    return [table, means, *_pairs(one), *([Text(form)] if form else []), Text("")]


def _bounds(row: Mapping[str, Any]) -> str:
    return "not known" if math.isnan(row["least"]) else f"{row['least']:.3f} – {row['most']:.3f}"


def _pairs(one: Evaluation) -> list[RenderableType]:
    rows = one.pair_rows()
    if not rows:
        return []
    more = len(rows) > PAIRS_SHOWN
    least = f"the {PAIRS_SHOWN} least sure, --format json gives all:" if more else "the least sure first:"
    if one.ranks is not None:
        return _rank_pairs(one, rows, least)
    how = f"{one.test} test, p adjusted by Holm"
    head = Text(f"{one.significant} of {len(rows)} pairs differ at .05 ({how}); {least}")
    effect = number("Effect", "effect_size", lambda value: "no spread" if math.isinf(value) else f"{value:.2f}")
    sizes = number("Difference", "difference"), interval(form="+.3f"), effect
    return [head, _least_sure(rows, *sizes, number("p", "p", spelled_p), number("p (Holm)", "p_holm", spelled_p))]


def _least_sure(rows: Sequence[Mapping[str, Any]], *columns: Column) -> PlainTable:
    """The pairs of systems whose order is least certain."""
    shown = sorted(rows, key=lambda row: -row["p"])[:PAIRS_SHOWN]
    return filled(shown, word("Better", "a"), word("Worse", "b"), *columns)


def _rank_pairs(one: Evaluation, rows: Sequence[Mapping[str, Any]], least: str) -> list[RenderableType]:
    """Friedman's test, and Tukey's honestly significant differences of mean ranks."""
    assert one.ranks is not None, "Friedman's test has ranks"
    test = one.ranks[0]
    head = Text(
        f"Friedman's test: chi-squared {test.statistic:.2f} on {test.freedom} degrees of freedom, "
        f"p {spelled_p(test.p_value)}.\n"
        f"{one.significant} of {len(rows)} pairs differ at .05 (Tukey's HSD of mean ranks, all pairs at once); {least}"
    )
    sizes = number("Ranks apart", "difference", "+.2f"), interval(form="+.2f")
    return [head, _least_sure(rows, *sizes, number("p", "p", spelled_p))]


def fits_view(by: ByMeasure[DistributionFits]) -> RenderableType:
    """Mean distance of each fitted distribution from scores on other queries."""
    found = by.found
    first = next(iter(found.values()))
    rows = [{"measure": measure, **one.means()} for measure, one in found.items()]
    table = filled(rows, word("Measure", "measure"), *(number(name, name) for name in first.means()))
    caption = (
        f"Mean omega (Cramér-von Mises) of distributions fitted to the scores on {first.size} random queries, against "
        f"the scores on the others: {first.trials} splits for each system; the lowest fits best."
    )
    return Group(table, Text(caption))


def _split_half(found: Mapping[str, SplitHalf]) -> RenderableType:
    """Rates of success and of conflict of a test, at several significance levels."""
    parts: list[RenderableType] = []
    for measure, one in found.items():
        shown = [row for row in one.rows() if round(row["alpha"], 6) in ALPHAS_SHOWN]
        level = Column(f"{measure}, {one.test}", lambda row: f"{row['alpha']:g}", "left")
        table = filled(shown, level, *(number(head, key, ".2%") for key, head in RATES.items()))
        ends = Column(f"{measure}, p on the first half", lambda row: f"{row['above']:g} to {row['up_to']:g}", "left")
        errors = number("Comparisons", "comparisons", ","), number("RMSE of p on the second", "rmse", ".4f")
        own = filled(one.agreement_rows(), ends, *errors)
        exact = "" if one.relative_error is None else f" Relative error of the conflict rate: {one.relative_error:.3f}."
        parts += [table, Text(f"{one.comparisons:,} comparisons of two systems.{exact}"), own]
    caption = (
        "Of pairs of systems that differ significantly on half of the queries: the other half agrees "
        "(success), shows nothing (lack of power), or disagrees (conflict, major if significant). "
        "The conflict rate of an exact test equals its level (relative error 0); a stable test gives both halves "
        "nearly the same p-value."
    )
    return Group(*parts, Text(caption))


def _assessors(found: Mapping[str, Mapping[str, Any]]) -> RenderableType:
    """Variance components with several assessors per query, and the numbers of queries or assessors that suffice."""
    rows = [{"measure": measure, **row} for measure, row in found.items()]
    table = filled(
        rows, word("Measure", "measure"), *_shares(rows[0]), *_coefficients(_needed("queries"), _needed("assessors"))
    )
    row = next(iter(found.values()))
    caption = (
        f"Shares of the variance, with {row['assessors']} assessors of each of {row['queries']} queries; queries, or "
        "assessors of each, that alone bring a coefficient to .95. E rho² is of the ranking, Phi of the scores: how "
        "stable they are, 0 to 1. System x query: some systems suit some queries better. Residual: everything else."
    )
    left = len(row["left_out"])
    notes = [Text(f"{left} queries without two assessors who judged all of them are left out.")] if left else []
    return Group(table, Text(caption), *notes)


def _shares(row: Mapping[str, Any]) -> list[Column]:
    """Columns of the shares of the variance."""
    return [number(head, key, ".1%") for key, head in SHARES.items() if key in row]


def _coefficients(*beside: Callable[[str], Column]) -> list[Column]:
    """Columns of both coefficients, each with others beside it."""
    both = ("E rho²", "generalizability"), ("Phi", "dependability")
    return [column for head, name in both for column in (number(head, name, ".4f"), *(one(name) for one in beside))]


def _needed(of: str, head: str = "") -> Callable[[str], Column]:
    """The column of so many queries or assessors as would suffice for a coefficient."""

    def shown(name: str) -> Column:
        return Column(head or of, lambda row: _count(row[f"{of}_for_{name}"]))

    return shown


def _within(name: str) -> Column:
    return interval(f"{name}_low", f"{name}_high")


def _count(value: int | None) -> str:
    return "never" if value is None else str(value)


def _growth(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> RenderableType:
    """The coefficients after each completed query, and the number of queries that would suffice."""
    parts: list[RenderableType] = []
    for measure, rows in found.items():
        step = max(1, len(rows) // ROWS_SHOWN)
        first = Column(measure, lambda row: f"{row['queries']} queries", "left"), number("Judgments", "judgments", ",")
        parts.append(
            filled([*rows[:-1:step], *rows[-1:]], *first, *_coefficients(_within, _needed("queries", "for .95")))
        )
    caption = (
        "After each further query that was judged in full, in order of the judgments. E rho² is of the ranking, Phi of "
        "the scores: how stable they are over queries, 0 to 1; for .95: queries that suffice."
    )
    return Group(*parts, Text(caption))


def reliability_view(by: ByMeasure[Any]) -> RenderableType:
    """A study of reliability of any kind, by measure."""
    first = next(iter(by.found.values()))
    if isinstance(first, SplitHalf):
        return _split_half(by.found)
    if isinstance(first, AssessorReliability):
        return _assessors(by.to_dict())
    if first.growth:
        return _growth({measure: one.growth for measure, one in by.found.items()})
    return _components(by.to_dict())


def _components(found: Mapping[str, Mapping[str, Any]]) -> RenderableType:
    """The variance components, both coefficients and the numbers of queries that would suffice, a line per measure."""
    rows = [{"measure": measure, **row} for measure, row in found.items()]
    beside = _within, _needed("queries", "for .95")
    table = filled(rows, word("Measure", "measure"), *_shares(rows[0]), *_coefficients(*beside))
    zero = {measure: row["negative"] for measure, row in found.items() if row["negative"]}
    notes = [
        Text(f"{measure}: {', '.join(names)} came out below 0 and is set to 0.") for measure, names in zero.items()
    ]
    queries = next(iter(found.values()))["queries"]
    reliability = f"Reliability, 0 to 1, with {queries} queries: E rho² of the order of systems, Phi of their scores."
    caption = (
        "Shares of the variance: between systems, between queries, and residual, how systems and queries combine, with "
        f"chance. {reliability} for .95: queries that would make it .95."
    )
    return Group(table, Text(caption), *notes)


def satisfaction_view(by: ByMeasure[Preferences]) -> RenderableType:
    """The share of satisfied users by score, the cubic through it, and the differences that enough would notice."""
    parts: list[RenderableType] = []
    for measure, one in by.found.items():
        plain = one.to_dict()
        ends = Column(measure, lambda row: f"{row['low']:.1f} – {row['high']:.1f}", "left")
        share = Column("Satisfied", lambda row: "unknown" if row["satisfied"] is None else f"{row['satisfied']:.1%}")
        error = Column("±", lambda row: "" if row["satisfied"] is None else f"{row['satisfied_error']:.1%}")
        drawn = Column("", lambda row: Text("━" * round(40 * (row["satisfied"] or 0)), style="cyan"), "bar")
        table = filled(plain["bins"], ends, number("Lists", "lists", ""), share, error, drawn)
        parts += [table, Text(_cubic(plain)), *_noticed(plain.get("prior")), Text("")]
    return Group(*parts)


def _noticed(prior: Mapping[str, Any] | None) -> list[RenderableType]:
    if prior is None:
        return []
    users = f"{prior['agreeing_share']:.0%} of the users agree which list is better"
    if prior["smallest_difference"] is None:
        return [Text(f"No difference is so large that {users}.")]
    said = f"{users} from a difference of {prior['smallest_difference']:.3f} on"
    return [Text(f"{said}: {prior['noticed']:.1%} of {prior['observed_differences']:,} observed differences.")]


BINS_MEAN = (
    "A bin is a range of differences in score between two lists. Impossible: no two lists can differ by so much. "
    "Not found: none was drawn that does."
)


def examples_view(found: ExampleSet) -> RenderableType:
    """Contents of a study by measure and scale, and its gaps."""
    table = PlainTable(("Measure", "left"), ("Scale", "left"), "Examples", "Bins filled", "Impossible", "Not found")
    rows = found.rows()
    for criterion in dict.fromkeys((row["measure"], row["scale"]) for row in rows):
        own = [row for row in rows if (row["measure"], row["scale"]) == criterion]
        outcomes = (sum(row["outcome"] == name for row in own) for name in ("filled", "impossible", "not found"))
        table.add_row(*criterion, f"{sum(row['examples'] for row in own):,}", *map(str, outcomes))
    then = (
        f" in {found.file}: fill its column `answer`, then `audiosim satisfaction {found.file}`" if found.file else ""
    )
    return Group(table, Text(BINS_MEAN), Text(f"{len(found.examples):,} examples{then}."))


def study_view(found: StudyOutcome) -> RenderableType:
    """The people of a study, their traps, and the valid answers."""
    counts = (number(head, head.lower(), "") for head in ("Answers", "Traps", "Right"))
    counting = Column("Counts", lambda row: "yes" if row["counts"] else "no", "left")
    table = filled(found.rows(), word("Person", "worker"), *counts, counting)
    then = f" in {found.file}: now `audiosim satisfaction {found.file}`" if found.file else ""
    return Group(table, Text(f"{found!r}. {len(found.accepted):,} answers{then}."))


def _cubic(plain: Mapping[str, Any]) -> str:
    ends = f"{plain['answers']:,} answers, {plain['scale']} grades"
    if plain["cubic"] is None:
        return f"{ends}: too few scores for a cubic."
    a0, a1, a2, a3 = plain["cubic"]["coefficients"]
    return f"{ends}: P(Sat) = {a0:.4f} {a1:+.4f} x {a2:+.4f} x² {a3:+.4f} x³, R² {plain['cubic']['r2']:.4f}"
