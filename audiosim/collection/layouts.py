"""The files of a collection, located in its folder; sister modules read and write each form.

A bad line raises a FormatError, `path:line: problem, what was expected`; a bad folder or file raises an InputError that
starts with its path.
"""

from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from pathlib import Path

from audiosim.collection.arrivals import ARRIVALS
from audiosim.collection.evidence import EVIDENCE
from audiosim.collection.kinds import JUDGES, LOOKED_AT, SCHEMAS, kind_of
from audiosim.collection.task import TASK_FILE
from audiosim.errors import FormatError, InputError, on_disk
from audiosim.tables.text import check_regular, every_line
from audiosim.text import nearest_name

A_COLLECTION = "expected a collection: a folder with runs.trec in it, or the one that `audiosim demo demo` makes"
A_TABLE = "in Python, a table is read by pandas and given to `Collection.from_frames(runs)`"
FRAMES = ("csv", "parquet", "pq", "tsv")
MOST_NAMED = 3  # most files named in a note
MOST_FILES = 5_000
ASKED = "; `judgments=FILE` names the judgments"
JUDGMENTS = (
    "judgments.qrels", "judgments.tsv", "judgments.csv", "judgments.jsonl", "judgments.json", "judgments.xml",
    "groups.tsv", "groups.qrels",
)  # fmt: skip
COMPARISONS = "comparisons.tsv"
SOUNDS = "sounds.index"
TABLES = ("documents.tsv", "queries.tsv", "systems.tsv", COMPARISONS)
PARTS = (*TABLES, "runs.trec", "runs", *JUDGMENTS, "collection.toml", TASK_FILE, ARRIVALS)
READ = (
    "", "csv", "json", "jsonl", "parquet", "parq", "pq", "qrel", "qrels", "run", "tab", "trec", "tsv", "txt", "xml",
)  # fmt: skip
SPREADSHEETS = ("ods", "xls", "xlsx")
DATABASES = (".db", ".db-wal", ".db-shm", ".db-journal", ".sqlite")  # of campaigns
KINDS = (*READ, *SPREADSHEETS, "toml", "yaml", "yml")
SAME = {"qrels": "judgments", "groups": "judgments", "run": "runs"}
RUN_KINDS = ("runs", "scores")
STEMS = {part.partition(".")[0]: part for part in reversed(PARTS)} | {"qrels": JUDGMENTS[0], "run": "runs.trec"}


def open_folder(folder: str | Path) -> Path:
    """The folder of a collection, checked to exist."""
    if not isinstance(folder, str | PathLike):
        raise InputError(f"expected the folder of a collection, got {folder!r}")
    folder = Path(folder)
    if not folder.is_dir():
        problem = "is not a folder" if folder.exists() else "no such folder"
        kind = folder.suffix.lower().lstrip(".")
        table = f"; {A_TABLE}" if kind in FRAMES else "; save a spreadsheet's tables as CSV" * (kind in SPREADSHEETS)
        raise InputError(f"{folder}: {problem}, {A_COLLECTION}{table}")
    return folder


