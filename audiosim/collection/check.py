"""Mistakes in judgments and in queries.tsv that occur in well-formed files."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from statistics import fmean

import numpy as np

from audiosim.collection.collection import Collection
from audiosim.collection.facts import RunFacts, by_form, run_facts, run_notes, run_problems, spelling_problems
from audiosim.collection.kinds import PROMPT, is_nameless
from audiosim.collection.values import (
    Document,
    Judgment,
    Results,
    Run,
    Scale,
    assessors_in,
    common_queries,
    deepest,
    graded_pairs,
    judged_names,
    queries_of,
)
from audiosim.errors import InputError
from audiosim.stats.arrays import Booleans
from audiosim.tables.table import number_of
from audiosim.text import NOTES, counted

# The completely judged part of a collection: systems and queries with rankings judged down to a cutoff.


def complete_part(collection: Collection, cutoff: int) -> Collection:
    """Part of a collection in which every retrieved document down to a cutoff is judged.

    The logger `audiosim.notes` gets a sentence on how many systems and queries remain.

    Leaves out, one at a time, the system or query with the largest share of incompletely judged rankings, until none is
    incomplete. If shares are equal, a query goes before a system, and the later of two queries or systems goes first.
    A system that retrieves nothing for a query is complete there.
    """
    queries = list(queries_of(collection.runs))
    holes = _holes(collection, queries, cutoff)
    systems, kept = _without_holes(holes)
    if not systems.any() or not kept.any():
        raise InputError(f"{collection.identifier}: no system is judged down to rank {cutoff} for any query")
    wanted = {query for query, keep in zip(queries, kept, strict=True) if keep}
    runs = tuple(
        Run(run.system, {query: documents for query, documents in run.rankings.items() if query in wanted})
        for run, keep in zip(collection.runs, systems, strict=True)
        if keep
    )
    judgments = tuple(judgment for judgment in collection.judgments if judgment.query in wanted)
    counts = f"{systems.sum()} of {len(systems)} systems and {kept.sum()} of {len(kept)} queries"
    left_out = [run.system for run, keep in zip(collection.runs, systems, strict=True) if not keep]
    without = f"; without {', '.join(left_out)}" if left_out else ""
    NOTES.info("%s", f"complete down to rank {cutoff}: {counts}{without}")
    return replace(collection.judged_by(judgments), runs=runs)


def deep_in_words(collection: Collection, cutoff: int) -> str:
    """A sentence on a cutoff that is deeper than every run; empty if it is not, or is the collection's own."""
    longest = deepest(collection.runs)
    if cutoff == collection.cutoff or cutoff <= longest:
        return ""
    return f"the measure's cutoff {cutoff} is deeper than the runs, which have {longest} results a query"


def _holes(collection: Collection, queries: list[str], cutoff: int) -> Booleans:
    """(systems, queries) True where a document down to the cutoff is unjudged."""
    judged = {judgment.pair for judgment in collection.judgments}
    return np.array(
        [
            [any((query, one) not in judged for one in run.rankings.get(query, ())[:cutoff]) for query in queries]
            for run in collection.runs
        ],
        dtype=bool,
    ).reshape(len(collection.runs), len(queries))


def _without_holes(holes: Booleans) -> tuple[Booleans, Booleans]:
    """Rows and columns that remain after removing those with most unjudged documents, one at a time."""
    rows, columns = np.ones(holes.shape[0], dtype=bool), np.ones(holes.shape[1], dtype=bool)
    while np.any(left := holes & rows[:, None] & columns):
        by_row = left.sum(axis=1) / columns.sum()
        by_column = left.sum(axis=0) / rows.sum()
        if by_column.max() >= by_row.max():
            columns[np.flatnonzero(by_column == by_column.max())[-1]] = False
        else:
            rows[np.flatnonzero(by_row == by_row.max())[-1]] = False
    return rows, columns


MANY_LEVELS = 20
MOST_COLUMNS = 5  # columns that are named
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
    pairs = graded_pairs(judgments)
    query, grades = pairs.query.codes, pairs.grades
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
        if missing := sorted(some - answered):
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
        shift: _of_genre(dict(zip(queries, documents[-shift:] + documents[:-shift], strict=True)), genres, runs, cutoff)
        for shift in (0, 1, -1)
    }
    means = {shift: fmean(shares.values()) if shares else 0.0 for shift, shares in found.items()}
    best = max(means, key=lambda shift: means[shift])
    if best and means[best] > SHIFTED_OVER * means[0] and _is_clear(found[best], found[0]):
        shares = f"{means[0]:.0%} of the results are of their query's genre, {means[best]:.0%}"
        way = "down" if best > 0 else "up"
        yield f"queries.tsv: the documents look shifted by a line: {shares} with the column document moved {way} by one"


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


# Mistakes in names that occur in well-formed files: two spellings of one name, or a wrong encoding.


SHOWN = 3
SLIP = 0.005  # share of the documents with a value: a rarer second spelling is a slip
# Columns look swapped above these numbers of genres per artist, and of genres; MIREX 2011 has 10 genres, 602 artists.
MANY_MORE, MOST_GENRES = 3, 20
MISREAD_AS = ("cp1252", "latin-1", "cp437", "mac_roman")


