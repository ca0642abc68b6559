"""The files of a collection, located in its folder; sister modules read and write each form.

A bad line raises a FormatError, `path:line: problem, what was expected`; a bad folder or file raises an InputError that
starts with its path.
"""

from collections.abc import Container
from os import PathLike
from pathlib import Path

from audiosim.corpus.array_files import check_regular
from audiosim.corpus.arrivals import ARRIVALS
from audiosim.corpus.evidence_files import EVIDENCE
from audiosim.corpus.foreign_folder import recognise_files
from audiosim.corpus.judge_files import JUDGES
from audiosim.corpus.task_file import TASK_FILE
from audiosim.errors import InputError
from audiosim.messages import nearest_name

JUDGMENTS = (
    "judgments.qrels", "judgments.tsv", "judgments.csv", "judgments.jsonl", "judgments.json", "judgments.xml",
    "groups.tsv", "groups.qrels",
)  # fmt: skip
COMPARISONS = "comparisons.tsv"
PARTS = (
    "documents.tsv", "queries.tsv", "systems.tsv", "runs.trec", "runs", *JUDGMENTS, COMPARISONS, "collection.toml",
    TASK_FILE, ARRIVALS,
)  # fmt: skip
KINDS = (
    "", "csv", "json", "jsonl", "ods", "qrel", "qrels", "run", "tab", "toml", "trec", "tsv", "txt", "xls", "xlsx",
    "xml", "yaml", "yml",
)  # fmt: skip
STEMS = {part.partition(".")[0]: part for part in reversed(PARTS)} | {"qrels": JUDGMENTS[0], "run": "runs.trec"}


def open_folder(folder: str | Path) -> Path:
    """The folder of a collection, checked to exist."""
    if not isinstance(folder, str | PathLike):
        raise InputError(f"expected the folder of a collection, got {folder!r}")
    folder = Path(folder)
    if not folder.is_dir():
        problem = "is not a folder" if folder.exists() else "no such folder"
        raise InputError(f"{folder}: {problem}, expected a collection")
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
        check_regular(path)
    if len(found) > 1:
        raise InputError(f"{found[0]}: {found[1].name} exists too, expected only one of them")
    return found[0] if found else None


def find_runs(folder: Path) -> list[Path]:
    """The run files of a collection: runs.trec, all visible files in the folder runs, or any files with TREC runs."""
    file = find_file(folder, "runs.trec")
    many = folder / "runs"
    if file and many.is_dir():
        raise InputError(f"{file}: a folder runs exists too, expected only one of them")
    if file:
        return [file]
    if not many.is_dir():
        if found := recognise_files(folder).runs:
            return list(found)
        raise InputError(f"{folder}: has no runs, expected runs.trec, a folder runs, or files that are TREC runs")
    paths = sorted(path for path in many.iterdir() if not path.name.startswith("."))
    if not paths:
        raise InputError(f"{many}: holds no file, expected at least one run")
    for path in paths:
        check_regular(path)
        find_file(many, path.name)
    return paths


def names_its_runs(folder: Path) -> bool:
    """True if a folder has runs under audiosim's own file names."""
    return find_file(folder, "runs.trec") is not None or (folder / "runs").is_dir()


def check_names(folder: Path, judged: bool, taken: Container[Path] = ()) -> None:
    """Raise an error for a misnamed file, such as documents.csv, that would otherwise be ignored.

    judged  True if the folder's judgments will be read
    taken   files that are read whatever their names
    """
    there = {path.name.removesuffix(".gz") for path in folder.iterdir()}
    found = {stem: any(part in there for part in PARTS if part.partition(".")[0] == stem) for stem in STEMS}
    found["qrels"] = found["judgments"] = found["groups"] = found["judgments"] or found["groups"] or not judged
    found["run"] = found["runs"]
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        name = path.name.removesuffix(".gz")
        own, _, kind = name.partition(".")
        stem = nearest_name(own, STEMS) if kind.lower() in KINDS else None
        if path not in taken and name not in PARTS and stem is not None and not found[stem]:
            raise InputError(f"{path} is ignored: rename it to {STEMS[stem]}, or remove it")


def prepare_folder(folder: str | Path, names: set[str]) -> Path:
    """Create a folder for a collection's files if need be, and return it.

    names   files that will be written and may be replaced; other files of a collection in the folder would contradict
            them and must not be deleted, so they are an error
    """
    folder = Path(folder)
    if folder.exists():
        open_folder(folder)
    for part in PARTS:
        for name in (part, f"{part}.gz"):
            if name not in names and (folder / name).exists():
                raise InputError(f"{folder / name}: would become part of the new collection: move or delete it")
    for part in (EVIDENCE, JUDGES):
        for path in sorted((folder / part).iterdir()) if (folder / part).is_dir() else ():
            if f"{part}/{path.name}" not in names:
                raise InputError(f"{path}: would become part of the new collection: move or delete it")
    try:
        for place in {folder, *((folder / name).parent for name in names)}:
            place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror}") from None
    return folder
