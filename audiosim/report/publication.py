"""Report of record as a page, or as a bundle for publication: a folder or a zip file, readable without the program."""

import csv
import hashlib
import io
import json
import platform
import stat
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from audiosim import package_files
from audiosim.errors import InputError
from audiosim.report.imprint import NOBODY, Imprint, citation_file
from audiosim.report.page import Extras, page
from audiosim.report.record import Record
from audiosim.sound import channel as decoder
from audiosim.sound import formats as more_formats
from audiosim.tables.text import check_output_file, write_texts

OTHER_FORMS = {".htm", ".pdf", ".svg", ".png", ".json", ".csv", ".tsv", ".txt", ".md", ".gz", ".tar", ".tgz"}
PACKAGES = ("audiosim", "numpy", "scipy")
READABLE = stat.S_IFREG | 0o644
EPOCH = (1980, 1, 1, 0, 0, 0)  # fixed date of files in a zip, so that the same record gives the same file


def page_alone(
    record: Record, written: date, sources: Mapping[str, str] | None = None, extras: Extras | None = None
) -> str:
    """The page of a bundle without the other files; see `bundle`."""
    return page(record, _origin(written, sources), (), NOBODY, extras)


def bundle(
    record: Record,
    written: date,
    sources: Mapping[str, str] | None = None,
    log: Iterable[str] | None = None,
    imprint: Imprint = NOBODY,
    extras: Extras | None = None,
) -> dict[str, bytes]:
    """The files of a bundle by name: page, tables, judgments, log, citation and checksums.

    written  date of the report
    sources  SHA-256 of its sources by name: files of the collection, and the model as "model NAME"
    log      lines of a campaign's log, as JSON; None without a campaign
    imprint  authors, licence and words of the publishers
    extras   further parts of the page
    """
    value, origin = record.to_dict(), _origin(written, sources)
    check, judgments = record.ranking.check, [asdict(one) for one in record.judgments]
    tables = {"systems.csv": value["systems"], "pairs.csv": value["pairs"], "judgments.csv": judgments}
    if len(check.chances):
        tables["calibration.csv"] = check.group_rows()
    if record.aspects:
        tables["aspects.csv"] = record.aspect_rows()
    texts = {name: _csv(rows) for name, rows in tables.items()}
    texts["record.json"] = json.dumps(value | origin, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    texts["CITATION.cff"] = citation_file(value, written, version("audiosim"), imprint)
    if log is not None:
        texts["log.jsonl"] = "".join(f"{line}\n" for line in log)
    texts["index.html"] = page(record, origin, sorted(texts), imprint, extras)
    files = {name: text.encode() for name, text in sorted(texts.items())}
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items())
    return files | {"SHA256SUMS": sums.encode()}


def _origin(written: date, sources: Mapping[str, str] | None) -> dict[str, Any]:
    versions = {name: version(name) for name in PACKAGES} | {"Python": platform.python_version()}
    return {"versions": versions, "written": written.isoformat(), "sources": dict(sources or {})}


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()


def write_bundle(files: Mapping[str, bytes], path: Path) -> None:
    """Write a bundle: a zip file if the path ends in .zip, else a folder that is new or empty; whole or not at all."""
    check_bundle_place(path)
    if path.suffix == ".zip":
        write_texts({path: zipped(files, path.stem)})
        return
    path.mkdir(parents=True, exist_ok=True)
    write_texts({path / name: content for name, content in files.items()})


def check_bundle_place(path: Path) -> None:
    """Raise an error if a bundle cannot be written, or if its name looks like that of another kind of file."""
    if path.suffix == ".zip":
        check_output_file(path)
    elif path.suffix.lower() in OTHER_FORMS:
        raise InputError(f"{path}: expected a name that ends in .html for a page or in .zip for a bundle, or a folder")
    elif path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path}: expected a name that ends in .zip, or a folder that is new or empty")


def zipped(files: Mapping[str, bytes], folder: str) -> bytes:
    """A bundle as a zip file; the same files give the same bytes.

    folder  folder in the zip file
    """
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(f"{folder}/{name}", EPOCH)
            entry.external_attr = READABLE << 16  # permissions after unpacking: readable by all
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return made.getvalue()


# Checksums of the sources of a report: the files of a collection and of a model.


RECORDINGS = (*decoder.SUFFIXES, *more_formats.SUFFIXES)
# These change during a campaign; the report names its log.
DATABASES = (".db", ".db-wal", ".db-shm", ".db-journal", ".sqlite")


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


def sources_of(record: Record, model: str | None, folder: str | Path | None) -> dict[str, str]:
    """SHA-256 of the sources of a record, by name.

    model   model that predicted the unjudged pairs, as for `record_of`
    folder  folder of the collection; None: without checksums of its files
    """
    sums = {} if folder is None else collection_checksums(folder)
    return sums if record.model is None else sums | model_checksum(model, record.model["name"])


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
