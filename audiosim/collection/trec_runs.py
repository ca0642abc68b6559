"""Large TREC runs as arrays, a few megabytes at a time, several in parallel; `runs` reads files that are not plain.

Plain means ASCII, six columns with one space or tab between, and ranks that rise within each ranking.
`collection.kinds` reads all other files line by line and reports all errors. Both give the same rankings.
"""

import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from audiosim.collection.values import CodedRankings, Codes
from audiosim.stats.arrays import Array, Integers
from audiosim.tables.columns import Columns, Words, changes, coded_words, names_of, stacked, words_by_appearance
from audiosim.tables.text import most_unpacked, open_bytes

CHUNK = 2**23  # bytes read at a time
PIECE = 2**18  # bytes split at a time: their arrays fit into a core's own cache, which halves the time
WINDOW = 6  # most chunks that wait to be added; limits memory
QUERY, DOCUMENT, RANK, SCORE, SYSTEM = 0, 2, 3, 4, 5
_Systems = list[tuple[int, str, CodedRankings]]  # first line of a system, its tag, and its rankings


@dataclass(frozen=True, eq=False)
class _Chunk:
    """Some lines of a file.

    block      (b,) first line of each stretch with one query and system
    named      (b,) query and system of each stretch
    distinct   (d, w) bytes of the distinct documents; see `Columns.words`
    document   (lines,) their codes
    rank, score  (lines,)
    """

    block: Integers
    named: Sequence[tuple[str, str]]
    distinct: Words
    document: Codes
    rank: Integers
    score: Array


class _Piece(NamedTuple):
    """Some lines of a chunk: the bytes of three columns, see `Columns.words`, and two columns of numbers."""

    query: Words
    system: Words
    document: Words
    rank: Integers
    score: Array


def _chunk(data: bytes) -> _Chunk | None:
    """The lines of a part of a file; None if they are not plain."""
    pieces: list[_Piece] = []
    for some in _in_pieces(data, PIECE):
        piece = _piece(some)
        if piece is None:
            return None
        pieces.append(piece)
    query, system = stacked([one.query for one in pieces]), stacked([one.system for one in pieces])
    block = np.flatnonzero(changes(query) | changes(system))
    named = list(zip(names_of(query[block]), names_of(system[block]), strict=True))
    distinct, codes = coded_words(stacked([one.document for one in pieces]))
    rank, score = np.concatenate([one.rank for one in pieces]), np.concatenate([one.score for one in pieces])
    return _Chunk(block, named, distinct, codes, rank, score)


def _in_pieces(data: bytes, size: int) -> Iterator[bytes]:
    """Whole lines in pieces of about this many bytes; at least one piece."""
    start = 0
    while len(data) - start > size:
        end = data.rfind(b"\n", start, start + size) + 1 or data.find(b"\n", start) + 1 or len(data)
        yield data[start:end]
        start = end
    if start < len(data) or not data:
        yield data[start:]


def _piece(data: bytes) -> _Piece | None:
    """The columns of some lines; None if they are not plain."""
    columns = Columns.split(data, 6) if data.isascii() and b"\0" not in data else None
    if columns is None or not columns.narrow(QUERY, DOCUMENT, SYSTEM):
        return None
    rank, score = columns.whole_numbers(RANK), columns.numbers(SCORE)
    if rank is None or score is None:
        return None
    return _Piece(columns.words(QUERY), columns.words(SYSTEM), columns.words(DOCUMENT), rank, score)


@dataclass(eq=False)
class _Names:
    """Distinct documents of all chunks, one chunk after the other; the same document may be in several.

    Names are compared once for all chunks, as bytes: as text, 50 files of 7,000 documents would need 350,000 look-ups.
    """

    parts: list[Words] = field(default_factory=list)
    count: int = 0

    def add(self, distinct: Words) -> int:
        """Add the documents of a chunk; return the number of earlier ones."""
        self.parts.append(distinct)
        before, self.count = self.count, self.count + len(distinct)
        return before

    def settled(self) -> tuple[tuple[str, ...], Codes]:
        """All documents as text, each once, and (count,) the place of each one that was added among them."""
        if not self.parts:
            return (), np.empty(0, dtype=np.int32)
        return words_by_appearance(stacked(self.parts))


