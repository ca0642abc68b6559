"""The user's own evidence: vectors by document, and numbers by document, by query and document, or by system.

It is in the folder `evidence/` of a collection, one piece per file, or several as columns of a table:

    clap.npy, clap.ids       (k, d) vectors, and their documents one per line
    mert.npz                 arrays `document` (k,) and `vector` (k, d), or `value` (k,)
    tags.csv, tags.tsv       header; `document`, and columns x0, x1, ... of one vector, or number columns
    clicks.csv               header; `query`, `document`, and columns of numbers; or `system`, and columns of numbers
    lyrics.parquet           the same columns, or `document` and a column `vector` of lists

Text may be compressed, `.csv.gz`. `[evidence]` in collection.toml names further files, as in
`clap = "../embeddings/clap.npy"`, or renames these. Otherwise a piece has its file's name; if a table has several
columns of numbers, file and column together name it, as in `clicks-count`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from audiosim.collection.values import Pair
from audiosim.errors import InputError, placed
from audiosim.stats.arrays import Array
from audiosim.tables.arrays import PARQUET, npz_bytes, read_npy, read_npz
from audiosim.tables.reading import portions, read
from audiosim.tables.schema import Schema
from audiosim.tables.text import check_regular, read_lines

EvidenceOf = Literal["document", "pair", "system"]
MachineKind = Literal["machine"]
EVIDENCE = "evidence"
VECTORS = "vectors"  # name of a folder inside an index
RESERVED = ("output", "genre", "artist", "sound", "judgments")
PIECE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
LONGEST_NUMBER = 9  # digits of the number of a vector's column
KEYS: Mapping[tuple[str, ...], EvidenceOf] = {
    ("query", "document"): "pair",
    ("document",): "document",
    ("system",): "system",
}

Key = str | tuple[str, str]
TABLE = Schema(
    "evidence",
    "a header with document, query and document, or system",
    {name: (name,) for names in KEYS for name in names},
    (),
    open=True,
    kept=True,
)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Knowledge about documents, about pairs of query and document, or about systems; it need not cover all of them.

    name    letters, digits, - and _, beginning with a letter
    about   kind of the keys: documents, pairs of query and document, or systems
    keys    k distinct keys
    values  (k,) numbers, or (k, d) vectors of documents, compared by their angle; all finite
    source  file it was read from, or None
    of_sound  True for vectors that describe how documents sound, as Gaussians do; they are expected to matter
    """

    what: ClassVar = "evidence"

    name: str
    about: EvidenceOf
    keys: tuple[Key, ...]
    values: Array
    source: Path | None = field(default=None, repr=False)
    of_sound: bool = False

    def __post_init__(self) -> None:
        if not PIECE_NAME.fullmatch(self.name) or self.name in RESERVED:
            expected = f"begins with a letter and is none of {', '.join(RESERVED)}"
            raise InputError(
                f"{self.what} {self.name!r:.80}: expected a name of letters, digits, - and _ that {expected}"
            )
        if self.about not in get_args(EvidenceOf):
            raise InputError(f"{self} must be about {', '.join(get_args(EvidenceOf))}, got {self.about!r}")
        values = np.asarray(self.values)
        if values.dtype.kind not in "biuf":
            raise InputError(f"{self}: expected numbers, found an array of {values.dtype}")
        values = values.astype(np.float64)
        values.flags.writeable = False
        object.__setattr__(self, "values", values)
        fits = values.ndim == 1 or (values.ndim == 2 and self.about == "document" and values.shape[1] > 0)
        if not fits or len(values) != len(self.keys):
            vector = ", or a vector for each document" if self.about == "document" else ""
            count = f"a number for each of {len(self.keys)} {self.about}s{vector}"
            raise InputError(f"{self}: expected {count}, got an array of {values.shape}")
        if not self.keys:
            raise InputError(f"{self}: it covers no {self.about}, expected at least one")
        if self.of_sound and values.ndim != 2:
            raise InputError(f"{self}: expected vectors, as it describes how documents sound")
        if (wrong := wrong_row(self.keys, values)) is not None:
            row, problem = wrong
            raise InputError(f"{self}: row {row}, {spelled(self.keys[row])}, {problem}")

    def __str__(self) -> str:
        return f"{self.what} {self.name}"

    @property
    def is_vector(self) -> bool:
        """True if the values are vectors."""
        return self.values.ndim == 2

    @classmethod
    def of(
        cls,
        name: str,
        values: Mapping[Any, object] | tuple[Sequence[Key], object],
        about: EvidenceOf | None = None,
        **more: Any,
    ) -> Self:
        """A piece from a mapping of documents, systems or pairs to numbers or vectors, or from keys and an array.

        about  kind of the keys; by default pairs are (query, document) and other keys are documents
        more   further fields, such as the settings of a judge
        """
        keys, rows = (
            (tuple(values), list(values.values())) if isinstance(values, Mapping) else (tuple(values[0]), values[1])
        )
        if about is None:
            about = "pair" if keys and not isinstance(keys[0], str) else "document"
        if about == "pair":  # plain tuples compare equal to Pairs
            keys = tuple((key[0], key[1]) for key in keys)
        try:
            return cls(name, about, tuple(map(_trimmed, keys)), np.array(rows, dtype=np.float64), **more)
        except (ValueError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{cls.what} {name}: expected numbers, or vectors of one length: {error}") from None


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Settings of one judge in collection.toml.

    kind        always "machine"
    maker       who made it, any text; empty: unspecified
    version     its version; empty: unspecified
    prompt      its prompt, or where that is described; empty: unspecified
    may_favour  team or system that it may favour; empty: its maker, if that is one of them
    file        its table, relative to the collection's folder; empty: `judges/NAME.tsv`
    """

    kind: MachineKind = "machine"
    maker: str = ""
    version: str = ""
    prompt: str = ""
    may_favour: str = ""
    file: str = ""

    @property
    def given(self) -> bool:
        """True if anything is said of the machine itself."""
        return any((self.maker, self.version, self.prompt, self.may_favour))


@dataclass(frozen=True, eq=False)
class MachineJudge(Evidence):
    """A machine that judges: grades of pairs on its own scale, higher for more relevant.

    settings  who made it, and whom it may favour
    """

    what: ClassVar = "judge"

    settings: JudgeSettings = JudgeSettings()

    def grades(self) -> dict[Pair, float]:
        """The grade of each pair."""
        return dict(zip((Pair(*key) for key in self.keys), self.values.tolist(), strict=True))


def wrong_row(keys: Sequence[Key], values: Array) -> tuple[int, str] | None:
    """The first faulty row and its fault: values not finite, a vector of length 0, a key empty or repeated; or None."""
    rows = values.reshape(len(keys), -1)
    infinite = np.asarray(~np.isfinite(rows).all(axis=1))
    empty = np.asarray((values == 0).all(axis=1)) if values.ndim == 2 else np.zeros(len(keys), dtype=np.bool_)
    first: dict[Key, int] = {}
    twice = np.array([first.setdefault(key, row) != row for row, key in enumerate(keys)], dtype=np.bool_)
    nameless = np.array([not all(key) or "\0" in "".join(key) for key in keys], dtype=np.bool_)
    wrong = infinite | empty | twice | nameless
    if not wrong.any():
        return None
    row = int(np.argmax(wrong))
    if infinite[row]:
        return row, "has a number that is not finite"
    if nameless[row]:
        return row, "has an empty name, or one with a byte 0"
    return row, "is a vector of length 0" if empty[row] else "occurs twice, expected it once"


def spelled(key: Key) -> str:
    """A key as text for messages."""
    return key if isinstance(key, str) else f"query {key[0]}, document {key[1]}"


def read_vectors(index: Path) -> tuple[Evidence, ...]:
    """The vectors stored with the Gaussians of an index, by name; empty if there are none."""
    files = sorted((index / VECTORS).glob("*.npz")) if (index / VECTORS).is_dir() else []
    return tuple(piece for path in files for piece in read_pieces(path))


def read_evidence(
    folder: Path, named: Mapping[str, str] | None = None, index: Path | None = None
) -> tuple[Evidence, ...]:
    """All evidence of a collection: first the pieces in collection.toml, then other files of its folder `evidence/`.

    named   a file for each name, relative to the collection's folder
    index   index of its sounds; its vectors are evidence too, unless their names are taken
    """
    place, files = folder / EVIDENCE, {name: folder / path for name, path in (named or {}).items()}
    taken = {path.resolve() for path in files.values()}
    others = sorted(place.iterdir()) if place.is_dir() else []
    found: list[tuple[Path, Evidence]] = []
    for name, path in files.items():
        check_regular(path, f"the evidence {name} named in collection.toml")
        stem = without_gz(path).stem
        found += [(path, replace(one, name=name + one.name.removeprefix(stem))) for one in read_pieces(path)]
    for path in others:
        if path.suffix == ".ids" and not path.with_suffix(".npy").exists():
            raise InputError(f"{path}: expected the vectors of these documents in {path.stem}.npy beside it")
        if not path.name.startswith(".") and path.suffix != ".ids" and path.resolve() not in taken:
            check_regular(path)
            found += [(path, piece) for piece in read_pieces(path)]
    first: dict[str, Path] = {}
    for path, piece in found:
        if (other := first.setdefault(piece.name, path)) is not path:
            raise InputError(f"{path}: evidence {piece.name} is in {other} already, expected a unique name")
    beside = () if index is None else read_vectors(index)
    return (*(piece for _, piece in found), *(piece for piece in beside if piece.name not in first))


def read_pieces(path: Path) -> Iterator[Evidence]:
    """The pieces of evidence in a file, named after it."""
    kind = without_gz(path).suffix
    if kind not in READERS or (path.suffix == ".gz" and kind not in TEXT):
        raise InputError(f"{path}: expected a file of evidence ({', '.join(READERS)})")
    return READERS[kind](path)


def without_gz(path: Path) -> Path:
    """The path without the ending of compression."""
    return path.with_suffix("") if path.suffix == ".gz" else path


def packed(piece: Evidence, **more: NDArray[Any]) -> bytes:
    """A piece as an npz file, with further arrays."""
    columns = next(keys for keys, about in KEYS.items() if about == piece.about)
    parts = np.array([key if isinstance(key, tuple) else (key,) for key in piece.keys], dtype=np.str_)
    named = dict(zip(columns, parts.reshape(-1, len(columns)).T, strict=True))
    values = {"vector" if piece.is_vector else "value": piece.values, "of_sound": np.array(piece.of_sound)}
    return npz_bytes({**named, **values, **more})


def _made(
    path: Path, name: str, columns: tuple[str, ...], cells: Sequence[Sequence[str]], values: Array, **more: Any
) -> Evidence:
    """A piece of evidence about keys in some columns; errors name its file."""
    with placed(path):
        return Evidence(name, KEYS[columns], _keys(cells), values, path, **more)


def _read_npy(path: Path) -> Iterator[Evidence]:
    ids = path.with_suffix(".ids")
    if not ids.is_file():
        raise InputError(f"{path}: expected its documents, one per line, in {ids.name} beside it")
    keys = [text for _, text in read_lines(ids, "a document per line")]
    yield _made(path, path.stem, ("document",), [keys], read_npy(path))


def _read_npz(path: Path) -> Iterator[Evidence]:
    arrays, all_names = read_npz(path, {"vector", "value", "of_sound", *(name for names in KEYS for name in names)})
    column = next((name for name in ("vector", "value") if name in arrays), None)
    named = next((names for names in KEYS if set(names) <= set(arrays)), None)
    if column is None or named is None:
        found = ", ".join(all_names) or "none"
        raise InputError(f"{path}: expected arrays `document` and `vector` or `value`, found {found}")
    for name in named:
        if arrays[name].ndim != 1 or len(arrays[name]) != len(arrays[named[0]]):
            raise InputError(f"{path}: expected a row of identifiers in `{name}`, found an array {arrays[name].shape}")
    cells, of_sound = [arrays[name].astype(str).tolist() for name in named], np.any(arrays.get("of_sound", False))
    yield _made(path, path.stem, named, cells, arrays[column], of_sound=bool(of_sound))


def _keys(cells: Sequence[Sequence[str]]) -> tuple[Key, ...]:
    return tuple(map(_trimmed, cells[0] if len(cells) == 1 else zip(*cells, strict=True)))


def _trimmed(key: Key) -> Key:
    """A key without white space around its names, as in every file of a collection."""
    return key.strip() if isinstance(key, str) else (key[0].strip(), key[1].strip())


def _read_table(path: Path) -> Iterator[Evidence]:
    """The pieces of a table; an empty field is unknown. In Parquet, a column `vector` may hold lists."""
    table = read(path, TABLE)
    named = next((names for names in KEYS if set(names) <= set(table.columns)), None)
    if named is None:
        expected = "expected a column document, query and document, or system"
        raise table.error(None, f"{expected}, found {', '.join(table.columns)}")
    rest = [name for name in table.columns if name not in named]
    if not rest:
        raise table.error(None, f"expected columns of numbers beside {', '.join(named)}, found none")
    if path.suffix.lower() in PARQUET and (*named, *rest) == ("document", "vector"):
        yield _made(path, path.stem, named, [table.names("document").cells()], _stacked(path, table.cells("vector")))
        return
    values, stem = np.array([table.numbers(name) for name in rest]).T, without_gz(path).stem
    parts = {stem if len(rest) == 1 else f"{stem}-{name}": values[:, place] for place, name in enumerate(rest)}
    for name, part in ({stem: values} if named == ("document",) and _numbered(rest) else parts).items():
        known = ~np.isnan(part.reshape(len(table), -1)).all(axis=1)
        some, part = table.chosen(known), part[known]
        cells = [some.names(column).cells() for column in named]
        if some.lines and (wrong := wrong_row(keys := _keys(cells), part)) is not None:
            raise some.error(wrong[0], f"{spelled(keys[wrong[0]])} {wrong[1]}")
        yield _made(path, name, named, cells, part)


def _numbered(names: Sequence[str]) -> bool:
    """True if the columns form one vector: x0, x1, ... in order."""
    prefixes = [name.rstrip("0123456789") for name in names]
    digits = [name[len(prefix) :] for name, prefix in zip(names, prefixes, strict=True)]
    if len(names) < 2 or len(set(prefixes)) > 1 or not all(0 < len(one) <= LONGEST_NUMBER for one in digits):
        return False
    return bool(np.all(np.diff(list(map(int, digits))) == 1))


def _stacked(path: Path, rows: Sequence[object]) -> Array:
    """(k, d) vectors in a column of lists; an error if one is not a list or differs in length."""
    found: list[Array] = []
    for number, row in enumerate(rows):
        try:
            found.append(np.asarray(row, dtype=np.float64))
        except (ValueError, TypeError):
            raise InputError(f"{path}: row {number} has no list of numbers in vector") from None
        if found[-1].ndim != 1 or len(found[-1]) != len(found[0]):
            count = "no list of" if found[-1].ndim != 1 else len(found[-1])
            raise InputError(f"{path}: row {number} has {count} numbers, expected {len(found[0])} as in the first")
    return np.stack(found) if found else np.empty((0, 1))


TEXT = (".csv", ".tsv")
READERS: Mapping[str, Callable[[Path], Iterator[Evidence]]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".csv": _read_table,
    ".tsv": _read_table,
    **dict.fromkeys(PARQUET, _read_table),
}


# Files of features: one row for each document to predict, read in portions, so that a file may exceed memory.
#
# rows.csv, rows.tsv    header; a column for each feature, and `query` and `document` if wanted; empty: unknown
# rows.parquet          the same columns
#
# Other columns are not read. Text may be compressed, `.csv.gz`.


WORDS = ("query", "document")
FEATURES = Schema("rows", "a header with features such as fSYS", {name: (name,) for name in WORDS}, (), open=True)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureRows:
    """Some rows of a file of features, one after the other.

    first    number of the first row, from 0
    words    text by column, query and document if the file has them; None where empty
    numbers  (m,) numbers by feature, NaN where unknown
    """

    first: int
    words: dict[str, list[str | None]]
    numbers: dict[str, Array]
    count: int


def read_feature_rows(path: Path, features: Sequence[str], size: int) -> Iterator[FeatureRows]:
    """The rows of a file in portions; at least one portion, which may be empty.

    features  features to read; the file may lack some
    size      rows of a portion
    """
    first = 0
    for table in portions(path, FEATURES, size, (*WORDS, *features)):
        words = {name: [cell or None for cell in table.texts(name)] for name in WORDS if name in table.columns}
        numbers = {name: table.numbers(name) for name in features if name in table.columns}
        yield FeatureRows(first, words, numbers, len(table))
        first += len(table)
