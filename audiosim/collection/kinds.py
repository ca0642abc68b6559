"""The kinds of tables in a collection: what their columns mean, and the values that come of them.

A kind is a `Schema` and a function from a table, of whatever source, to values. Forms are recognised from the contents:

- TREC qrels: `query 0 document grade`; lists: `query document grade`. The grade -1 means unjudged and is left out; -2
  is junk, the lowest grade. A pair has one line.
- TREC runs: `query Q0 document rank score system`. The score orders, highest first; equal scores are ordered by
  document, highest first, as in trec_eval (form_res_rels.c: scores and then strcmp, both falling; double precision
  since its pull request 38). As there, the rank is not used; a repeated rank within a ranking is noted. Lists:
  `system query document`, best first. MS MARCO: `query document rank`, where ranks count from 1. MIREX: see
  `audiosim.collection.mirex`.
- Any table under a header, JSON Lines, frames, and so on, with the columns of the schema, in the words of most tools.
- JSON and dicts: grades by query and document, scores by query and document, documents by query, best first.
- XML with judgments: see `audiosim.tables.nested`.

The grade of a judgment is in `grade`, or in `fine` and `broad`, of which the scale selects one; a line with only the
other one is left out, and `grade` may not contradict the one selected. A second line on a pair by the same assessor is
a revision: all are kept, in order. The columns CARRIED and PASSED may be present too: a line with a reason in `cannot`
instead of a grade leaves the pair unjudged, and a line with `no` in `counts` is ignored. `defused` names the columns of
a line in which a leading apostrophe protects spreadsheets from the text. Groups of equal relevance, the lowest number
the most relevant, are in `group`, or under `grade` in a file called `groups` without a header. A file has groups or
grades throughout. Groups are ranks of the numbers that occur: the last one is level 1, groups before it are higher; 0
is left for documents in no group. A scale with other levels is an error. A grade may be one of Evalutron's words: NS,
SS, VS, or not, somewhat, very similar, are 0, 1, 2 of the broad scale.
"""

import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path, PurePath
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from audiosim.collection.evidence import JudgeSettings, MachineJudge
from audiosim.collection.mirex import is_numbered, is_sparse, read_matrix, read_sparse
from audiosim.collection.scales import OffScaleError, guess_scale
from audiosim.collection.task import check_aspect
from audiosim.collection.values import (
    FINE,
    CodedJudgments,
    CodedRankings,
    Document,
    Exclusions,
    Judgment,
    JudgmentSequence,
    Pair,
    PairedComparison,
    Run,
    Scale,
    coded,
    contradicting,
    contradiction,
    have_aspects,
    on_one_table,
)
from audiosim.errors import InputError, placed
from audiosim.stats.arrays import Array, Integers
from audiosim.tables.arrays import PARQUET
from audiosim.tables.memory import distinct_keys, is_frame, is_ranx
from audiosim.tables.reading import is_header, named_in, read
from audiosim.tables.schema import Schema
from audiosim.tables.table import Say, Table, Words, number_of
from audiosim.tables.text import BYTE_ORDER_MARK, UTF_16, check_regular, is_xml, read_lines
from audiosim.text import NOTES, counted, quoted

# Names of the same thing in the words of most tools. The first that a table has is read: PyTerrier's results have the
# topic in `qid` and its text in `query`, and the document in `docno` and a number in `docid`.

QUERY = ("qid", "query_id", "query-id", "q_id", "query", "topic", "seed", "user_id", "_id")
DOCUMENT = (
    *("docno", "doc_id", "document_id", "corpus-id", "corpus_id", "document", "doc", "docid", "pid"),
    *("candidate", "result", "item_id"),
)
SYSTEM = ("system", "run", "run_id", "tag", "name")
SCORE = ("score", "similarity", "prediction")
GRADE = ("grade", "relevance", "rel", "label", "rating", "score")
ASSESSOR = ("assessor", "grader", "evaluator", "user")

# Prompts: texts of queries, in the column `prompt` of documents.tsv, beside the query's sound or instead of it.
#
# A table has one line per document, so line ends, tabs and backslashes in a prompt are written `\n`, `\t` and `\\`; so
# are those in the notes of an export.


PROMPT = "prompt"
LONGEST_PROMPT = 5000
WRITTEN = {"\\": "\\\\", "\n": "\\n", "\t": "\\t"}
READ = {written: sign for sign, written in WRITTEN.items()}


def prompt_of(documents: Mapping[str, Document], document: str) -> str:
    """The prompt of a query's document; empty if it has none."""
    return text_of(documents[document].more.get(PROMPT, "")) if document in documents else ""


def text_of(cell: str) -> str:
    """A prompt or a note, from the field of a table."""
    return re.sub(r"\\[\\nt]", lambda found: READ[found[0]], cell)


def prompt_cell(text: str) -> str:
    """A prompt as written in documents.tsv; an InputError if it is empty, too long, or not text."""
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise InputError("the prompt is empty, expected text")
    if len(text) > LONGEST_PROMPT:
        raise InputError(f"the prompt has {len(text):,} characters, expected at most {LONGEST_PROMPT:,}")
    wrong = next(
        (sign for sign in text if not sign.isprintable() and ord(sign) < ord(" ") and sign not in "\n\t"), None
    )
    if wrong is not None:
        raise InputError(f"the prompt has the character {wrong!r}, which is not text")
    return cell_of(text)


def cell_of(text: str) -> str:
    """A prompt or a note as the field of a table."""
    return re.sub(r"[\\\n\t]", lambda found: WRITTEN[found[0]], text)


# Tables by identifier: documents, the document of each query, the team of each system.

