"""Evidence of the user's own: vectors by document, and numbers by document, by query and document, or by system.

It lies in the folder `evidence/` of a collection, one file a piece or several columns of a table:

    clap.npy, clap.ids       (k, d) vectors, and their documents one per line
    mert.npz                 arrays `document` (k,) and `vector` (k, d), or `value` (k,)
    tags.csv, tags.tsv       header; `document`, and columns x0, x1, ... of one vector, or columns of numbers
    clicks.csv               header; `query`, `document`, and columns of numbers; or `system`, and columns of numbers
    lyrics.parquet           the same columns, or `document` and a column `vector` of lists

`[evidence]` in collection.toml names further files, `clap = "../embeddings/clap.npy"`, or these by other names. Else a
piece is called after its file, or where a table has several columns of numbers after file and column, `clicks-count`.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.lines import finite, read_lines
from audiosim.corpus.metadata_tables import check_identifier
from audiosim.errors import FormatError, InputError

About = Literal["document", "pair", "system"]
FOLDER = "evidence"
RESERVED = ("output", "genre", "artist", "sound", "judgments")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
NUMBERED = re.compile(r"(.*?)(\d+)")
KEYS: Mapping[tuple[str, ...], About] = {
    ("query", "document"): "pair",
    ("document",): "document",
    ("system",): "system",
}

Key = str | tuple[str, str]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Something that is known of documents, of pairs of query and document, or of systems; of some of them at least.

    name    letters, digits, - and _, beginning with a letter
    about   what the keys are: documents, pairs of query and document, or systems
    keys    k different ones
    values  (k,) numbers, or (k, d) vectors of documents, which are compared by their angle; all finite
    """

    name: str
    about: About
    keys: tuple[Key, ...]
    values: Array

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name) or self.name in RESERVED:
            raise InputError(
                f"evidence {self.name!r}: expected a name of letters, digits, - and _ that begins with a letter and is "
                f"none of {', '.join(RESERVED)}"
            )
        if self.about not in get_args(About):
            raise InputError(f"evidence {self.name} must be about {', '.join(get_args(About))}, got {self.about!r}")
        values = np.asarray(self.values, dtype=np.float64)
        object.__setattr__(self, "values", values)
        if (
            values.ndim not in {1, 2}
            or len(values) != len(self.keys)
            or (values.ndim == 2 and self.about != "document")
        ):
            raise InputError(
                f"evidence {self.name}: expected a number for each of {len(self.keys)} {self.about}s, or a vector for "
                f"each document, got an array of {values.shape}"
            )
        self._check_rows()

    def _check_rows(self) -> None:
        finite_rows = np.isfinite(self.values.reshape(len(self.keys), -1)).all(axis=1)
        if not finite_rows.all():
            row = int(np.argmin(finite_rows))
            raise InputError(
                f"evidence {self.name}: row {row}, {spelled(self.keys[row])}, has a number that is not finite"
            )
        if self.is_vector and len(self.keys) and not np.all(lengths := np.linalg.norm(self.values, axis=1)):
            row = int(np.argmin(lengths))
            raise InputError(f"evidence {self.name}: row {row}, {spelled(self.keys[row])}, is a vector of length 0")
        if len(set(self.keys)) < len(self.keys):
            twice = next(key for place, key in enumerate(self.keys) if key in self.keys[:place])
            raise InputError(f"evidence {self.name}: {spelled(twice)} is there twice, expected it once")

    @property
    def is_vector(self) -> bool:
        """True if the values are vectors."""
        return self.values.ndim == 2

    @classmethod
    def of(cls, name: str, values: Mapping[Key, object] | tuple[Sequence[Key], object]) -> "Evidence":
        """A piece from a mapping of documents, systems or pairs to numbers or vectors, or from keys and an array.

        Keys that are pairs are (query, document); other keys are documents. For systems, use the constructor.
        """
        keys, rows = (
            (tuple(values), list(values.values())) if isinstance(values, Mapping) else (tuple(values[0]), values[1])
        )
        about: About = "pair" if keys and not isinstance(keys[0], str) else "document"
        keys = (
            keys if about == "document" else tuple((key[0], key[1]) for key in keys)
        )  # a Pair is a tuple of the same parts
        try:
            return cls(name, about, keys, np.array(rows, dtype=np.float64))
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"evidence {name}: expected numbers, or vectors of one length: {error}") from None


