"""Checksums of the sources of a report: the files of a collection and of a model."""

import hashlib
from pathlib import Path

from audiosim import package_files
from audiosim.audio import decoder, more_formats

RECORDINGS = (*decoder.SUFFIXES, *more_formats.SUFFIXES)
DATABASES = (
    ".db",
    ".db-wal",
    ".db-shm",
    ".db-journal",
    ".sqlite",
)  # these change during a campaign; the report names its log


def collection_checksums(folder: str | Path) -> dict[str, str]:
    """SHA-256 of the files of a collection's folder by name, including an index and evidence.

    Recordings, databases, and files and folders with names that begin with a dot are left out. Names are relative to
    the folder.
    """
    folder = Path(folder)
    names = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    kept = [name for name in names if not any(part.startswith(".") for part in name.parts)]
    return {
        name.as_posix(): _checksum(folder / name)
        for name in kept
        if not name.name.lower().endswith((*RECORDINGS, *DATABASES))
    }


def model_checksum(said: str | None, name: str) -> dict[str, str]:
    """SHA-256 of a model's file, as "model NAME"; empty if the model has no file, such as an installed estimator.

    said  value of `--model`, such as a path; None for the default
    name  name of the estimator made from it
    """
    path = Path(said) if said and said.endswith(".json") else package_files.folder("models") / f"{name}.json"
    return {f"model {path.name}": _checksum(path)} if path.is_file() else {}


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