DOCUMENT_COLUMNS = ("document", "artist", "genre", "path")
DOCUMENTS = Schema(
    "documents", "a header with document",
    {"document": (*DOCUMENT, "_id"), **{name: (name,) for name in DOCUMENT_COLUMNS[1:]}},
    ("document",), open=True, kept=True, keys=("document",), memory="a data frame or a dict of document -> columns",
)  # fmt: skip
QUERIES = Schema(
    "queries", "a header with query and document", {"query": QUERY, "document": DOCUMENT, PROMPT: (PROMPT, "text")},
    ("query",), (("query", PROMPT),), ("metadata",), keys=("query",), value="document",
    memory="a data frame or a dict of query -> document",
)  # fmt: skip
SYSTEMS = Schema(
    "systems", "a header with system and team", {"system": SYSTEM[:1], "team": ("team",)}, ("system", "team"),
    keys=("system",), value="team", memory="a data frame or a dict of system -> team",
)  # fmt: skip


def read_documents(source: Any) -> dict[str, Document]:
    """The documents of a table: `document`, any of `artist`, `genre`, `path`, and more; empty means unknown."""
    if isinstance(source, Mapping) and any(isinstance(one, Document) for one in source.values()):
        source = list(source.values())
    if isinstance(source, list | tuple) and source and all(isinstance(one, Document) for one in source):
        return read_documents([columns_of(one) for one in source])
    table, found = read(source, DOCUMENTS), dict[str, Document]()
    for (name,), columns in zip(table.distinct("document"), table.rows(), strict=True):
        known = {column: cell for column, cell in columns.items() if cell and column != "document"}
        artist, genre, path = known.pop("artist", None), known.pop("genre", None), known.pop("path", None)
        found[name] = Document(name, artist, genre, path, known)
    return found


def columns_of(one: Document) -> dict[str, str]:
    """Known values of a document, by column; an error if one of its further columns has a reserved name."""
    if clash := DOCUMENTS.known & set(one.more):
        raise InputError(f"document {one.identifier} has an extra column named {min(clash)}, a reserved name")
    named = zip(DOCUMENT_COLUMNS, (one.identifier, one.artist, one.genre, one.path), strict=True)
    return {column: value for column, value in named if value} | dict(one.more)


class Asked(NamedTuple):
    """The document of each query that has one, and its text, as in BEIR's queries.jsonl and MS MARCO's queries.tsv."""

    documents: Mapping[str, str] = {}
    texts: Mapping[str, str] = {}

    def described(self, documents: Mapping[str, Document], queries: Iterable[str]) -> Mapping[str, Document]:
        """Documents of a collection, with the texts of some queries as prompts of theirs, unless they have one."""
        found = dict(documents)
        for query in queries:
            document = self.documents.get(query, query)
            known = found.get(document, Document(document))
            if query in self.texts and PROMPT not in known.more:
                found[document] = replace(known, more={**known.more, PROMPT: cell_of(self.texts[query])})
        return found


def read_asked(source: Any) -> Asked:
    """The queries of a table, with `document`, or `prompt`, their text, or both; empty ones are left out."""
    table = read(source, QUERIES)
    names, documents, texts = table.distinct("query"), table.texts("document"), table.texts(PROMPT)
    if table.columns.keys().isdisjoint(("document", PROMPT)) or (
        table.by_place and not any(" " in one for one in texts)
    ):
        found = f"{names[0][0]}, {texts[0]}" if table.by_place else ", ".join(table.columns)
        header = " in the header" if table.head is not None or table.by_place else ""
        raise table.error(None, f"expected a column document{header}, or texts of queries, found {found}")
    return Asked(_filled(names, documents), _filled(names, texts))


def read_queries(source: Any) -> dict[str, str]:
    """The document of each query of a table; queries without a document are left out."""
    return dict(read_asked(source).documents)


def read_systems(source: Any) -> dict[str, str]:
    """The team of each system of a table; systems without a team are left out."""
    table = read(source, SYSTEMS)
    return _filled(table.distinct("system"), table.texts("team"))


def _filled(names: Iterable[tuple[str, ...]], cells: Iterable[str]) -> dict[str, str]:
    """The cell of each name, without empty ones."""
    return {name: cell for (name,), cell in zip(names, cells, strict=True) if cell}


# Written by taggers where they know no artist.
NAMELESS = {"unknown artist", "various artists", "various artist", "unknown", "various"}
NAMELESS |= {"[unknown]", "<unknown>", "[no artist]"}


def is_nameless(artist: str) -> bool:
    """True for words that taggers write where they know no artist, such as "Various Artists"."""
    return artist.casefold() in NAMELESS


def known_artists(documents: Mapping[str, Document], not_artists: Collection[str]) -> dict[str, str]:
    """The artist of each document that has one, without the words for several or unknown ones.

    The published models, and the printed figures for MIREX, take such words for an artist; two recordings with them
    are still not by the same one.
    """
    return {
        name: artist
        for name, one in documents.items()
        if (artist := one.artist) and artist not in not_artists and artist.casefold() not in NAMELESS
    }


# Comparisons: which of two documents is more relevant to a query, or neither.

REQUIRED = ("query", "document_a", "document_b", "answer")
COMPARED = (*REQUIRED, "assessor", "seconds")
COMPARISONS = Schema(
    "comparisons", f"a header with {', '.join(REQUIRED)}",
    {name: (name,) for name in COMPARED} | {"query": QUERY}, REQUIRED,
    memory="a data frame of comparisons",
)  # fmt: skip
MOST_SECONDS = 1e6  # longest time that an answer may have taken


def read_comparisons(source: Any) -> tuple[PairedComparison, ...]:
    """The comparisons of a table, in the order of its rows.

    A table with REQUIRED, and any of `assessor` and `seconds`. A repeated answer about the same two documents is a
    revision; all are kept.
    """
    return tuple(one for _, one in numbered_comparisons(source))


def numbered_comparisons(source: Any) -> list[tuple[int, PairedComparison]]:
    """The comparisons of a table, each with the number of its line; see `read_comparisons`."""
    table = read(source, COMPARISONS)
    names = [table.names(column).cells() for column in REQUIRED[:3]]
    found, seconds = [], numbers_in(table, "seconds")
    for row, said in enumerate(zip(*names, table.texts("answer"), table.texts("assessor"), seconds, strict=True)):
        try:
            found.append((table.row_numbers[row], PairedComparison(*said)))
        except InputError as error:
            raise table.error(row, str(error)) from None
    return found