def spelled(key: Key) -> str:
    """A key in words."""
    return key if isinstance(key, str) else f"query {key[0]}, document {key[1]}"


def read_evidence(folder: Path, named: Mapping[str, str] | None = None) -> tuple[Evidence, ...]:
    """All evidence of a collection: what it names, then the files of its folder `evidence/` that it does not.

    named  a file for each name, relative to the collection's folder
    """
    place, files = folder / FOLDER, {name: folder / path for name, path in (named or {}).items()}
    taken = {path.resolve() for path in files.values()}
    others = sorted(place.iterdir()) if place.is_dir() else []
    found: list[tuple[Path, Evidence]] = []
    for name, path in files.items():
        if not path.is_file():
            raise InputError(f"{path}: no such file, expected evidence {name} as collection.toml says")
        found += [(path, _renamed(piece, path.stem, name)) for piece in _read_file(path)]
    for path in others:
        if not path.name.startswith(".") and path.suffix != ".ids" and path.resolve() not in taken:
            found += [(path, piece) for piece in _read_file(path)]
    first: dict[str, Path] = {}
    for path, piece in found:
        if (other := first.setdefault(piece.name, path)) is not path:
            raise InputError(f"{path}: evidence {piece.name} is in {other} already, expected one of a name")
    return tuple(piece for _, piece in found)


def _read_file(path: Path) -> Iterator[Evidence]:
    if path.suffix not in READERS:
        raise InputError(f"{path}: expected a file of evidence ({', '.join(READERS)})")
    return READERS[path.suffix](path)


def _renamed(piece: Evidence, stem: str, name: str) -> Evidence:
    """A piece called after the name of its file's contents, not after the file."""
    return replace(piece, name=name + piece.name.removeprefix(stem))


def packed(piece: Evidence) -> bytes:
    """The npz file of a piece."""
    columns = next(keys for keys, about in KEYS.items() if about == piece.about)
    parts = np.array([key if isinstance(key, tuple) else (key,) for key in piece.keys], dtype=np.str_)
    file = BytesIO()
    named = dict(zip(columns, parts.reshape(-1, len(columns)).T, strict=True))
    np.savez(file, allow_pickle=False, **named, **{"vector" if piece.is_vector else "value": piece.values})
    return file.getvalue()


def _made(path: Path, name: str, about: About, keys: Sequence[Key], values: object) -> Evidence:
    """A piece whose complaints begin with its file."""
    try:
        return Evidence(name, about, tuple(keys), np.asarray(values, dtype=np.float64))
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


def _read_npy(path: Path) -> Iterator[Evidence]:
    ids = path.with_suffix(".ids")
    if not ids.is_file():
        raise InputError(f"{path}: expected its documents, one per line, in {ids.name} beside it")
    keys = [text.strip() for _, text in read_lines(ids, "a document per line")]
    yield _made(path, path.stem, "document", keys, _loaded(path))


def _read_npz(path: Path) -> Iterator[Evidence]:
    arrays = _loaded(path)
    names = sorted(arrays)
    column = next((name for name in ("vector", "value") if name in arrays), None)
    about = next((about for keys, about in KEYS.items() if set(keys) <= set(names)), None)
    if column is None or about is None:
        raise InputError(
            f"{path}: expected arrays `document` and `vector` or `value`, found {', '.join(names) or 'none'}"
        )
    columns = [arrays[name].astype(str).tolist() for name in next(keys for keys, kind in KEYS.items() if kind == about)]
    keys = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    yield _made(path, path.stem, about, keys, arrays[column])


def _loaded(path: Path) -> "Mapping[str, Array]":
    try:
        found = np.load(path, allow_pickle=False)
        return dict(found) if path.suffix == ".npz" else found
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"{path}: cannot be read as {path.suffix[1:]}: {error}") from None


