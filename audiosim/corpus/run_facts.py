"""Facts about runs, and mistakes in them that occur in well-formed files."""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Sized
from collections.abc import Set as Names
from dataclasses import dataclass
from statistics import median_low

import numpy as np

from audiosim.corpus.coded_judgments import judged_keys
from audiosim.corpus.model import Judgment, Run
from audiosim.corpus.rankings import Results, contained, lengths_of
from audiosim.errors import InputError

LEAST_ANSWERED = 0.9  # share of the queries that a complete run answers
FEW_OTHERS = 0.1  # share of other queries below which they do not come from another year's set
SPELT_OTHERWISE = 0.1  # share of a system's documents above which a different spelling is not accidental
FEW = 3
OVERLAPPING = 0.5  # largest usual share of results that only one system has
SOUND_SUFFIXES = (".wav", ".mp3", ".ogg", ".flac", ".m4a", ".aac", ".aif", ".aiff", ".au", ".opus", ".wma")


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Facts about one run, counting documents down to the cutoff.

    queries  number of queries it answers among those that at least half of the systems answer
    others   number of other queries it answers
    depth    median number of results per query
    alone    share of its results that no other system has for the query; None for a single system
    same_as  an earlier system with identical results, or None
    judged   share of its results that are judged; None without results
    """

    system: str
    queries: int
    others: int
    depth: int
    alone: float | None
    same_as: str | None
    judged: float | None


def common_queries(runs: Sequence[Run]) -> frozenset[str]:
    """Queries that at least half of the systems answer: presumably those that every system should answer."""
    answers = Counter(query for run in runs for query in run.rankings)
    return frozenset(query for query, count in answers.items() if 2 * count >= len(runs))


def check_whole(runs: Sequence[Run], wanted: Names[str], where: str) -> None:
    """Raise an InputError if a run answers less than 90 % of the queries it should."""
    for run in runs:
        answered = len(wanted & set(run.rankings))
        others = len(run.rankings) - answered
        if answered < LEAST_ANSWERED * len(wanted):
            beside = f", and {others} that are not among them" if others else ""
            if others and len(_documents(runs) & run.rankings.keys()) > others // 2:
                beside += ", but documents: query and document look swapped"
            raise InputError(
                f"{where}: system {run.system} answers {answered} of the {len(wanted)} queries{beside}, expected 90 % "
                f"of them; --partial, or partial=true, accepts the run as it is"
            )


def run_facts(
    runs: Sequence[Run], cutoff: int, judgments: Sequence[Judgment] = (), results: Results | None = None
) -> tuple[RunFacts, ...]:
    """Facts about each run, in the order of the runs.

    results  results of the runs down to the cutoff, if available
    """
    wanted = common_queries(runs)
    results = Results.of([run.rankings for run in runs], cutoff) if results is None else results
    keys = results.keys
    shared, seen = (
        results.finders > 1,
        contained(keys, judged_keys(results, judgments), len(results.queries) * len(results.names)),
    )
    first: dict[int, list[int]] = defaultdict(list)
    found = []
    for place, run in enumerate(runs):
        own = slice(*results.starts[place : place + 2].tolist())
        key = hash(np.sort(keys[own]).tobytes())
        answered = len(wanted & set(run.rankings))
        twin = next((other for other in first[key] if _same(run, runs[other], cutoff)), None)
        first[key].append(place)
        found.append(
            RunFacts(
                run.system,
                answered,
                len(run.rankings) - answered,
                median_low(lengths_of(run.rankings).tolist() or [0]),
                float((~shared[own]).sum() / max(len(keys[own]), 1)) if len(runs) > 1 else None,
                None if twin is None else runs[twin].system,
                float(seen[own].mean()) if len(keys[own]) else None,
            )
        )
    return tuple(found)


def _documents(runs: Sequence[Run]) -> set[str]:
    return {one for run in runs for documents in run.rankings.values() for one in documents}


def _same(run: Run, other: Run, cutoff: int) -> bool:
    mine, theirs = ({query: of[:cutoff] for query, of in one.rankings.items()} for one in (run, other))
    return mine == theirs


def run_problems(facts: Sequence[RunFacts], queries: int, cutoff: int) -> Iterator[str]:
    """Likely mistakes in runs: missing parts, missing ranks, other queries, one run under two names.

    queries  number of queries that at least half of the systems answer
    """
    deepest = max((one.depth for one in facts), default=0)
    if deepest < cutoff:
        yield f"cutoff {cutoff} is deeper than the runs, which have {deepest} results a query"
    for one in facts:
        if one.queries < LEAST_ANSWERED * queries:
            yield f"system {one.system} answers {one.queries} of the {queries} queries"
        if one.others > FEW_OTHERS * queries:
            yield f"system {one.system} answers {one.others} queries that fewer than half of the systems answer"
        if one.depth < min(cutoff, deepest):
            yield f"system {one.system} has {one.depth} results a query, the cutoff is {cutoff}: missing ranks gain 0"
        if one.same_as is not None:
            yield f"systems {one.same_as} and {one.system} have the same results: one run under two names?"


def run_notes(facts: Sequence[RunFacts], queries: int) -> Iterator[str]:
    """Peculiarities of runs that may be correct."""
    usual = median_low([one.alone or 0.0 for one in facts] or [0.0])
    for one in facts:
        if LEAST_ANSWERED * queries <= one.queries < queries:
            yield f"system {one.system} answers {one.queries} of the {queries} queries"
        if 0 < one.others <= FEW_OTHERS * queries:
            yield f"system {one.system} answers {one.others} queries that fewer than half of the systems answer"
        if one.alone == 1 and usual <= OVERLAPPING:
            yield f"system {one.system} has no result in common with any other system"


def spelling_problems(runs: Sequence[Run], results: Results, described: Names[str]) -> Iterator[str]:
    """Systems that spell documents differently from others: with a suffix, in another case, in another Unicode form.

    results    results of the runs down to the cutoff
    described  identifiers in documents.tsv
    """
    codes = {run.system: results.documents_of(place) for place, run in enumerate(runs)}
    finders = np.bincount(np.concatenate([np.empty(0, dtype=np.int64), *codes.values()]), minlength=1)
    alone = {
        system: map(results.names.__getitem__, some[finders[some] == 1].tolist()) for system, some in codes.items()
    }
    unknown = {system: [document for document in some if document not in described] for system, some in alone.items()}
    suspects = [system for system, some in unknown.items() if len(some) >= _many(codes[system])]
    if not suspects:
        return
    spellings: dict[str, set[str]] = defaultdict(set)
    for document in {*map(results.names.__getitem__, np.flatnonzero(finders).tolist()), *described}:
        spellings[plain_identifier(document)].add(document)
    own = {system: {results.names[code] for code in codes[system].tolist()} for system in suspects}
    for system in suspects:
        others = {one: spellings[plain_identifier(one)] - own[system] for one in sorted(unknown[system])}
        meant = {document: min(some) for document, some in others.items() if some}
        if len(meant) >= _many(own[system]):
            one = next(iter(meant))
            counts = f"{len(meant)} of its {len(own[system])} documents"
            yield f"system {system} spells {counts} in its own way: {one} is {meant[one]} elsewhere"


def _many(documents: Sized) -> float:
    return max(FEW, SPELT_OTHERWISE * len(documents))


def plain_identifier(name: str) -> str:
    """An identifier without folder, suffix of sound files and case, in one Unicode form."""
    base = unicodedata.normalize("NFKC", name).strip().replace("\\", "/").rpartition("/")[2].casefold()
    return next((base.removesuffix(suffix) for suffix in SOUND_SUFFIXES if base.endswith(suffix)), base)


def depth_of(runs: Sequence[Run]) -> int:
    """Length of the longest ranking, at least 1."""
    return max((int(lengths_of(run.rankings).max(initial=1)) for run in runs), default=1)