def numbers_in(table: Table, column: str) -> list[float | None]:
    """Times or grades in a column of a table, None where unknown; an error outside 0 to MOST_SECONDS."""
    found = table.numbers(column)
    if (wrong := np.flatnonzero((found < 0) | (found > MOST_SECONDS))).size:
        raise table.error(wrong[0], f"expected {column} from 0 to {MOST_SECONDS:.0f}, got {found[wrong[0]]:g}")
    return [None if value != value else value for value in found.tolist()]


# Grades by judging machines, in the folder `judges/` of a collection, one table per machine.
#
# judges/NAME.tsv    header; `query`, `document`, and `grade` or `score`: any number, on any scale; empty is unknown
#
# `[judges.NAME]` in collection.toml has further facts on one: `kind`, always "machine"; `maker`, `version` and
# `prompt`, any text; `may_favour`, a team or system; `file`, the path of its table if it is elsewhere.

JUDGES = "judges"
UNKNOWN_MAKER = JudgeSettings()
GRADES_OF_JUDGE = Schema(
    "grades", "a header with query, document and grade",
    {"query": QUERY, "document": DOCUMENT, "grade": (*GRADE, *SCORE[1:])},
    ("query", "document", "grade"), open=True, keys=("query", "document"), value="grade",
    memory="a data frame or a dict of pairs and grades",
)  # fmt: skip


def read_judges(folder: Path, settings: Mapping[str, JudgeSettings] | None = None) -> tuple[MachineJudge, ...]:
    """All machines that judge a collection: those named in collection.toml, then other tables of `judges/`."""
    settings, place = settings or {}, folder / JUDGES
    files = {name: folder / one.file for name, one in settings.items() if one.file}
    for path in sorted(place.iterdir()) if place.is_dir() else ():
        if not path.name.startswith("."):
            if not path.name.removesuffix(".gz").endswith(".tsv"):
                raise InputError(f"{path}: expected the grades of a judge in a file NAME.tsv")
            files.setdefault(path.name.partition(".tsv")[0], path)
    for name in settings:
        named = files.setdefault(name, place / f"{name}.tsv")
        check_regular(named, f"the grades of judge {name} named in collection.toml")
    order = dict.fromkeys((*settings, *files))
    return tuple(read_judge(files[name], name, settings.get(name, UNKNOWN_MAKER)) for name in order)


def read_judge(path: Path, name: str, settings: JudgeSettings = UNKNOWN_MAKER) -> MachineJudge:
    """The machine with the grades in a table; every error names the line."""
    check_regular(path)
    grades = read_grades(path)
    with placed(path):
        return replace(MachineJudge.of(name, grades, settings=settings), source=path)


def read_grades(source: Any) -> dict[Pair, float]:
    """Numbers by pair, from a table or a dict; empty ones are left out."""
    table = read(source, GRADES_OF_JUDGE)
    if not len(graded := table.chosen(~np.isnan(table.numbers("grade")))):
        raise table.error(None, "no pair has a grade, expected some")
    pairs = map(Pair._make, graded.distinct("query", "document"))
    return dict(zip(pairs, graded.numbers("grade").tolist(), strict=True))


# Runs: the documents that each system retrieved for each query.
#
# A system is named by its tag. If several files share a tag for rankings of the same queries, their file names name the
# systems, as `system_from="file"` does throughout: the name without `.gz` and without a suffix of letters.

SystemFrom = Literal["file", "tag"]
TREC = ("query", "Q0", "document", "rank", "score", "system")
LIST = ("system", "query", "document")
RUNS = Schema(
    "runs", f"a TREC run ({' '.join(TREC)}), lines of {' '.join(LIST)}, or a MIREX result file",
    {"query": QUERY, "document": DOCUMENT, "system": SYSTEM, "score": SCORE, "rank": ("rank",)},
    ("query", "document"), (TREC, LIST), open=True, numbers=("score",), whole=("rank",),
    keys=("query", "document"), value="score",
    memory="a data frame, a dict of system -> query -> documents, or ranx's runs",
)  # fmt: skip


class Found(NamedTuple):
    """The rankings of a system, with the place where they start.

    row    its first row in the table; None for a MIREX result file
    """

    table: Table
    row: int | None
    system: str
    rankings: CodedRankings

    def error(self, problem: str) -> InputError:
        """An error that names the place where the rankings start."""
        return self.table.error(self.row or 0, problem)


def read_runs(
    paths: Iterable[str | Path],
    exclusions: Exclusions | None = None,
    system_from: SystemFrom | None = None,
    say: Say = lambda _: None,
) -> tuple[Run, ...]:
    """The runs of one file or several, in order of appearance; each system is in one file.

    exclusions   for MIREX result files: valid queries, and documents that cannot be results
    system_from  source of system names; None: the tag, or the file if several files share a tag
    say          called with one sentence on each peculiarity that is not an error
    """
    if system_from not in (None, *get_args(SystemFrom)):
        raise InputError(f"system_from must be file or tag, got {system_from!r}")
    found = [one for path in paths for one in _in_file(Path(path), exclusions or Exclusions(), say)]
    shared = [tag for tag, count in Counter([one.system for one in found]).items() if count > 1]
    if system_from != "file" and (not shared or system_from == "tag"):
        return _as_runs(found)
    by_file = {one.table.source for one in found if system_from == "file" or one.system in shared}
    if shared and system_from is None:
        for one, other in _alike(found, lambda one: one.system):
            if not one.rankings.keys() & other.rankings.keys():  # they look like parts of one run
                raise _again(one, other, 'one system in one file, or `system_from="file"` if they are two systems')
        say(f"{len(by_file)} files share the tag {min(shared)}: their systems are named by their files")
    _check_single([one for one in found if one.table.source in by_file])
    named = (one._replace(system=_system_of(one.table.source)) for one in found)
    return _as_runs([own if one.table.source in by_file else one for one, own in zip(found, named, strict=True)])