def is_file(path: Path) -> bool:
    """True if there is a file; False for an impossible path, such as one that is too long."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def find_file(folder: Path, *names: str) -> Path | None:
    """The one file in a folder with one of these names, with or without `.gz`; None if there is none.

    A device, a pipe or a broken link under such a name is an InputError; otherwise it would silently count as absent.
    """
    paths = [folder / f"{name}{suffix}" for name in names for suffix in ("", ".gz")]
    found = [path for path in paths if path.is_symlink() or path.exists()]
    for path in found:
        if not path.is_file():
            check_regular(path)
    if len(found) > 1:
        raise InputError(f"{found[0]}: {found[1].name} exists too, expected only one of them")
    return found[0] if found else None


def find_table(folder: Path, names: Sequence[str], *others: str) -> Path | None:
    """The file with one of our names, or else the one with another kind of ending, or with names of other tools.

    others  further beginnings of names, such as qrels for qrels.test.txt; also the name of a folder that holds it
    """
    if (own := find_file(folder, *names)) is not None:
        return own
    stems = [name.partition(".")[0] for name in (*names, *others)]
    inside = [path for stem in others if (folder / stem).is_dir() for path in _visible(folder / stem)]
    named = [path for path in _visible(folder) if path.name.partition(".")[0] in stems]
    found = [path for path in (*named, *inside) if _ending(path) in READ]
    return _only_one(folder, found, names[0].partition(".")[0])


def _only_one(folder: Path, found: Sequence[Path], what: str) -> Path | None:
    if len(found) > 1:
        listed = ", ".join(str(path.relative_to(folder)) for path in found)
        raise InputError(f"{folder}: {listed} all look like {what}, expected one of them{ASKED}")
    return found[0] if found else None


def _visible(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    except PermissionError:  # an unreadable folder beside the runs is ignored
        return []


def _ending(path: Path) -> str:
    return path.name.removesuffix(".gz").rpartition(".")[2].lower() if "." in path.name.removesuffix(".gz") else ""


def find_runs(folder: Path) -> list[Path]:
    """The run files of a collection: those with our names, or any files with runs."""
    return _own_runs(folder) or _by_contents(folder)[0]


def _own_runs(folder: Path) -> list[Path]:
    """The file runs.trec, or all visible files in the folder runs; none if there is neither."""
    file = find_table(folder, ("runs.trec",))
    many = folder / "runs"
    if not many.is_dir():
        return [file] if file else []
    if file:
        raise InputError(f"{file}: a folder runs exists too, expected only one of them")
    paths = sorted(path for path in many.iterdir() if not path.name.startswith("."))
    if not paths:
        raise InputError(f"{many}: holds no file, expected at least one run")
    for path in paths:
        find_file(many, path.name)
    return paths


def _by_contents(folder: Path) -> tuple[list[Path], list[Path], list[Path]]:
    """The runs and the judgments of a folder, or of folders in it, by their contents, and the files beside them.

    Runs of several folders are an error: they may be several collections.
    """
    folders = [folder, *sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))]
    seen = [path for place in folders for path in _visible(place)]
    kinds = {path: _kind(path) for path in seen} if len(seen) <= MOST_FILES else {}  # more, such as a music folder
    if any(path.parent == folder and kind in RUN_KINDS for path, kind in kinds.items()):
        kinds = {path: kind for path, kind in kinds.items() if path.parent == folder}
    runs = [path for path, kind in kinds.items() if kind in RUN_KINDS]
    places = list(dict.fromkeys(path.parent for path in runs))
    if not runs:
        kept = next((f"; {path.name} has judgments, not runs" for path in seen if path.name.endswith(DATABASES)), "")
        raise InputError(f"{folder}: has no runs, expected runs.trec, a folder runs, or files that are TREC runs{kept}")
    if len(places) > 1:
        names = " and ".join(map(str, places[:2])) + (", and more" if len(places) > 2 else "")
        raise InputError(f"{folder}: has runs in {names}, expected one collection")
    qrels = [path for path, kind in kinds.items() if kind == "judgments"]
    near = {*places, *(path.parent for path in qrels)}
    return runs, qrels, [path for path in kinds if path.parent in near and path not in {*runs, *qrels}]


def _kind(path: Path) -> str | None:
    """The kind of a file by its first lines; None if it is not text."""
    with suppress(FormatError, InputError):
        return kind_of("\n".join(text for _, text in islice(every_line(path), LOOKED_AT) if text.strip()))
    return None


def check_names(folder: Path, judged: bool, taken: Container[Path] = ()) -> None:
    """Raise an error for a misnamed file, such as documents.csv, that would otherwise be ignored.

    judged  True if the folder's judgments will be read
    taken   files that are read whatever their names
    """
    parts = {path.name.removesuffix(".gz") for path in folder.iterdir()}.intersection(PARTS)
    stems = {part.partition(".")[0] for part in parts} | (set() if judged else {"judgments"})
    there = stems | {SAME[stem] for stem in stems & SAME.keys()}
    for path in _visible(folder):
        name = path.name.removesuffix(".gz")
        own, _, kind = name.partition(".")
        if path in taken or name in PARTS or kind.rpartition(".")[2].lower() not in KINDS:
            continue
        if (stem := nearest_name(own, STEMS)) is not None and SAME.get(stem, stem) not in there:
            raise InputError(f"{path} is ignored: rename it to {STEMS[stem]}, or remove it")


def prepare_folder(folder: str | Path, names: set[str]) -> Path:
    """Create a folder for a collection's files if need be, and return it.

    names   files that will be written and may be replaced; other files of a collection in the folder would contradict
            them and must not be deleted, so they are an error
    """
    folder = Path(folder)
    if folder.exists():
        open_folder(folder)
    parts = [folder / f"{part}{packed}" for part in PARTS for packed in ("", ".gz")]
    inside = [path for part in (EVIDENCE, JUDGES) for path in sorted((folder / part).glob("*"))]
    for path in (*parts, *inside):
        if str(path.relative_to(folder)) not in names and path.exists():
            raise InputError(f"{path}: would become part of the new collection: move or delete it")
    with on_disk(folder, "cannot be made"):
        for place in {folder, *((folder / name).parent for name in names)}:
            place.mkdir(parents=True, exist_ok=True)
    return folder


# The files in a folder that make up its collection.


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """The files of a collection; None for missing ones.

    tables    file of each kind of table, by what its schema says it holds; runs are apart
    sounds    folder of the index of its recordings
    guesses   a sentence if files were recognised by their contents
    unread    files that look like judgments, of a folder that has none by name
    spreadsheets  files of spreadsheets, which are never read
    """

    folder: Path
    settings: Path | None
    runs: list[Path]
    tables: Mapping[str, Path]
    task: Path | None = None
    sounds: Path | None = None
    guesses: tuple[str, ...] = ()
    unread: tuple[Path, ...] = ()
    spreadsheets: tuple[Path, ...] = ()

    @classmethod
    def find(cls, folder: str | Path, judgments: object) -> "FolderFiles":
        """The files of a collection's folder; a misnamed one, which would be ignored, is an error.

        judgments  a file, `none` for no judgments, None for the folder's; anything else stands for judgments in memory
        """
        folder = open_folder(folder)
        runs, qrels, others = _own_runs(folder), list[Path](), list[Path]()
        recognised = not runs
        if recognised:
            runs, qrels, others = _by_contents(folder)
        tables = {schema.what: find_table(folder, (name,)) for name, schema in zip(TABLES, SCHEMAS, strict=False)}
        own = Path(judgments) if isinstance(judgments, str | PathLike) else None
        if judgments is None:
            own = _only_one(folder, qrels, "judgments") if recognised else find_table(folder, JUDGMENTS, "qrels")
        there = {what: path for what, path in (*tables.items(), ("judgments", own)) if path is not None}
        check_names(folder, judgments is None, {*runs, *qrels, *there.values()})
        seen = _visible(folder)
        left = [] if own or judgments is not None else seen
        left = [path for path in left if path not in (*runs, *there.values()) and _ending(path) in READ]
        if str(judgments) == "none":
            there = {what: path for what, path in there.items() if what not in ("judgments", "comparisons")}
        return cls(
            folder,
            find_file(folder, "collection.toml"),
            runs,
            there,
            task=find_file(folder, TASK_FILE),
            sounds=folder / SOUNDS if (folder / SOUNDS).is_dir() else None,
            guesses=(_in_words(folder, runs, own if own in qrels else None, others),) if recognised else (),
            unread=tuple([path for path in left if _kind(path) == "judgments"]),
            spreadsheets=tuple([path for path in seen if _ending(path) in SPREADSHEETS]),
        )


def _in_words(folder: Path, runs: Sequence[Path], judgments: Path | None, others: Sequence[Path]) -> str:
    """A note on the files that were recognised as runs and judgments, and on those that were not read."""
    where = runs[0] if len(runs) == 1 else f"{len(runs)} files in {runs[0].parent}"
    judged = "" if judgments is None else f", judgments are {judgments}"
    left = [str(path.relative_to(folder)) for path in others if path.name not in PARTS]
    more = f" and {len(left) - MOST_NAMED} more" if len(left) > MOST_NAMED else ""
    unread = f"; not read: {', '.join(left[:MOST_NAMED])}{more}" if left else ""
    return f"{folder} has no runs.trec and no folder runs: by their contents, runs are {where}{judged}{unread}"