@dataclass(eq=False)
class _File:
    """A file while its chunks arrive.

    names   names shared by all files
    lines   number of lines added so far
    chunks  (block, document, rank, score) of each chunk, the documents by their place in `names`
    """

    names: _Names
    lines: int = 0
    plain: bool = True
    named: list[tuple[str, str]] = field(default_factory=list)
    chunks: list[tuple[Integers, Codes, Integers, Array]] = field(default_factory=list)

    def take(self, chunk: _Chunk | None) -> None:
        self.plain = self.plain and chunk is not None
        if chunk is None or not self.plain:
            self.chunks.clear()
            return
        before = np.int32(self.names.add(chunk.distinct))
        self.named += chunk.named
        self.chunks.append((chunk.block + self.lines, chunk.document + before, chunk.rank, chunk.score))
        self.lines += len(chunk.document)

    def systems(self, names: tuple[str, ...], codes: Codes) -> _Systems | None:
        """The rankings of each system of the file; None if a rule of the form is broken or a note is due.

        names, codes  result of `_Names.settled`
        """
        if not self.plain or not self.chunks:
            return None
        block, found, rank, score = (np.concatenate([chunk[column] for chunk in self.chunks]) for column in range(4))
        self.chunks.clear()
        keys: dict[tuple[str, str], int] = {}
        owner = np.array([keys.setdefault(key, len(keys)) for key in self.named], dtype=np.int64)
        line, document = np.repeat(owner, np.diff(np.append(block, len(found)))), codes[found]
        if np.any(owner[1:] < owner[:-1]):  # a ranking that continues further down
            order = np.argsort(line, kind="stable")
            line, document, rank, score = line[order], document[order], rank[order], score[order]
        same = line[1:] == line[:-1]
        if np.any(same & (rank[1:] <= rank[:-1])):
            return None
        falling = same & (score[1:] < score[:-1])
        distances = np.zeros(len(keys), dtype=np.bool_)  # rankings with a score that rises or stays
        if (loose := same & ~falling).any():
            document = _best_first(line, document, score, np.unique(line[1:][loose]), names)
            distances[line[1:][same & (score[1:] >= score[:-1])]] = True
        similarities = np.zeros(len(keys), dtype=np.bool_)  # rankings with a score that falls
        similarities[line[1:][falling]] = True
        starts = np.searchsorted(line, np.arange(len(keys) + 1))
        first = dict(zip(reversed(owner.tolist()), reversed(block.tolist()), strict=True))
        rankings: _Systems = []
        for system, own in _by_system(keys).items():
            places = list(own.values())
            of = CodedRankings(tuple(own), *_joined(document, starts, places), names)
            if of.repeated is not None or (distances[places].any() and not similarities[places].any()):
                return None
            rankings.append((first[places[0]] + 1, system, of))
        return rankings


def _by_system(keys: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    """The number of each ranking, by system and query, all in order of appearance."""
    found: dict[str, dict[str, int]] = {}
    for (query, system), code in keys.items():
        found.setdefault(system, {})[query] = code
    return found


def _joined(document: Codes, starts: Integers, places: Sequence[int]) -> tuple[Integers, Codes]:
    """(q + 1,) ends of some concatenated rankings, from 0, and their documents."""
    if places[-1] - places[0] == len(places) - 1:
        some = document[starts[places[0]] : starts[places[-1] + 1]]
    else:
        some = np.concatenate([document[starts[place] : starts[place + 1]] for place in places])
    return np.concatenate([[0], np.cumsum(np.diff(starts)[places])]), some


def _best_first(line: Integers, document: Codes, score: Array, loose: Integers, names: Sequence[str]) -> Codes:
    """The documents of each ranking by score, equal ones by name, highest first, as trec_eval does it.

    line   (lines,) number of the ranking, rising
    loose  numbers of the rankings with scores that do not always fall
    """
    block = np.flatnonzero(np.isin(line, loose))
    some, place = np.unique(document[block], return_inverse=True)
    by_name = np.argsort(np.argsort(np.array([names[code] for code in some.tolist()])))
    order = np.lexsort((-by_name[place], -score[block], line[block]))
    sorted_ = document.copy()
    sorted_[block] = document[block[order]]
    return sorted_


def read_plain(paths: Sequence[Path], chunk: int = CHUNK) -> dict[Path, _Systems]:
    """The systems of the files that are plain TREC runs.

    chunk  bytes read at a time
    """
    every = _Names()
    files = {path: _File(every) for path in paths}
    waiting: deque[tuple[Path, Future[_Chunk | None]]] = deque()
    with ThreadPoolExecutor() as pool:
        for path in files:
            for data in _parts(path, chunk):
                if not files[path].plain:
                    break
                waiting.append((path, pool.submit(_chunk, data)))
                if len(waiting) > WINDOW:
                    _take(files, waiting)
        while waiting:
            _take(files, waiting)
        names, codes = every.settled()
        found = dict(zip(files, pool.map(lambda file: file.systems(names, codes), files.values()), strict=True))
    return {path: systems for path, systems in found.items() if systems is not None}


def _take(files: dict[Path, _File], waiting: "deque[tuple[Path, Future[_Chunk | None]]]") -> None:
    path, future = waiting.popleft()
    files[path].take(future.result())


def _parts(path: Path, chunk: int) -> Iterator[bytes]:
    """The bytes of a file in parts of whole lines; an empty part, which is not plain, if the file cannot be read."""
    try:
        yield from _whole_lines(path, chunk)
    except (OSError, EOFError, zlib.error):
        yield b""


def _whole_lines(path: Path, chunk: int) -> Iterable[bytes]:
    taken, rest, most = 0, b"", most_unpacked(path)
    with open_bytes(path) as stream:
        while data := stream.read(chunk):
            taken += len(data)
            if taken > most:
                yield b""
            end = data.rfind(b"\n") + 1
            if end:
                yield rest + data[:end] if rest or end < len(data) else data
                rest = data[end:]
            else:
                rest += data
        if rest:
            yield rest