def runs_in_memory(given: Any, say: Say = lambda _: None) -> tuple[Run, ...]:
    """The run of each system, in the order given: a frame, a dict of system -> rankings, ranx's runs, or `Run`s.

    The rankings of a system are a frame, a dict of query -> documents or document -> score, an object of ranx, objects
    of ir_measures, or the path of a file. As in TREC runs, scores order documents; without scores the ranks do, and
    without both the rows. A path alone is that of a file with the runs of any number of systems.
    """
    if isinstance(given, Path):
        return read_runs([given], say=say)
    if isinstance(given, str):
        raise InputError(f"expected runs: {RUNS.memory}; got the text {given!r}")
    if is_frame(given) or (isinstance(given, np.ndarray) and given.dtype.names):
        return _as_runs(runs_of(read(given, RUNS, "runs"), say))
    if isinstance(given, Mapping):
        keys = distinct_keys(given, "system", "runs")
        named = list(zip(Table("runs", {"system": keys}).names("system").cells(), given.values(), strict=True))
    else:
        listed = [given] if is_ranx(given) else list(given) if isinstance(given, Iterable) else None
        if listed is None:
            raise InputError(f"expected {RUNS.memory}; got {type(given).__name__}")
        if listed and not any(isinstance(one, Run) or is_ranx(one) for one in listed):
            return _as_runs(runs_of(read(listed, RUNS, "runs"), say))
        named = [(one.system if isinstance(one, Run) else str(getattr(one, "name", None) or ""), one) for one in listed]
        if not all(name for name, _ in named):
            raise InputError(f"a run in a list needs a name, as ranx.Run(..., name='A') has; expected {RUNS.memory}")
    return tuple(
        one if isinstance(one, Run) else Run(str(name), _as_runs(_of_system(str(name), one, say))[0].rankings)
        for name, one in named
    )


def _of_system(system: str, given: Any, say: Say) -> list[Found]:
    """The rankings of one system in memory, or in a file of its own."""
    if isinstance(given, Path):
        _check_single(found := _in_file(given, Exclusions(), say))
        return [one._replace(system=system) for one in found]
    table = read(given, RUNS, f"run of {system}")
    if not len(table):
        raise InputError(f"run of {system} is empty, expected the results of a system for at least one query")
    return runs_of(table.with_columns({**table.columns, "system": [system] * len(table)}), say)


def _in_file(path: Path, exclusions: Exclusions, say: Say) -> list[Found]:
    """The rankings of each system of a file."""
    if path.suffix.lower() not in PARQUET:
        lines = read_lines(path, RUNS.expected)
        head = list(islice(lines, 2))
        (number, first), second, lines = head[0], head[-1][1], chain(head, lines)
        if _is_trec(first) and len(second.split()) == len(TREC):
            return runs_of(read(path, RUNS), say)
        if "\t" not in first and is_sparse(second):
            return [_mirex(path, number, read_sparse(path, lines, exclusions))]
        if is_numbered(second) and not is_header(RUNS, first.split()) and not _is_trec(first):
            return [_mirex(path, number, read_matrix(path, lines, exclusions))]
    return runs_of(read(path, RUNS), say)


def _mirex(path: Path, number: int, run: Run) -> Found:
    return Found(Table(path, {}, [number]), 0, run.system, coded(run.rankings))


def _is_trec(line: str) -> bool:
    """True if a first line certainly belongs to a TREC run; the name line of a matrix may also have six words."""
    fields = line.split()
    return len(fields) == len(TREC) and fields[3].isdecimal()


def runs_of(table: Table, say: Say) -> list[Found]:
    """The rankings of each system in a table, in order of appearance."""
    table = _with_ranks(table, say)
    query, document = table.names("query"), table.names("document")
    if "system" in table.columns:
        system = table.names("system")
    elif isinstance(table.source, Path):
        system = Words((_system_of(table.source),), np.zeros(len(table), dtype=np.int32))
    else:
        given = ", ".join([*table.columns, *table.unread])
        raise table.error(None, f"expected a column system ({', '.join(SYSTEM[1:])}), found {given}")
    score, rank = _needed(table, "score"), _needed(table, "rank")
    if score is None and rank is None and table.unread:
        unread = f"not read: {', '.join(table.unread)}"
        say(f"{table.source}: without a column score or rank, the rows are taken as best first; {unread}")
    line, first = _ranking_of(system, query)
    codes, rows = document.codes, np.arange(len(line))
    if np.any(line[1:] < line[:-1]):
        rows = np.argsort(line, kind="stable")
        line, codes = line[rows], codes[rows]
        score, rank = (None if one is None else one[rows] for one in (score, rank))
    codes = _best_first(line, codes, -rank if score is None and rank is not None else score, document.names)
    ends = np.concatenate([[0], np.cumsum(np.bincount(line, minlength=len(first)))])
    bounds = np.searchsorted(system.codes[first], np.arange(len(system.names) + 1)).tolist()
    # Scores and ranks have done their work; those of many files together would take most of the memory.
    kept = table.with_columns({name: some for name, some in table.columns.items() if name not in ("score", "rank")})
    found = []
    for name, low, high in zip(system.names, bounds, bounds[1:], strict=False):
        queries = tuple(query.names[code] for code in query.codes[first[low:high]].tolist())
        own = CodedRankings(queries, ends[low : high + 1] - ends[low], codes[ends[low] : ends[high]], document.names)
        found.append(Found(kept, int(first[low]), name, own))
    if score is not None and rank is not None:
        _say_peculiar(table, found, line, score, rank, rows, say)
    return found


def _needed(table: Table, column: str) -> Array | None:
    """A column of numbers, none of which is missing; None if there is no such column."""
    if column not in table.columns:
        return None
    values = table.numbers(column, whole=column == "rank")
    if (empty := np.flatnonzero(np.isnan(values))).size:
        raise table.error(int(empty[0]), f"expected a finite number for {column}, found none")
    return values


