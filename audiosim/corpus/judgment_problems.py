"""Mistakes in judgments and in queries.tsv that occur in well-formed files."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.corpus.coded_judgments import CodedJudgments, assessors_in, judged_names
from audiosim.corpus.grades import mean_grades
from audiosim.corpus.model import Judgment, Run, Scale, queries_of

MANY_LEVELS = 20
FILLED = 0.25  # share of exact zeros on a fine scale that suggests filled-in grades; MIREX 2011 has 0.08
OVER_LOW = 3  # multiple of the number of other grades in the lowest tenth of the scale that makes zeros suspicious
NOTHING_FOUND = 0.2  # share of queries without a grade above 0 that is suspicious
MOST_ZERO = 0.9
FEWEST = 20  # fewest judgments for a meaningful share
JUDGED_OF_QUERY = 3
CLEAR = 3  # standard errors of a clear difference
SHIFTED_OVER = 1.5  # ratio of results of the query's genre, with queries.tsv shifted by a line, that is suspicious


def filled_problems(judgments: Sequence[Judgment], scale: Scale) -> Iterator[str]:
    """Sentence on grades of 0 that a spreadsheet probably filled in for unjudged pairs."""
    query, grades = _mean_grades(judgments)
    zeros = int((grades == 0).sum())
    if len(grades) < FEWEST or zeros == len(grades) or not zeros:
        return
    advice = "if nobody judged these pairs, leave them empty"
    share = f"{zeros:,} of {len(grades):,} grades are 0"
    named = any(assessors_in(judgments))
    nameless = [judgment.grade for judgment in judgments if not judgment.assessor] if named else []
    low = int(((grades > 0) & (grades <= scale.maximum / 10)).sum())
    if named and len(nameless) >= FEWEST and not any(nameless):
        yield f"judgments: all {len(nameless):,} without an assessor are 0: {advice}"
    elif len(scale.levels) >= MANY_LEVELS and zeros >= max(FILLED * len(grades), OVER_LOW * low):
        yield f"judgments: {share}, and {low:,} a little above it: {advice}"
    elif zeros >= MOST_ZERO * len(grades):
        yield f"judgments: {share}: {advice}"
    else:
        yield from _empty_queries(query, grades, advice)


def _mean_grades(judgments: Sequence[Judgment]) -> tuple[Integers, Array]:
    """(p,) code of the query of each judged pair, and its mean grade."""
    if isinstance(judgments, CodedJudgments):
        return judgments.query.astype(np.int64), judgments.grades
    codes: dict[str, int] = {}
    grades = mean_grades(judgments)
    query = np.array([codes.setdefault(query, len(codes)) for query, _ in grades], dtype=np.int64)
    return query, np.array(list(grades.values()), dtype=np.float64)


def _empty_queries(query: Integers, grades: Array, advice: str) -> Iterator[str]:
    several = np.bincount(query) >= JUDGED_OF_QUERY
    empty = int((several & (np.bincount(query, grades != 0) == 0)).sum())
    if empty >= max(JUDGED_OF_QUERY, NOTHING_FOUND * several.sum()):
        yield f"judgments: {empty} of {several.sum()} queries have no grade above 0: {advice}"


def unanswered_notes(
    judgments: Sequence[Judgment], query_documents: Mapping[str, str], runs: Sequence[Run]
) -> Iterator[str]:
    """Sentences on queries that are judged or listed but not answered by any run."""
    answered = queries_of(runs).keys()
    for what, some in (("judgments", set(judged_names(judgments)[0])), ("queries.tsv", set(query_documents))):
        missing = sorted(some - answered)
        if missing and len(missing) > (len(some) // 10):
            yield f"{what}: no run answers {len(missing)} of {len(some)} queries, such as {missing[0]}"


def shifted_problems(
    query_documents: Mapping[str, str], genres: Mapping[str, str], runs: Sequence[Run], cutoff: int
) -> Iterator[str]:
    """Sentence on a queries.tsv with documents shifted by a line.

    genres  genre of each document, where known

    Results resemble their query: more of them share the query's genre than the genre of the query on the next line.
    """
    queries, documents = list(query_documents), list(query_documents.values())
    if len(queries) < FEWEST // 2:
        return
    found = {
        shift: _of_genre(dict(zip(queries, _shifted(documents, shift), strict=True)), genres, runs, cutoff)
        for shift in (0, 1, -1)
    }
    means = {shift: fmean(shares.values()) if shares else 0.0 for shift, shares in found.items()}
    best = max(means, key=lambda shift: means[shift])
    if best and means[best] > SHIFTED_OVER * means[0] and _is_clear(found[best], found[0]):
        shares = f"{means[0]:.0%} of the results are of their query's genre, {means[best]:.0%}"
        way = "down" if best > 0 else "up"
        yield f"queries.tsv: the documents look shifted by a line: {shares} with the column document moved {way} by one"


def _shifted(documents: list[str], shift: int) -> list[str]:
    return documents[-shift:] + documents[:-shift] if shift else documents


def _of_genre(
    query_documents: Mapping[str, str], genres: Mapping[str, str], runs: Sequence[Run], cutoff: int
) -> dict[str, float]:
    """Share of each query's results with the query's genre, among those where both genres are known."""
    same: dict[str, list[bool]] = {}
    for run in runs:
        for query, documents in run.rankings.items():
            if (own := genres.get(query_documents.get(query, ""))) is not None:
                known = [genres[one] == own for one in documents[:cutoff] if one in genres]
                same.setdefault(query, []).extend(known)
    return {query: fmean(found) for query, found in same.items() if found}


def _is_clear(moved: Mapping[str, float], own: Mapping[str, float]) -> bool:
    """True if the mean difference over queries exceeds chance; a query counts once, as its results are alike."""
    gained = np.array([moved[query] - own[query] for query in moved.keys() & own.keys()])
    return len(gained) > 1 and bool(gained.mean() > CLEAR * gained.std(ddof=1) / np.sqrt(len(gained)))
