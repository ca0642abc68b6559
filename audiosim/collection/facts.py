"""Comparison of a collection's files with its runs: the number of a file's names that occur in the runs.

A file without any common name is a mistake, such as identifiers in another case; it is always reported.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from collections.abc import Collection as Names
from collections.abc import Set as RunNames
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low
from typing import NamedTuple

import numpy as np

from audiosim.collection.evidence import Evidence, Key, MachineJudge, spelled
from audiosim.collection.kinds import Asked
from audiosim.collection.layouts import FolderFiles
from audiosim.collection.mirex import file_identifier
from audiosim.collection.settings import Settings
from audiosim.collection.task import AssessorTask
from audiosim.collection.values import (
    Document,
    Judgment,
    JudgmentSequence,
    Pair,
    PairedComparison,
    Results,
    Retrieved,
    Run,
    Scale,
    coded,
    common_queries,
    documents_in,
    grouped,
    judged_keys,
    judged_names,
    retrieved_by,
)
from audiosim.errors import InputError
from audiosim.text import counted, did_you_mean, nearest_name

DEEPEST_GUESS = 10
NO_SCALE = "scale not given, no judgments: taken as fine, 0 to 100"


class Reading(NamedTuple):
    """A line on a file's contents and their overlap with the runs.

    said      the line, without what to type
    doubtful  True if a name looks misspelt
    unread    True if the file was not read
    advice    what to type for a file to be read; empty if it is
    """

    said: str
    doubtful: bool = False
    unread: bool = False
    advice: str = ""

    @property
    def line(self) -> str:
        """The line with the advice."""
        return f"{self.said}; {self.advice}" if self.advice else self.said


def check_judgments(runs: Sequence[Run], judgments: Sequence[Judgment], source: object, known: Names[str] = ()) -> None:
    """Raise an error if no judgment is about a pair that a system retrieved.

    source  file of the judgments, or anything else for judgments in memory
    known   documents that exist, even if no system retrieved them
    """
    path = Path(source if isinstance(source, str | Path) else "judgments")
    if not len((there := Retrieved.of(runs)).keys):
        raise InputError("the runs are empty, expected the results of at least one system")
    _judged_there(path, there, judgments, known)


class Tables(NamedTuple):
    """The tables of a collection, read and checked one by one.

    judged  scale of the judgments, and these
    asked   documents and texts of queries
    """

    runs: tuple[Run, ...]
    judged: tuple[Scale, JudgmentSequence]
    documents: Mapping[str, Document] = {}
    asked: Asked = Asked()
    teams: Mapping[str, str] = {}
    comparisons: tuple[PairedComparison, ...] = ()
    judges: tuple[MachineJudge, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    task: AssessorTask | None = None


def check_tables(files: FolderFiles, tables: Tables, there: Retrieved, wanted: RunNames[str]) -> tuple[Reading, ...]:
    """A line on each file except the settings; an error if a file has nothing in common with the runs.

    there   the pairs in the runs
    wanted  queries that every run should answer
    """
    runs, asked, where = tables.runs, tables.asked, str(files.runs[0].parent if len(files.runs) > 1 else files.runs[0])
    check_whole(runs, where, wanted)
    counts = (len(runs), "system"), (len(there.queries), "query"), (len(there.documents), "document")
    several = f": {len(files.runs)} files" if len(files.runs) > 1 else ""
    lines = [Reading(f"{where}{several}: {', '.join(counted(*one) for one in counts)} retrieved")]
    of, described = files.tables, {*tables.documents, *asked.documents, *asked.texts}
    if "documents" in of and tables.documents:
        # Describing only the documents of queries is enough.
        own = {asked.documents.get(query, query) for query in there.queries}
        met = len(there.documents & tables.documents.keys())
        line = f"{of['documents']}: {met:,} of {counted(len(there.documents), 'retrieved document', 'has')} a line"
        lines.append(_checked(line, met or len(own & tables.documents.keys()), there.documents, tables.documents))
    if "queries" in of and any(asked):
        lines.append(_listed(of["queries"], "query", there.queries, {**asked.texts, **asked.documents}))
    if "systems" in of and tables.teams:
        lines.append(_listed(of["systems"], "system", [run.system for run in runs], tables.teams))
    if "judgments" in of:
        lines.append(_judged_there(of["judgments"], there, tables.judged[1], described))
    if "comparisons" in of and tables.comparisons:
        lines.append(_compared_there(of["comparisons"], there, tables, described))
    return (*lines, *_evidence_there(runs, (*tables.evidence, *tables.judges), described))


def unread_files(files: FolderFiles, settings: Settings) -> tuple[Reading, ...]:
    """A line on each spreadsheet, and each file that looks like judgments, grades of a judge and evidence aside."""
    named = (*settings.evidence.values(), *(judge.file for judge in settings.judges.values()))
    left = [path for path in files.unread if path not in {files.folder / one for one in named}]
    said, advice = "looks like judgments and is not read, as it is not called judgments", "`judgments=FILE` reads it"
    sheets = (f"{path.name} is a spreadsheet and is not read: save its table as CSV" for path in files.spreadsheets)
    found = [Reading(f"{path.name} {said}", unread=True, advice=advice) for path in left]
    return *found, *(Reading(line, unread=True) for line in sheets)


def _listed(path: Path, noun: str, wanted: Names[str], known: Mapping[str, str]) -> Reading:
    """Number of queries or systems of the runs that a table names."""
    met = len(set(wanted) & known.keys())
    line = f"{path}: {met:,} of {counted(len(wanted), noun, 'has')} a line"
    if not met and not set(wanted).isdisjoint(known.values()):
        raise InputError(f"{line}, expected some; the columns look swapped")
    return _checked(line, met, wanted, known)


def _judged_there(path: Path, there: Retrieved, judgments: Sequence[Judgment], described: Names[str]) -> Reading:
    """Number of judgments of pairs that a system retrieved."""
    met = int(np.isin(judged_keys(there, judgments), there.keys).sum())
    line = f"{path}: {met:,} of {counted(len(judgments), 'judgment', 'is')} of retrieved pairs"
    queries, documents = judged_names(judgments)
    if not met and not there.documents.isdisjoint(queries) and not documents.keys().isdisjoint(there.queries):
        raise InputError(f"{line}, expected some; query and document look swapped")
    return _of_pairs(line, met or not judgments, there, (queries, documents), described)


def _compared_there(path: Path, there: Retrieved, tables: Tables, described: Names[str]) -> Reading:
    """Number of comparisons of two retrieved documents."""
    retrieved, comparisons = retrieved_by(tables.runs), tables.comparisons
    met = sum({one.document_a, one.document_b} <= retrieved.get(one.query, set()) for one in comparisons)
    line = f"{path}: {met:,} of {counted(len(comparisons), 'comparison', 'is')} of two retrieved documents"
    documents = {document: None for one in comparisons for document in (one.document_a, one.document_b)}
    return _of_pairs(line, met, there, ({one.query: None for one in comparisons}, documents), described)


def _of_pairs(
    line: str, met: int, there: Retrieved, named: tuple[Mapping[str, None], Names[str]], described: Names[str]
) -> Reading:
    queries, documents = named
    if queries and queries.keys().isdisjoint(there.queries):
        return _checked(line, met, there.queries, queries, described)
    return _checked(line, met, there.documents, documents, described)


def _named_in(runs: Sequence[Run], documents: Names[str] = ()) -> Mapping[str, set[Key]]:
    """The pairs, documents and systems of runs, and further documents."""
    pairs: set[Key] = {Pair(query, one) for query, some in retrieved_by(runs).items() for one in some}
    return {"pair": pairs, "document": {*documents_in(runs), *documents}, "system": {run.system for run in runs}}


def _evidence_there(runs: Sequence[Run], evidence: Sequence[Evidence], described: Names[str]) -> Iterator[Reading]:
    """Number of retrieved documents, retrieved pairs or systems that each piece of evidence and each machine covers."""
    wanted = _named_in(runs) if evidence else {}
    for piece in evidence:
        own, known = wanted[piece.about], set(piece.keys)
        noun = piece.about if piece.about == "system" else f"retrieved {piece.about}"
        line = f"{piece.source}: {piece} covers {len(own & known):,} of {counted(len(own), noun)}"
        missing = sorted(map(spelled, own - known)) if known - own else []  # a million pairs take a second
        meant = _meant_in(missing, set(map(spelled, (known - own).difference(described))), str.casefold)
        yield Reading(line + meant, bool(meant))


def settled_cutoff(
    deepest: int, cutoff: int | None, scale: Scale | None, judgments: Sequence[Judgment]
) -> tuple[int, tuple[str, ...]]:
    """The cutoff, guessed where none is given, and a sentence on each of cutoff and scale that was guessed.

    deepest  length of the longest ranking
    scale    scale given; None: none was, and judgments show it where there are any
    """
    deepest = max(deepest, 1)
    depth = "the longest ranking" if deepest <= DEEPEST_GUESS else "as the longest ranking is deeper"
    guess = min(deepest, DEEPEST_GUESS)
    of_cutoff = f"cutoff of the collection not given: guessed {guess}, {depth}"
    assumed = (NO_SCALE,) if scale is None and not judgments else ()
    return cutoff or guess, (*assumed, of_cutoff) if cutoff is None else assumed


def check_met(runs: Sequence[Run], documents: Names[str], teams: Names[str], evidence: Sequence[Evidence]) -> None:
    """Raise an error if a piece of evidence or a judge covers nothing named in runs or documents.tsv.

    documents, teams  names in a collection with these runs
    """
    known = _named_in(runs, documents) if evidence else {}
    for piece in evidence:
        favoured = piece.settings.may_favour if isinstance(piece, MachineJudge) else ""
        names = {*teams, *known["system"]}
        if favoured and favoured not in names:
            expected = f"expected a team or a system in may_favour{did_you_mean(favoured, sorted(map(str, names)))}"
            raise InputError(f"{_placed(piece)}: {expected}, got {favoured!r}")
        if known[piece.about].isdisjoint(piece.keys):
            wanted = "" if not known[piece.about] else f", expected such as {spelled(min(known[piece.about]))}"
            none = f"the collection knows none of its {len(piece.keys)} {piece.about}s"
            raise InputError(f"{_placed(piece)}: {none}, such as {spelled(piece.keys[0])}{wanted}")


def _placed(piece: Evidence) -> str:
    return f"{piece}" if piece.source is None else f"{piece.source}: {piece}"


def _checked(line: str, met: int, wanted: Names[str], known: Names[str], described: Names[str] = ()) -> Reading:
    """The reading, with a suggestion for a misspelt name; an error if nothing matches.

    described  names elsewhere in the collection, which are not misspelt
    """
    missing, strange = sorted({*wanted} - {*known}), set(known).difference(wanted, described)
    meant = _meant_in(missing, strange, plain_identifier) if missing else ""
    if not met:
        meant = (
            meant
            or _meant_in(missing, strange, lambda name: file_identifier(name).casefold())
            or _meant_in(missing[:1], strange, None)
        )
        odd = next((one for one in known if one not in wanted), None)
        found = "" if odd is None else f", found such as {odd}"
        raise InputError(f"{line}, expected some{meant or f', such as {min(wanted)}{found}'}")
    return Reading(line + meant, bool(meant))


def by_form(names: Iterable[str], folded: Callable[[str], str]) -> dict[str, list[str]]:
    """The names of each form, such as that without case."""
    return grouped((folded(name), name) for name in names)


def _meant_in(missing: Sequence[str], known: set[str], folded: Callable[[str], str] | None) -> str:
    """A question that suggests a known name for the first missing one that differs in case or form only, or little."""
    if folded is None:
        pairs = ((name, nearest_name(name, known)) for name in missing)
    else:
        names, unknown = by_form(known, folded), by_form(missing, folded)
        # A form that several names have tells them apart by what it leaves out, such as folders of numbered files.
        pairs = (
            (some[0], names[form][0]) for form, some in unknown.items() if len(some) == len(names.get(form, ())) == 1
        )
    name, other = next(((name, other) for name, other in pairs if other), ("", ""))
    same = unicodedata.normalize("NFC", name) == unicodedata.normalize("NFC", other)
    return f"; did you mean {name} for {other}{', which is in another Unicode form' if same else ''}?" if other else ""


# Facts about runs, and mistakes in them that occur in well-formed files.


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


def check_whole(runs: Sequence[Run], where: str, wanted: RunNames[str]) -> None:
    """Raise an InputError if a run answers less than 90 % of the queries it should, which are the wanted ones."""
    for run in runs:
        answered = len(wanted & set(run.rankings))
        if answered < LEAST_ANSWERED * len(wanted):
            others = len(run.rankings) - answered
            beside = f", and {others} that are not among them" if others else ""
            if others and len(documents_in(runs) & run.rankings.keys()) > others // 2:
                beside += ", but documents: query and document look swapped"
            raise InputError(
                f"{where}: system {run.system} answers {answered} of the {len(wanted)} queries{beside}, expected 90 % "
                f"of them; `partial=True` accepts the run as it is"
            )


def run_facts(
    runs: Sequence[Run], cutoff: int, judgments: Sequence[Judgment] = (), results: Results | None = None
) -> tuple[RunFacts, ...]:
    """Facts about each run, in the order of the runs.

    results  results of the runs down to the cutoff, if available
    """
    wanted = common_queries(runs)
    results = Results.of(runs, cutoff) if results is None else results
    keys = results.keys
    shared = results.finders > 1
    seen = np.isin(keys, judged_keys(results, judgments))
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
                median_low(coded(run.rankings).lengths.tolist() or [0]),
                float((~shared[own]).sum() / max(len(keys[own]), 1)) if len(runs) > 1 else None,
                None if twin is None else runs[twin].system,
                float(seen[own].mean()) if len(keys[own]) else None,
            )
        )
    return tuple(found)


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


def spelling_problems(runs: Sequence[Run], results: Results, described: RunNames[str]) -> Iterator[str]:
    """Systems that spell documents differently from others: with a suffix, in another case, in another Unicode form.

    results    results of the runs down to the cutoff
    described  identifiers in documents.tsv
    """
    codes = {run.system: results.documents_of(place) for place, run in enumerate(runs)}
    finders = np.bincount(np.concatenate([np.empty(0, dtype=np.int64), *codes.values()]), minlength=1)
    alone = {system: some[finders[some] == 1].tolist() for system, some in codes.items()}
    unknown = {
        system: [name for code in some if (name := results.names[code]) not in described]
        for system, some in alone.items()
    }
    suspects = [system for system, some in unknown.items() if len(some) >= _many(codes[system])]
    if not suspects:
        return
    every = {*map(results.names.__getitem__, np.flatnonzero(finders).tolist()), *described}
    spellings = by_form(every, plain_identifier)
    own = {system: {results.names[code] for code in codes[system].tolist()} for system in suspects}
    for system in suspects:
        others = {one: {*spellings[plain_identifier(one)]} - own[system] for one in sorted(unknown[system])}
        meant = {document: min(some) for document, some in others.items() if some}
        if len(meant) >= _many(own[system]):
            one = next(iter(meant))
            counts = f"{len(meant)} of its {len(own[system])} documents"
            yield f"system {system} spells {counts} in its own way: {one} is {meant[one]} elsewhere"


def _many(documents: Sized) -> float:
    return max(FEW, SPELT_OTHERWISE * len(documents))


def plain_identifier(name: str) -> str:
    """An identifier without folder, suffix of sound files, quotes and case, in one Unicode form."""
    base = unicodedata.normalize("NFKC", name).strip(" \t\"'").replace("\\", "/").rpartition("/")[2].casefold()
    return next((base.removesuffix(suffix) for suffix in SOUND_SUFFIXES if base.endswith(suffix)), base)