def _with_ranks(table: Table, say: Say) -> Table:
    """The table, with the columns `query document rank` or `query document score` if those of a list are these.

    In a list without a header in which no pair of the first two columns is there twice, the third is a rank, as in MS
    MARCO, if it counts the documents of each query from 1 or 0; it is a score if all are numbers, some with a point.
    """
    if not table.by_place or {*table.columns} != {*LIST}:
        return table
    query, document, third = (table.names(name) for name in LIST)
    numbers = [number_of(name) for name in third.names]
    if None in numbers:
        return table
    pairs = np.unique(query.codes.astype(np.int64) * len(document.names) + document.codes)
    if len(pairs) < len(table):
        return table
    values, counts = np.array(numbers, dtype=float)[third.codes], np.bincount(query.codes)
    what = "score" if any("." in name for name in third.names) else "rank"
    if what == "rank":
        places = np.unique(query.codes + 1j * values)  # pairs of numbers
        counted = len(places) == len(table) and values.min() in (0, 1) and counts.max() > 1
        if not counted or np.any(values - values.min() >= counts[query.codes]):
            return table
    say(f"{table.source}: taken as lines of query document {what}; its file names the system")
    return table.with_columns(dict(zip(("query", "document", what), (query, document, values), strict=True)))


def _ranking_of(system: Words, query: Words) -> tuple[Integers, Integers]:
    """(rows,) the number of each row's ranking, system after system; and the first row of each ranking."""
    change = (system.codes[1:] != system.codes[:-1]) | (query.codes[1:] != query.codes[:-1])
    block = np.flatnonzero(np.concatenate([[query.codes.size > 0], change]))
    keys = system.codes[block].astype(np.int64) * len(query.names) + query.codes[block]
    _, first, code = np.unique(keys, return_index=True, return_inverse=True)
    order = np.lexsort((first, system.codes[block[first]]))
    return np.repeat(np.argsort(order)[code], np.diff(np.append(block, len(query.codes)))), block[first[order]]


def _best_first(line: Integers, codes: NDArray[np.int32], by: Array | None, names: Sequence[str]) -> NDArray[np.int32]:
    """The documents of each ranking, highest first, equal ones by name, highest first, as trec_eval does it.

    line  (rows,) number of the ranking, rising
    by    (rows,) score, or negative rank; None: the rows are in order
    """
    if by is None:
        return codes
    loose = np.flatnonzero((line[1:] == line[:-1]) & (by[1:] >= by[:-1]))
    if not loose.size:
        return codes
    block = np.flatnonzero(np.isin(line, np.unique(line[loose])))
    some, place = np.unique(codes[block], return_inverse=True)
    by_name = np.argsort(np.argsort(np.array([names[code] for code in some.tolist()])))
    order = np.lexsort((-by_name[place], -by[block], line[block]))
    found = codes.copy()
    found[block] = codes[block[order]]
    return found


def _say_peculiar(
    table: Table, found: Sequence[Found], line: Integers, score: Array, rank: Array, rows: Integers, say: Say
) -> None:
    """Say what is odd in ranks and scores, which are sorted by ranking, system after system; `rows` are their rows."""
    same = line[1:] == line[:-1]
    if np.any(same & (rank[1:] <= rank[:-1])):
        _, once = np.unique(np.stack([line, rank.astype(np.int64)]), axis=1, return_index=True)
        again = np.setdiff1d(np.arange(len(line)), once)
        if again.size:
            many = f"{len(again)} lines repeat a rank of their ranking"
            said = many if len(again) > 1 else "the line repeats a rank of its ranking"
            say(f"{_at(table, int(rows[again].min()))}: {said}; scores decide, as in trec_eval")
    below, end = same & (rank[1:] > rank[:-1]), 0
    for one in found:
        start, end = end, end + len(one.rankings.documents)
        steps, where = np.diff(score[start:end])[below[start : end - 1]], _at(table, one.row or 0)
        if (steps > 0).any() and not (steps < 0).any():
            say(
                f"{where}: the scores of system {one.system} rise with the rank, as distances do: the last rank "
                f"counts as best, as in trec_eval; give similarities, such as negative distances"
            )
        elif steps.size and not steps.any():
            say(
                f"{where}: all scores of system {one.system} for a query are equal: documents are ordered by name, "
                f"the last first, and ranks do not count, as in trec_eval; give scores that fall with the rank"
            )


def _at(table: Table, row: int) -> str:
    return f"{table.source}:{table.lines[row]}" if table.lines is not None else f"{table.source}"


def _system_of(source: Path | str) -> str:
    """The system named by a file; TREC's own are called input.NAME."""
    whole = Path(source).name.removesuffix(".gz")
    name = Path(whole)
    if name.stem == "input" and name.suffix not in ("", ".csv", ".run", ".trec", ".tsv", ".txt"):
        return name.suffix[1:]
    # Only an ending in letters is a suffix: the 2 of KL.2 distinguishes two systems.
    return name.stem if name.suffix[1:].isalpha() else whole


def _alike(found: Sequence[Found], key: Callable[[Found], object]) -> Iterator[tuple[Found, Found]]:
    """Each of those found whose key an earlier one has, with the first of these."""
    first: dict[object, Found] = {}
    for one in found:
        if (other := first.setdefault(key(one), one)) is not one:
            yield one, other


def _check_single(found: Sequence[Found]) -> None:
    """Check that a file that names its system holds only one."""
    for one, other in _alike(found, lambda one: one.table.source):
        if other.system == one.system:
            raise _again(one, other, "it once")
        both = f"the file holds systems {other.system} and {one.system}"
        raise one.error(f"{both}, expected one if files name the systems")


def _as_runs(found: Sequence[Found]) -> tuple[Run, ...]:
    """The runs, with one table of documents; an error if a system is in two files, or a document twice in a ranking."""
    for one, other in _alike(found, lambda one: one.system):
        raise _again(one, other, 'it once, or `system_from="file"` if they are two systems')
    runs = []
    for one, own in zip(found, on_one_table([one.rankings for one in found]), strict=True):
        try:
            runs.append(Run(one.system, own))
        except InputError:
            if (query := own.repeated) is None:
                raise
            raise _twice(one, query) from None
    return tuple(runs)


