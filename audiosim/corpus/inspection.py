"""Inspection of a collection: its contents, and likely mistakes in well-formed files."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from audiosim.corpus.coded_judgments import assessors_in
from audiosim.corpus.collection import Collection
from audiosim.corpus.judgment_problems import filled_problems, shifted_problems, unanswered_notes
from audiosim.corpus.name_problems import encoding_problems, swapped_problems, value_notes, value_problems
from audiosim.corpus.rankings import Results
from audiosim.corpus.run_facts import (
    RunFacts,
    common_queries,
    run_facts,
    run_notes,
    run_problems,
    spelling_problems,
)


@dataclass(frozen=True, slots=True)
class Inspection:
    """Findings in a collection.

    runs      facts about each run
    queries   number of queries that at least half of the systems answer
    problems  one sentence per likely mistake
    notes     one sentence per peculiarity that may be correct
    """

    runs: tuple[RunFacts, ...]
    queries: int
    problems: tuple[str, ...]
    notes: tuple[str, ...]


def inspect(collection: Collection) -> Inspection:
    """Inspect a collection down to its cutoff, using only its own files."""
    runs, cutoff = collection.runs, collection.cutoff
    results = Results.of([run.rankings for run in runs], cutoff)
    facts, queries = run_facts(runs, cutoff, collection.judgments, results), len(common_queries(runs))
    genres = [one.genre for one in collection.documents.values()]
    artists = [collection.artist(name) for name in collection.documents]
    problems = (
        *run_problems(facts, queries, cutoff),
        *spelling_problems(runs, results, collection.documents.keys()),
        *filled_problems(collection.judgments, collection.scale),
        *shifted_problems(collection.query_documents, _genres(collection), runs, cutoff),
        *value_problems("genre", genres),
        *value_problems("artist", artists),
        *swapped_problems((one.artist for one in collection.documents.values()), genres),
        *encoding_problems(_names(collection, results)),
    )
    unanswered = unanswered_notes(collection.judgments, collection.query_documents, runs)
    slips = (*value_notes("genre", genres), *value_notes("artist", artists))
    return Inspection(facts, queries, problems, (*run_notes(facts, queries), *unanswered, *slips))


def _genres(collection: Collection) -> dict[str, str]:
    return {name: one.genre for name, one in collection.documents.items() if one.genre is not None}


def _names(collection: Collection, results: Results) -> dict[str, Iterable[str]]:
    """All names in a collection, by kind."""

    def documents() -> Iterator[str]:
        yield from collection.documents
        yield from results.documents

    values = collection.documents.values()
    return {
        "documents": documents(),
        "artists": (one.artist for one in values if one.artist is not None),
        "genres": (one.genre for one in values if one.genre is not None),
        "systems": (run.system for run in collection.runs),
        "assessors": assessors_in(collection.judgments),
    }