def _read_table(path: Path) -> Iterator[Evidence]:
    """The pieces of a CSV or TSV file; an empty field is unknown."""
    lines = list(read_lines(path, "a header with document, query and document, or system"))
    rows = list(csv.reader((text for _, text in lines), delimiter="," if path.suffix == ".csv" else "\t"))
    header, numbers = [name.strip() for name in rows[0]], [number for number, _ in lines]
    keys, about = _keys_of(path, header)
    for number, row in zip(numbers[1:], rows[1:], strict=True):
        if len(row) != len(header):
            raise FormatError(path, number, f"expected {len(header)} columns as in the header, found {len(row)}")
    named = [tuple(row[header.index(key)].strip() for key in keys) for row in rows[1:]]
    for number, one in zip(numbers[1:], named, strict=True):
        for kind, identifier in zip(keys, one, strict=True):
            check_identifier(path, number, kind, identifier)
    table = {
        name: [
            np.nan if not row[column].strip() else finite(path, number, name, row[column])
            for number, row in zip(numbers[1:], rows[1:], strict=True)
        ]
        for column, name in enumerate(header)
        if name not in keys
    }
    yield from _pieces(path, about, [one[0] if len(one) == 1 else (one[0], one[1]) for one in named], table)


def _keys_of(path: Path, header: Sequence[str]) -> tuple[tuple[str, ...], About]:
    if twice := [name for place, name in enumerate(header) if name in header[:place]]:
        raise FormatError(path, 1, f"the header names column {twice[0]} twice, expected it once")
    for keys, about in KEYS.items():
        if set(keys) <= set(header):
            if len(header) > len(keys):
                return keys, about
            raise FormatError(path, 1, f"expected columns of numbers beside {', '.join(keys)}, found none")
    raise FormatError(path, 1, f"expected a column document, query and document, or system, found {', '.join(header)}")


def _pieces(path: Path, about: About, keys: Sequence[Key], table: Mapping[str, Sequence[float]]) -> Iterator[Evidence]:
    """One vector where the columns are numbered, else a piece for each column."""
    values = np.array(list(table.values()), dtype=np.float64).T
    if about == "document" and _numbered(list(table)):
        known = np.flatnonzero(~np.isnan(values).all(axis=1))
        yield _made(path, path.stem, about, [keys[row] for row in known.tolist()], values[known])
        return
    for place, name in enumerate(table):
        known = np.flatnonzero(~np.isnan(values[:, place]))
        kept = [keys[row] for row in known.tolist()]
        yield _made(path, path.stem if len(table) == 1 else f"{path.stem}-{name}", about, kept, values[known, place])


def _numbered(names: Sequence[str]) -> bool:
    """True if the columns are those of one vector: x0, x1, ... in order."""
    parts = [NUMBERED.fullmatch(name) for name in names]
    prefixes = {part[1] for part in parts if part}
    counts = [int(part[2]) for part in parts if part]
    return len(names) > 1 and len(counts) == len(names) and len(prefixes) == 1 and bool(np.all(np.diff(counts) == 1))


def _read_parquet(path: Path) -> Iterator[Evidence]:
    import pandas as pd

    try:
        frame = pd.read_parquet(path)
    except ImportError:
        raise InputError(f"{path}: reading Parquet needs pyarrow: pip install pyarrow") from None
    except (ValueError, OSError) as error:
        raise InputError(f"{path}: cannot be read as Parquet: {error}") from None
    keys, about = _keys_of(path, list(map(str, frame.columns)))
    named = [one[0] if len(one) == 1 else one for one in zip(*(frame[key].astype(str) for key in keys), strict=True)]
    rest = [name for name in frame.columns if name not in keys]
    if about == "document" and rest == ["vector"]:
        lengths = np.array([len(one) for one in frame["vector"]])
        if len(set(lengths)) > 1:
            row = int((lengths != lengths[0]).argmax())
            raise InputError(f"{path}: row {row} has {lengths[row]} numbers, expected {lengths[0]} as in the first")
        yield _made(path, path.stem, about, named, np.stack([np.asarray(one) for one in frame["vector"]]))
        return
    try:
        table = {str(name): frame[name].astype(float).tolist() for name in rest}
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: expected columns of numbers: {error}") from None
    yield from _pieces(path, about, named, table)


READERS: Mapping[str, Callable[[Path], Iterator[Evidence]]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".csv": _read_table,
    ".tsv": _read_table,
    ".parquet": _read_parquet,
}
