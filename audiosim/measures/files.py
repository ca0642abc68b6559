"""Scores straight from files of runs and judgments, for evaluations of millions of lines.

TREC files that are plain enough (see `audiosim.corpus.trec_columns`) are read as arrays. Where one is not, or where
something is wrong, all are read by `audiosim.corpus`, which knows every form and makes every complaint; the
scores are the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from audiosim.arrays import Array, Booleans, Integers
from audiosim.corpus.collection import Collection
from audiosim.corpus.judgments import read_judgments
from audiosim.corpus.model import Scale
from audiosim.corpus.runs import read_runs
from audiosim.corpus.scale_guess import OffScaleError, guess_scale
from audiosim.corpus.trec_columns import Columns, Words, changes, hashes
from audiosim.measures.judged import JudgedRuns, Unjudged, check_unjudged, judged_runs

UNJUDGED = -1.0


def judged_files(
    runs: Iterable[str | Path],
    judgments: str | Path,
    cutoff: int,
    scale: Scale | None = None,
    unjudged: Unjudged = "error",
    threads: int | None = None,
) -> JudgedRuns:
    """The rankings of run files down to a cutoff, with the grades of their documents.

    runs       in any form that a collection may have
    judgments  in any form that a collection may have
    scale      of the grades; guessed from them where None is given
    unjudged   what a document without judgment does: `error`; `zero`, it gains 0; `skip`, those below it move up
    threads    that read files at the same time; as many as Python finds fit where None is given
    """
    check_unjudged(unjudged)
    paths, path = [Path(run) for run in runs], Path(judgments)
    return _plain(paths, path, cutoff, scale, unjudged, threads) or _careful(paths, path, cutoff, scale, unjudged)


def _careful(
    paths: Sequence[Path], judgments: Path, cutoff: int, scale: Scale | None, unjudged: Unjudged
) -> JudgedRuns:
    scale, judged = read_judgments(judgments, scale)
    name = str(judgments)
    collection = Collection(name, name, scale, cutoff, read_runs(paths), judgments=judged)
    return judged_runs(collection, cutoff, unjudged)


def _plain(
    paths: Sequence[Path], path: Path, cutoff: int, scale: Scale | None, unjudged: Unjudged, threads: int | None
) -> JudgedRuns | None:
    judgments = _read_judgments(path, scale)
    if judgments is None or not paths:
        return None
    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(partial(_read_run, judgments, cutoff, unjudged), paths))
    runs = [run for run in found if run is not None]
    if len({run.system for run in runs}) < len(paths):
        return None
    queries = {name: code for code, name in enumerate(dict.fromkeys(name for run in runs for name in run.queries))}
    grades = np.full((len(runs), len(queries), max(run.grades.shape[1] for run in runs)), np.nan)
    for i, run in enumerate(runs):
        rows = [queries[name] for name in run.queries]
        grades[i, rows, : run.grades.shape[1]] = run.grades
    systems = tuple(run.system for run in runs)
    return JudgedRuns(judgments.scale, systems, tuple(queries), grades, judgments.best_first(tuple(queries)))


@dataclass(frozen=True, eq=False)
class _Judgments:
    """The lines of a file of judgments, in the order of their hashes.

    queries    the code of each query
    query      (n,) code of each line's query
    documents  (n, w) the documents' names in words
    hashes     (n,) rising, no two the same
    grades     (n,) -1 where unjudged
    """

    scale: Scale
    queries: Mapping[str, int]
    query: Integers
    documents: Words
    hashes: Words
    grades: Array

    def find(self, query: Integers, documents: Words) -> Array:
        """(lines,) grade of each pair, NaN if unjudged."""
        width = self.documents.shape[1]
        longer = documents[:, width:].any(axis=1)
        documents = np.pad(documents[:, :width], ((0, 0), (0, max(0, width - documents.shape[1]))))
        # The last code is that of queries without judgments, of which no line is.
        codes = np.where(query < 0, len(self.queries), query)
        wanted = hashes(documents, codes, len(self.queries) + 1)
        place = np.minimum(np.searchsorted(self.hashes, wanted), len(self.hashes) - 1)
        same = (self.query[place] == query) & (self.documents[place] == documents).all(axis=1)
        return np.where(same & ~longer & (self.grades[place] != UNJUDGED), self.grades[place], np.nan)

    def best_first(self, queries: Sequence[str]) -> Array:
        """(q, m) the grades of each query's judged documents, best first, 0 after the last."""
        judged = self.grades != UNJUDGED
        query, grades = self.query[judged], self.grades[judged]
        order = np.lexsort((-grades, query))
        query, grades = query[order], grades[order]
        place = _places(np.concatenate([[True], query[1:] != query[:-1]])[: len(query)])
        # The last row is that of the queries without judgments.
        table = np.zeros((len(self.queries) + 1, int(place.max(initial=-1)) + 1))
        table[query, place] = grades
        return table[[self.queries.get(name, -1) for name in queries]]


