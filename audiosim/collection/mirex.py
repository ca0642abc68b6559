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
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from audiosim.collection.values import Exclusions, Run, without_same_artist
from audiosim.errors import FormatError
from audiosim.tables.table import finite
from audiosim.tables.text import Lines
from audiosim.text import repeated

MirexResult = tuple[int, str, list[str]]


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