def _again(one: Found, other: Found, expected: str) -> InputError:
    return one.error(f"system {one.system} is in {other.table.source} already, expected {expected}")


def _twice(one: Found, query: str) -> InputError:
    """An error that names the second row of a document in a ranking."""
    documents = list(one.rankings[query])
    name = next(name for place, name in enumerate(documents) if name in documents[:place])
    system = one.table.names("system").cells() if "system" in one.table.columns else [one.system] * len(one.table)
    rows = zip(system, *(one.table.names(column).cells() for column in ("query", "document")), strict=True)
    tag = one.table.names("system").cells()[one.row or 0] if "system" in one.table.columns else one.system
    row = [place for place, said in enumerate(rows) if said == (tag, query, name)][1]
    where = f"the ranking of system {one.system} for query {query}"
    return one.table.error(row, f"document {name} is twice in {where}, expected each document once")


# Judgments.

GRADES = ("grade", "fine", "broad")
COLUMNS_OF_JUDGMENTS = ("query", "document", *GRADES, "assessor", "time")
GROUP, ASPECT = "group", "aspect"
COUNTS, DEFUSED = "counts", "defused"
VALUES = (*GRADES, GROUP)
# Further columns of files exported by a service, of which `import` reads some, and of other tools.
CARRIED = (
    "note", "seconds", "played_s", "query_played_s", "document_played_s", "cannot", "leased", "until", "doubt",
    "details",
)  # fmt: skip
PASSED = ("iteration", "iter", "0", "timestamp")
JUDGMENTS = Schema(
    "judgments", "TREC qrels (query 0 document grade), lines of query document grade, CSV with a header, or JSON Lines",
    {
        "query": QUERY, "document": DOCUMENT, "grade": GRADE, "assessor": ASSESSOR,
        **{name: (name,) for name in ("fine", "broad", GROUP, "time", ASPECT, COUNTS, DEFUSED, "cannot")},
    },
    ("query", "document"), (("query", "0", "document", "grade"), ("query", "document", "grade")), PASSED, CARRIED, True,
    numbers=VALUES, keys=("query", "document"), value="grade", any_of=(*VALUES, "cannot"),
    memory="a data frame, a dict of query -> document -> grade, ranx's Qrels, or ir_measures' qrels",
)  # fmt: skip
YES_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
WORDS = {"ns": 0.0, "ss": 1.0, "vs": 2.0, "not similar": 0.0, "somewhat similar": 1.0, "very similar": 2.0}
UNJUDGED, JUNK = -1, -2  # grades of TREC qrels outside any scale
ODD = {UNJUDGED: "unjudged, left out", JUNK: "junk, the lowest grade"}


class Judged(NamedTuple):
    """The judgments of a table.

    scale     scale of their grades
    rows      their rows
    cannot    rows that declare a pair impossible to judge
    """

    scale: Scale
    judgments: JudgmentSequence
    rows: Table
    cannot: Table


def read_judgments(
    source: Any, scale: Scale | None = None, say: Say = lambda _: None
) -> tuple[Scale, JudgmentSequence]:
    """The scale and the judgments of a file, or of a value of a program, in which a missing grade means unjudged.

    source  a file, a value, or `none` or None for no judgments
    scale   scale of the grades; None: guessed from the columns and grades
    say     called with a sentence on the guess of the scale, and with one on each kind of odd grade
    """
    return judged(source, scale, say)[:2]


def judged(source: Any, scale: Scale | None = None, say: Say = lambda _: None) -> Judged:
    """The judgments of a table, with their rows; see `read_judgments`."""
    if source is None or (isinstance(source, str | Path) and str(source) == "none"):
        return Judged(scale or FINE, (), *[Table("judgments", {})] * 2)
    own = list(source) if isinstance(source, list | tuple | CodedJudgments) else []
    if any(isinstance(one, Judgment) for one in own):
        odd = next((place for place, one in enumerate(own) if not isinstance(one, Judgment)), None)
        if odd is not None:
            raise InputError(f"expected judgments only, got {type(own[odd]).__name__} at place {odd} of the list")
        columns = ("query", "document", "grade", "assessor", "time", ASPECT)
        source = Table("judgments", {name: [getattr(one, name) for one in own] for name in columns})
    table = read(source, JUDGMENTS)
    grouped = isinstance(table.source, Path) and named_groups(table.source)
    if grouped and (table.by_place or table.keys):
        table = table.with_columns({GROUP if name == "grade" else name: cells for name, cells in table.columns.items()})
    cannot, table = _parted(_counting(table))
    table = _worded(table)
    values = {name: table.numbers(name) for name in VALUES}
    known = np.asarray(~np.isnan([*values.values()]).all(axis=0))
    if not known.all():
        if isinstance(table.source, Path):  # a frame may leave cells empty
            raise table.error(int(np.argmin(known)), f"no grade, expected one in {', '.join(GRADES)}")
        rest = "left out as unjudged" if known.any() else "so nothing is judged"
        say(ungraded := f"{table.source}: no grade in {counted(int((~known).sum()), 'row')}, {rest}")
        NOTES.warning("%s", ungraded)  # shown in a notebook, which does not show what is said
    if grouped or not np.isnan(values[GROUP]).all():
        scale, values = _levels(table, values, scale, say)
    else:
        for odd, what in ODD.items():
            if count := sum(int((one == odd).sum()) for one in values.values()):
                where = f"{table.source}: " if isinstance(table.source, Path) else ""
                say(f"{where}{counted(count, 'grade')} of {odd}: taken as {what}")
        known &= ~np.any([one == UNJUDGED for one in values.values()], axis=0)
    table, values = table.chosen(known), {name: one[known] for name, one in values.items()}
    column = "" if scale is None else scale.name
    if scale is None:
        scale, column = _guess_scale(table, values, say)
    return Judged(scale, *_made(table, _on_scale(table, values, scale, column)), cannot)