def respelt(kind: str, values: Iterable[str | None], slips: bool) -> Iterator[str]:
    """Values in a column of documents.tsv with several spellings.

    kind    name of the column
    values  value of each document, None where unknown
    slips   True for those that up to a SLIP of the documents spell differently, which hardly changes predictions; False
            for the others
    """
    counts = Counter(value for value in values if value is not None)
    spellings = by_form(counts, _letters).values()
    several = [sorted(alike, key=lambda value: -counts[value]) for alike in spellings if len(alike) > 1]
    most = SLIP * counts.total()
    several = [alike for alike in several if (sum(counts[value] for value in alike[1:]) <= most) == slips]
    if several:
        said = "; ".join(", ".join(f"{value} ({counts[value]})" for value in alike) for alike in several[:SHOWN])
        more = f"; and {len(several) - SHOWN} more" if len(several) > SHOWN else ""
        yield f"documents.tsv: {kind} spelt in several ways, counted as different: {said}{more}"


def _letters(value: str) -> str:
    folded = unicodedata.normalize("NFKC", value).casefold()
    return "".join(filter(str.isalnum, folded)) or folded.strip()


def swapped_problems(artists: Iterable[str | None], genres: Iterable[str | None]) -> Iterator[str]:
    """Artist and genre columns that look swapped: there are many more genres than artists."""
    counts = Counter(artist for artist in artists if artist), Counter(genre for genre in genres if genre)
    few, many = map(len, counts)
    if few and many > MANY_MORE * few and many > MOST_GENRES:
        yield f"documents.tsv: {few} artists and {many} genres: the columns look swapped"


def encoding_problems(names: Mapping[str, Iterable[str | None]]) -> Iterator[str]:
    """Names that were read in a wrong encoding before they were written to a file.

    names   by kind, such as "artists"
    """
    for kind, some in names.items():
        wrong = {name: meant for name in sorted({*filter(None, some)}) if (meant := misread(name)) is not None}
        if wrong:
            name = next(iter(wrong))
            should = f", which should be {wrong[name]}" if wrong[name] else ", which has lost letters"
            count = "one" if len(wrong) == 1 else f"{len(wrong)}"
            yield f"{count} of the {kind} in a wrong encoding, such as {name}{should}"


def misread(name: str) -> str | None:
    """The correct form of a name that is UTF-8 read in another encoding; empty if it cannot be recovered."""
    if name.isascii():
        return None
    if "\ufffd" in name:
        return ""
    for encoding in MISREAD_AS:
        try:
            meant = name.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
        if meant != name and meant.isprintable():
            return meant
    return None


# Inspection of a collection: its contents, and likely mistakes in well-formed files.


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
    results = Results.of(runs, cutoff)
    facts, queries = run_facts(runs, cutoff, collection.judgments, results), len(common_queries(runs))
    genres = [one.genre for one in collection.documents.values()]
    known = {name: one.genre for name, one in collection.documents.items() if one.genre is not None}
    artists = [collection.artist(name) for name in collection.documents]
    said = [one.artist for one in collection.documents.values()]
    names: dict[str, Iterable[str | None]] = {
        "documents": chain(collection.documents, results.documents),
        "artists": said,
        "genres": genres,
        "systems": (run.system for run in runs),
        "assessors": assessors_in(collection.judgments),
    }
    problems = (
        *run_problems(facts, queries, cutoff),
        *alike_problems(results, len(runs), cutoff),
        *(one.line for one in collection.readings if one.doubtful),
        *spelling_problems(runs, results, collection.documents.keys()),
        *filled_problems(collection.judgments, collection.scale),
        *shifted_problems(collection.query_documents, known, runs, cutoff),
        *respelt("genre", genres, slips=False),
        *respelt("artist", artists, slips=False),
        *swapped_problems(said, genres),
        *encoding_problems(names),
    )
    unanswered = unanswered_notes(collection.judgments, collection.query_documents, runs)
    named = [artist for artist in artists if artist and not is_nameless(artist)]
    slips = (*respelt("genre", genres, slips=True), *respelt("artist", named, slips=True), *nameless_notes(artists))
    return Inspection(
        facts,
        queries,
        problems,
        (*run_notes(facts, queries), *unanswered, *unused_notes([*collection.documents.values()]), *slips),
    )


def alike_problems(results: Results, systems: int, cutoff: int) -> Iterator[str]:
    """Sentence on systems, more than one, that all return the same documents down to the cutoff."""
    if systems > 1 and np.unique(results.finders).tolist() == [systems]:
        yield f"all systems return the same first {cutoff} documents: only ranks or a lower cutoff tell them apart"


def unused_notes(documents: Sequence[Document]) -> list[str]:
    """A sentence on columns of words that no model reads, if genre or artist of every document is unknown."""
    lacking = [name for name in ("genre", "artist") if all(getattr(one, name) is None for one in documents)]
    cells = ((name, cell) for one in documents for name, cell in one.more.items())
    words = dict.fromkeys(name for name, cell in cells if name != PROMPT and number_of(cell) is None)
    if not lacking or not words:
        return []
    named = f"{', '.join(islice(words, MOST_COLUMNS))}{' ...' if len(words) > MOST_COLUMNS else ''}"
    unread = f"no model reads the {'column' if len(words) == 1 else 'columns'} {named}"
    renamed = f"rename one to {' or '.join(lacking)} if it is that"
    return [f"documents: no {' and no '.join(lacking)} is known, and {unread}; {renamed}"]


def nameless_notes(artists: Iterable[str | None]) -> list[str]:
    """A sentence on words such as "Various Artists", which models take for one artist."""
    found = Counter(artist for artist in artists if artist and is_nameless(artist))
    if not found:
        return []
    written = ", ".join(f'"{name}"' for name in sorted(found))
    return [
        f"artist: {counted(found.total(), 'document', 'has')} {written}, which models take for one "
        f"artist; write not_artists = [{written}] to collection.toml for unknown ones"
    ]
