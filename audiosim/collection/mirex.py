"""Result files of the MIREX task Audio Music Similarity and Retrieval: a sparse list, or all distances.

Sparse list: a line with the system's name; then one line per query, with its file name and the results, nearest first.

    MyAlgorithm (my.email@address.com)
    a009342.wav<TAB>b229311.wav,0.16<TAB>a023821.wav,0.19<TAB>...

Full matrix: a line with the system's name; the files, numbered from 1; a line Q/R with the numbers of the columns; then
one line per query, with its number and its distance to the file of each column.

    Example distance matrix 0.1
    1<TAB>/path/to/a009342.wav
    2<TAB>/path/to/b229311.wav
    Q/R<TAB>1<TAB>2
    1<TAB>0.0<TAB>0.16
    2<TAB>0.16<TAB>0.0

In both, the smallest distance is best; the list keeps its order, the matrix breaks ties by column. A document is named
by its file's name without folder and suffix; a system by the first line without the address in brackets at its end.

www.music-ir.org/mirex/wiki/2013:Audio_Music_Similarity_and_Retrieval, section "Distance matrix output files". The task
removes the query and everything else by its artist from the results before scoring: see `Exclusions`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from audiosim.collection.values import CodedRankings, Run, on_one_table
from audiosim.errors import FormatError, InputError
from audiosim.tables.text import Lines, finite
from audiosim.text import repeated

MirexResult = tuple[int, str, list[str]]


@dataclass(frozen=True, slots=True)
class Exclusions:
    """Valid queries, and documents that cannot be results of a query: the query itself and others by its artist.

    query_documents  document of each query; if there are any, other rows of a file are not queries
    artists          artist of each document, where known
    """

    query_documents: Mapping[str, str] = field(default_factory=dict)
    artists: Mapping[str, str] = field(default_factory=dict)

    def queries(self) -> dict[str, list[str]]:
        """The queries of each document, by document."""
        queries: dict[str, list[str]] = {}
        for query, document in self.query_documents.items():
            queries.setdefault(document, []).append(query)
        return queries


def is_sparse(line: str) -> bool:
    """True if a line is a query of a sparse list: a name and, after tabs, `name,distance`."""
    _, *results = line.rstrip("\t").split("\t")
    return bool(results) and all("," in result for result in results)


def is_numbered(line: str) -> bool:
    """True if a line is a file of a full matrix: a number and a path."""
    return len(fields := _split(line)) == 2 and fields[0].isdecimal()


def read_sparse(path: Path, lines: Lines, exclusions: Exclusions) -> Run:
    """The run of a sparse list."""
    _, header = next(lines)
    wanted = exclusions.queries()
    results = (_sparse_result(path, number, text) for number, text in lines)
    return _run(path, header, (result for result in results if not wanted or result[1] in wanted), exclusions)


def _sparse_result(path: Path, number: int, text: str) -> MirexResult:
    query, *results = text.rstrip("\t").split("\t")
    documents = []
    if not results:
        raise FormatError(path, number, f"expected a query and, after tabs, its results, found {text[:40]!r}")
    for result in results:
        name, comma, distance = result.strip().removesuffix(",").rpartition(",")
        if not comma:
            raise FormatError(path, number, f"expected results as name,distance after tabs, found {result!r}")
        _distance(path, number, distance)
        documents.append(file_identifier(name))
    return number, file_identifier(query), documents


def read_matrix(path: Path, lines: Lines, exclusions: Exclusions) -> Run:
    """The run of a full matrix of distances."""
    _, header = next(lines)
    files, (number, columns) = _read_files(path, lines)
    if sorted(columns) != sorted(files):
        problem = f"expected Q/R and the numbers of the {len(files)} files, found {len(columns)} numbers"
        raise FormatError(path, number, f"{problem}, other ones" if len(columns) == len(files) else problem)
    documents = [files[column] for column in columns]
    return _run(path, header, _matrix_results(path, lines, files, documents, exclusions.queries()), exclusions)


def _read_files(path: Path, lines: Lines) -> tuple[dict[str, str], tuple[int, list[str]]]:
    """The document of each number, and the line Q/R that ends the list: its number and its columns."""
    files: dict[str, str] = {}
    numbers: dict[str, str] = {}
    number = 1
    for number, text in lines:
        fields = _split(text)
        if fields[0] == "Q/R":
            return files, (number, text.split()[1:])
        if len(fields) != 2 or not fields[0].isdecimal():
            raise FormatError(path, number, f"expected the number and the path of a file, or Q/R, found {text[:40]!r}")
        document = file_identifier(fields[1])
        if fields[0] in files:
            raise FormatError(path, number, f"file number {fields[0]} is given twice, expected it once")
        if document in numbers:
            raise FormatError(
                path, number, f"document {document} is file {numbers[document]} already, expected it once"
            )
        files[fields[0]], numbers[document] = document, fields[0]
    raise FormatError(path, number, "the file ends after the list of files, expected a line Q/R and the distances")


def _matrix_results(
    path: Path, lines: Lines, files: dict[str, str], documents: list[str], wanted: Mapping[str, list[str]]
) -> Iterator[MirexResult]:
    for number, text in lines:
        row, *values = text.split()
        if row not in files:
            raise FormatError(path, number, f"expected a row that begins with the number of a file, found {row!r}")
        if len(values) != len(documents):
            raise FormatError(path, number, f"expected {len(documents)} distances, found {len(values)}")
        # Parsing and sorting a row takes milliseconds, and only few of thousands of rows may be queries.
        if not wanted or files[row] in wanted:
            distances = [_distance(path, number, value) for value in values]
            yield number, files[row], [documents[i] for i in sorted(range(len(distances)), key=distances.__getitem__)]


def _run(path: Path, header: str, results: Iterator[MirexResult], exclusions: Exclusions) -> Run:
    rankings: dict[str, tuple[str, ...]] = {}
    lines: dict[str, int] = {}
    queries = exclusions.queries()
    for number, document, retrieved in results:
        if (before := lines.setdefault(document, number)) != number:
            raise FormatError(path, number, f"query {document} is on line {before} already, expected it once")
        if (twice := repeated(retrieved)) is not None:
            problem = f"document {twice} is twice in the ranking of query {document}, expected once"
            raise FormatError(path, number, problem)
        rankings |= dict.fromkeys(queries.get(document, [document]), tuple(retrieved))
    (run,), _ = without_same_artist([Run(_system(header), rankings)], exclusions, "drop")
    # If no document is left, the system retrieves nothing for the query.
    if not (answered := {query: documents for query, documents in run.rankings.items() if documents}):
        raise FormatError(path, 1, "the file holds no result for any query of the collection, expected some")
    return replace(run, rankings=answered)


def _system(header: str) -> str:
    """The name of a system, without the address in brackets at its end; an address alone is the name."""
    name, _, address = header.strip().rpartition("(")
    is_address = address.endswith(")") and "@" in address and ")" not in address[:-1]
    return (is_address and name.strip()) or header.strip()


def _distance(path: Path, number: int, text: str) -> float:
    distance = finite(path, number, "distance", text.strip())
    if distance < 0:
        raise FormatError(path, number, f"expected a distance of 0 or more, found {text.strip()}")
    return distance


def _split(text: str) -> list[str]:
    """The columns between tabs, so that a path may hold spaces; between spaces if there is no tab."""
    return [part.strip() for part in text.split("\t")] if "\t" in text else text.split()


@lru_cache(maxsize=100_000)
def file_identifier(name: str) -> str:
    """The document of a file: its name without folder and suffix."""
    base = re.split(r"[/\\]", name.strip())[-1]
    stem, _, _ = base.rpartition(".")
    return (stem or base).strip()


# Trivial results: the query's own recording, and others by its artist.


SameArtist = Literal["keep", "drop"]


def without_same_artist(
    runs: Sequence[Run], exclusions: Exclusions, choice: SameArtist | None
) -> tuple[tuple[Run, ...], str | None]:
    """The runs to evaluate, and a sentence on such results in them, or None.

    exclusions  document of each query, and the artists; an unlisted query is the document of the same name
    choice      `drop` leaves such results out and moves up those below, as MIREX does; `keep` keeps them; None keeps
                them with a note
    """
    if choice not in (None, *get_args(SameArtist)):
        raise InputError(f"same_artist must be keep or drop, got {choice!r}")
    rankings = on_one_table([run.rankings for run in runs])
    names = rankings[0].names if rankings else ()
    documents = {query: exclusions.query_documents.get(query, query) for one in rankings for query in one.queries}
    if choice == "keep" or (not exclusions.artists and {*documents.values()}.isdisjoint(names)):
        return tuple(runs), None
    codes = {name: code for code, name in enumerate(names)}
    artists = {name: code for code, name in enumerate(dict.fromkeys(exclusions.artists.values()))}
    artist = {document: artists[name] for document, name in exclusions.artists.items()}
    of_name = np.array([artist.get(name, -2) for name in names], dtype=np.int64)
    own, alike, example, kept = 0, 0, "", []
    for run, one in zip(runs, rankings, strict=True):
        asked = [documents[query] for query in one.queries]
        query = np.repeat(np.arange(len(asked)), one.lengths)
        itself = one.documents == np.array([codes.get(name, -1) for name in asked], dtype=np.int64)[query]
        by = of_name[one.documents] == np.array([artist.get(name, -1) for name in asked], dtype=np.int64)[query]
        own, alike, left = own + int(itself.sum()), alike + int((by & ~itself).sum()), ~(itself | by)
        if not example and not left.all():
            row = int(np.argmin(left))
            found = f"document {names[one.documents[row]]} for query {one.queries[query[row]]}"
            example = f"such as {found} in system {run.system}"
        starts = np.concatenate([[0], np.cumsum(np.bincount(query[left], minlength=len(asked)))])
        kept.append(replace(run, rankings=CodedRankings(one.queries, starts, one.documents[left], names)))
    if not example:
        return tuple(runs), None
    found = f"{_results(own)} the query's own recording, {_results(alike)} by its artist, {example}"
    if choice == "drop":
        return tuple(kept), f"{found}: left out"
    return tuple(runs), f"{found}: kept; `same_artist=drop` leaves them out, keep omits this note"


def _results(count: int) -> str:
    return f"{count:,} {'result is' if count == 1 else 'results are'}"