def _counting(table: Table) -> Table:
    """The rows that count, without protective apostrophes."""
    table = _armed(table) if DEFUSED in table.columns else table
    kept = np.ones(len(table), dtype=np.bool_)
    for row, said in enumerate(table.texts(COUNTS) if COUNTS in table.columns else ()):
        counts = YES_NO.get(said.lower()) if said else True
        if counts is None:
            raise table.error(row, f"expected yes or no for {COUNTS}, found {quoted(said)}")
        kept[row] = counts
    return table.chosen(kept)


def _parted(table: Table) -> tuple[Table, Table]:
    """The rows without a grade that say why the pair cannot be judged, and the others."""
    refused = np.array([bool(cell) for cell in table.texts("cannot")], dtype=np.bool_)
    if refused.any():
        refused &= ~np.any([[bool(cell) for cell in table.texts(name)] for name in VALUES], axis=0)
    return table.chosen(refused), table.chosen(~refused)


def _armed(table: Table) -> Table:
    """The table with its protective apostrophes removed."""
    columns = {name: table.texts(name, trimmed=False) for name in table.columns}
    for row, names in enumerate(columns[DEFUSED]):
        for name in (one for one in names.split() if one in columns):
            if not columns[name][row].startswith("'"):
                problem = f"expected a leading apostrophe in {quoted(name)}, as {DEFUSED} names it"
                raise table.error(row, problem)
            columns[name][row] = columns[name][row][1:]
    return table.with_columns(columns)


def _worded(table: Table) -> Table:
    """The table with Evalutron's words as numbers of the column `broad`."""
    if all(isinstance(table.columns.get(name, np.empty(0)), np.ndarray) for name in ("grade", "broad")):
        return table
    grade, broad = (table.cells(name) or [None] * len(table) for name in ("grade", "broad"))
    if all(_word(cell) is None for cell in (*grade, *broad)):
        return table
    for row, cells in enumerate(zip(grade, broad, strict=True)):
        word, own = map(_word, cells)
        broad[row] = cells[1] if own is None else own
        if word is not None:
            if number_of(broad[row]) not in (None, word):
                raise table.error(row, f"grade {cells[0]} contradicts broad {cells[1]}, expected one of them")
            grade[row], broad[row] = None, word
    return table.with_columns({**table.columns, "grade": grade, "broad": broad})


def _word(cell: object) -> float | None:
    return WORDS.get(" ".join(cell.lower().split())) if isinstance(cell, str) and not cell[:1].isdecimal() else None


def named_groups(path: PurePath) -> bool:
    """True if numbers without a column's name in this file are groups."""
    return path.name.partition(".")[0].lower() == "groups"


def _levels(table: Table, values: Mapping[str, Array], scale: Scale | None, say: Say) -> tuple[Scale, dict[str, Array]]:
    """The levels instead of groups, and their scale."""
    groups, graded = values[GROUP], ~np.isnan([values[name] for name in GRADES]).all(axis=0)
    if (wrong := graded | np.isnan(groups)).any():
        row = int(np.argmax(wrong))
        found = " and ".join(name for name, one in values.items() if not np.isnan(one[row]))
        raise table.error(row, f"expected a group alone as on all lines, found {found}")
    cells = [str(cell).strip() for cell in table.cells(GROUP)]
    if (wrong := (groups < 1) | (groups % 1 != 0)).any():
        row = int(np.argmax(wrong))
        raise table.error(row, f"expected a group of 1 or more, found {cells[row]}")
    # Exact however large.
    numbers = [int(cell) if cell.isdecimal() else group for cell, group in zip(cells, groups.tolist(), strict=True)]
    level = {number: float(place) for place, number in enumerate(sorted({*numbers}, reverse=True), start=1)}
    own = Scale("custom", tuple(float(one) for one in range(len(level) + 1)))
    if scale is not None and scale.levels != own.levels:
        problem = f"the file has {len(level)} groups of equal relevance, which are no grades of the scale {scale}"
        raise table.error(0, f"{problem}: write the grade of each group instead")
    say(f"{len(level)} groups of equal relevance: taken as levels {len(level)} to 1, the first the most relevant")
    grades = np.array([level[number] for number in numbers])
    return scale or own, dict.fromkeys(GRADES, np.full(len(table), np.nan)) | {"grade": grades}


def _guess_scale(table: Table, values: Mapping[str, Array], say: Say) -> tuple[Scale, str]:
    """The scale, and its column: the first with a grade of `fine`, `broad` and `grade`."""
    filled = {name: one for name, one in values.items() if not np.isnan(one).all()}
    column = next((name for name in ("fine", "broad") if name in filled), "grade")
    if column not in filled:
        return FINE, column
    grades = filled[column][~np.isnan(filled[column])]
    try:
        usual = {0.0 if grade == JUNK else grade for grade in np.unique(grades).tolist()}
        scale, sentence = guess_scale(usual, column, len(grades))
    except OffScaleError as error:
        raise table.error(int(np.argmax(filled[column] == error.grade)), str(error)) from None
    say(sentence)
    return scale, column


def _on_scale(table: Table, values: Mapping[str, Array], scale: Scale, column: str) -> Array:
    """(rows,) the grade in a column, or in `grade` where that is empty; NaN if there is neither."""
    general = values["grade"]
    own = values[column] if column in GRADES else np.full(len(table), np.nan)
    if (both := ~np.isnan(own) & ~np.isnan(general) & (own != general)).any():
        row = int(np.argmax(both))
        problem = f"grade {general[row]:g} contradicts {column} {own[row]:g}: both are on the same scale"
        raise table.error(row, f"{problem}, expected one of them")
    grades = np.where(np.isnan(own), general, own)
    if len(grades) and np.isnan(grades).all():
        columns = f"{scale.name} or grade" if scale.name in GRADES else "grade"
        found = " and ".join(name for name, one in values.items() if not np.isnan(one[0]))
        raise table.error(0, f"expected a grade for the {scale.name} scale in {columns}, found only {found}")
    grades = np.where(grades == JUNK, scale.levels[0], grades)
    wrong = [grade for grade in np.unique(grades[~np.isnan(grades)]).tolist() if grade not in scale]
    if wrong:
        row = int(np.argmax(np.isin(grades, wrong)))
        raise table.error(row, f"grade {grades[row]:g} is not on the {scale.name} scale ({scale})")
    return grades