def _read_judgments(path: Path, scale: Scale | None) -> _Judgments | None:
    columns = Columns.read(path, 4)
    if columns is None or not columns.narrow(0, 2):
        return None
    grades = columns.numbers(3)
    if grades is None:
        return None
    levels = set(np.unique(grades).tolist()) - {UNJUDGED}
    scale = scale or _guessed(levels)
    queries, query = _query_codes(columns)
    documents = columns.words(2)
    mixed = hashes(documents, query, len(queries) + 1)
    order = np.argsort(mixed, kind="stable")
    mixed = mixed[order]
    if scale is None or not levels or not all(level in scale for level in levels) or (mixed[1:] == mixed[:-1]).any():
        return None
    return _Judgments(scale, queries, query[order], documents[order], mixed, grades[order])


def _guessed(levels: set[float]) -> Scale | None:
    """The scale that some grades are on; None where it is left to others to complain."""
    try:
        return guess_scale(levels)[0] if levels else None
    except OffScaleError:
        return None


def _query_codes(columns: Columns) -> tuple[dict[str, int], Integers]:
    """A code for each query, and that of each line."""
    new = changes(columns.words(0))
    codes: dict[str, int] = {}
    blocks = [codes.setdefault(columns.name(line, 0), len(codes)) for line in np.flatnonzero(new).tolist()]
    return codes, np.array(blocks, dtype=np.int64)[np.cumsum(new) - 1]


@dataclass(frozen=True, eq=False)
class _Run:
    """Results of one system.

    queries  q names
    grades   (q, n) grade at each rank, NaN after the last
    """

    system: str
    queries: tuple[str, ...]
    grades: Array


def _read_run(judgments: _Judgments, cutoff: int, unjudged: Unjudged, path: Path) -> _Run | None:
    columns = Columns.read(path, 6)
    if columns is None or not columns.narrow(0, 2, 5) or changes(columns.words(5)).sum() > 1:
        return None
    queries, query = _query_codes(columns)
    documents = columns.words(2)
    order = _best_first(columns, query, documents)
    if order is None:
        return None
    query, documents = query[order], documents[order]
    place = _places(np.concatenate([[True], query[1:] != query[:-1]]))
    if unjudged != "skip":
        query, documents = query[place < cutoff], documents[place < cutoff]
    codes = np.array([judgments.queries.get(name, -1) for name in queries], dtype=np.int64)
    grades = _settled(judgments.find(codes[query], documents), unjudged)
    return (
        None
        if grades is None
        else _Run(columns.name(0, 5), tuple(queries), _table(grades, query, len(queries), cutoff))
    )


def _best_first(columns: Columns, query: Integers, documents: Words) -> Integers | None:
    """The lines by query, then best first; None where a rule of the form is broken or ranks do not rise."""
    ranks, scores = columns.whole_numbers(3), columns.numbers(4)
    if ranks is None or scores is None:
        return None
    same = query[1:] == query[:-1]
    in_blocks = np.count_nonzero(~same) == query.max()
    mixed = np.sort(hashes(documents, query, int(query.max()) + 1))
    if not in_blocks or (mixed[1:] == mixed[:-1]).any() or (same & (ranks[1:] <= ranks[:-1])).any():
        return None
    return _sorted_lines(query, scores, documents, np.unique(query[1:][same & (scores[1:] >= scores[:-1])]))


def _sorted_lines(query: Integers, scores: Array, documents: Words, loose: Integers) -> Integers:
    """The lines with those of some queries, which stand in blocks, sorted: by score, equal ones by document.

    As trec_eval does it, greatest first; a big-endian word orders as its letters do.
    """
    lines = np.arange(len(query))
    block = np.flatnonzero(np.isin(query, loose))
    names = [~documents[block, i].byteswap() for i in reversed(range(documents.shape[1]))]
    lines[block] = block[np.lexsort((*names, -scores[block], query[block]))]
    return lines


def _settled(grades: Array, unjudged: Unjudged) -> Array | None:
    """Grades without NaN but for lines to skip; None where one that is missing is an error."""
    if unjudged == "error" and np.isnan(grades).any():
        return None
    return np.nan_to_num(grades) if unjudged == "zero" else grades


def _table(grades: Array, query: Integers, queries: int, cutoff: int) -> Array:
    """(queries, n) the grades by query, without NaN but after the last, down to the cutoff."""
    judged = ~np.isnan(grades)
    grades, query = grades[judged], query[judged]
    place = _places(np.concatenate([[True], query[1:] != query[:-1]])[: len(query)])
    kept = place < cutoff
    table = np.full((queries, int(place[kept].max(initial=-1)) + 1), np.nan)
    table[query[kept], place[kept]] = grades[kept]
    return table


def _places(new: Booleans) -> Integers:
    """(lines,) how far each line is from the last one that was new."""
    lines = np.arange(len(new))
    return lines - np.maximum.accumulate(np.where(new, lines, 0))