def _made(table: Table, grades: Array) -> tuple[JudgmentSequence, Table]:
    """The judgments with a grade, and their rows; an error if only some have an aspect, or if two are contradictory."""
    known = ~np.isnan(grades)
    table, grades = table.chosen(known), grades[known]
    query, document = table.names("query"), table.names("document")
    said = [table.texts(name) for name in ("assessor", "time", ASPECT)]
    keys = query.codes.astype(np.int64) * max(len(document.names), 1) + document.codes
    keys.sort()
    if not np.any(keys[1:] == keys[:-1]) and not any(map(any, said)):
        return CodedJudgments(query, document, grades), table
    found = tuple(map(Judgment, query.cells(), document.cells(), grades.tolist(), *said))
    if table.by_place:
        table.distinct("query", "document")
    if (both := contradiction(found)) is not None:
        before, row = both
        raise table.error(row, contradicting(found[before], found[row], f" {table.place(before)}"))
    for row, one in enumerate(found if have_aspects(found) else ()):
        try:
            check_aspect(one.aspect)
        except InputError as error:
            raise table.error(row, str(error)) from None
    return found, table


def nameless(name: str, body: bytes) -> bytes:
    """The contents of a file of judgments, with a header if only its name says that it has groups.

    name  of the file, which later readers of the contents do not know
    """
    if not named_groups(PurePath(name)):
        return body
    lines = body.decode("utf-8", "replace").removeprefix(BYTE_ORDER_MARK).splitlines()
    first = next((line for line in lines if line.strip()), "")
    cells = re.split(r"[\t,;\s]", first)
    if is_header(JUDGMENTS, cells) or is_xml(first) or (first.lstrip().startswith("{") and '"document"' in first):
        return body
    header = {len(form): " ".join((*form[:-1], GROUP)) for form in JUDGMENTS.forms}.get(len(first.split()))
    if header is None:
        raise InputError(f"{name}: expected a header with query, document and group, or lines of them")
    return f"{header}\n".encode() + body.removeprefix(BYTE_ORDER_MARK.encode())


# The kind of a file whose name does not say it.

SCHEMAS = (DOCUMENTS, QUERIES, SYSTEMS, COMPARISONS, JUDGMENTS)
TableKind = Literal["comparisons", "judgments", "scores", "runs", "queries", "systems", "documents"]
HEAD_BYTES, LOOKED_AT = 4096, 20  # bytes and lines of a file that are looked at
BEIR_QRELS = frozenset(("query-id", "corpus-id", "score"))


def kind_of(head: str | bytes) -> TableKind | None:
    """The kind of a table by its header, first record of JSON or the form of its first lines; None if they do not say.

    A score of a document for a query may be a machine's grade, or that of a run named by its file: these are "scores".

    head  beginning of the file; bytes may be compressed
    """
    text = _plain(head) if isinstance(head, bytes) else head
    names = named_in(text)

    def has(schema: Schema, *columns: str) -> bool:
        return all(not names.isdisjoint(schema.columns[column]) for column in columns)

    if names.issuperset(REQUIRED[1:3]):
        return "comparisons"
    if has(RUNS, "query", "document"):
        grades = {word for column in JUDGMENTS.numbers for word in JUDGMENTS.columns[column]} - {"score"}
        if grades & names or names == BEIR_QRELS:
            return "judgments"
        if has(RUNS, "score") or has(RUNS, "rank"):
            return "runs" if has(RUNS, "system") or has(RUNS, "rank") else "scores"
        return "queries"
    if has(SYSTEMS, "system", "team"):
        return "systems"
    if has(QUERIES, "query", "prompt") and "title" not in names:
        return "queries"
    return "documents" if has(DOCUMENTS, "document") else _kind_by_form(text)


def _plain(head: bytes) -> str:
    if head.startswith(b"\x1f\x8b"):
        with suppress(zlib.error):
            head = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, HEAD_BYTES)
    return head[:HEAD_BYTES].decode("utf-16" if head.startswith(UTF_16) else "utf-8", "replace")


def _kind_by_form(text: str) -> TableKind | None:
    """The kind of lines without a header: half of the first ones must have the form; the reader reports the others."""
    rows = [row for line in re.split(r"\r\n|[\r\n]", text)[:LOOKED_AT] if (row := line.split())]
    runs = sum(len(row) == len(TREC) and None not in map(number_of, row[3:5]) for row in rows)
    qrels = sum(len(row) == len(JUDGMENTS.forms[0]) and number_of(row[3]) is not None for row in rows)
    return "runs" if 2 * runs > len(rows) else "judgments" if 2 * qrels > len(rows) else None


# Lists of pairs: a query and a document per line, separated by a tab or spaces; a header is optional.

PAIRS = Schema(
    "pairs", "a query and a document per line", {"query": QUERY, "document": DOCUMENT}, ("query", "document"),
    (("query", "document"),), open=True, memory="pairs (query, document), or a data frame with these columns",
)  # fmt: skip


def pairs_of(source: Any) -> list[Pair]:
    """The pairs of a table, in their order."""
    table = read(source, PAIRS)
    return list(map(Pair, table.names("query").cells(), table.names("document").cells()))


def read_pairs(source: Any) -> dict[Pair, int]:
    """The pairs of a table in their order, each with the number of its line; a repeated one is an error."""
    table = read(source, PAIRS)
    pairs = map(Pair._make, table.distinct("query", "document"))
    return dict(zip(pairs, table.row_numbers, strict=True))
