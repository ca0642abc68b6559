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
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, Le

from audiosim import package_files
from audiosim.collection.collection import Collection, prompts_of
from audiosim.collection.grading import on_scale
from audiosim.collection.layouts import DATABASES
from audiosim.errors import ArgumentError, InputError
from audiosim.measures.measure import Measure, as_measure
from audiosim.ranking.about import OF_THIS_KIND, About, DifferenceDistribution, as_about
from audiosim.report.imprint import NOBODY, Imprint, citation_file
from audiosim.report.page import Extras, page
from audiosim.report.record import Record
from audiosim.results.progress import progress
from audiosim.results.value import need
from audiosim.sound import channel as decoder
from audiosim.sound import formats as more_formats
from audiosim.tables.text import check_new_folder, check_output_file, write_text, write_texts
from audiosim.text import NOTES

if TYPE_CHECKING:
    from audiosim.simulation.worth import EvidenceWorth

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
    if check.judged:
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
        raise ArgumentError(
            "output", f"{path}: expected a name that ends in .html for a page or in .zip for a bundle, or a folder"
        )
    elif path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path}: expected a name that ends in .zip, or a folder that is new or empty")
    else:
        check_new_folder(path)


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


def collection_checksums(folder: str | Path) -> dict[str, str]:
    """SHA-256 of the files of a collection's folder by name, including an index and evidence.

    Recordings, databases, which change during a campaign, and files and folders with names that begin with a dot are
    left out. Names are relative to the folder.
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


def write_report(
    collection: object,
    output: str | Path | None = None,
    measures: Sequence[str] = ("CG",),
    model: str | None = None,
    *,
    distribution: DifferenceDistribution = "t",
    about: About | str | Sequence[str] | None = None,
    judgments: object = None,
    scale: str | None = None,
    success: Annotated[float, Ge(0), Le(1)] = 0.5,
    evidence: bool = False,
    pictures: bool = False,
    folder: str | Path | None = None,
    log: str | None = None,
    own: Collection | None = None,
) -> Path:
    """Write a report, as one self-contained page or as a bundle to publish.

    The page shows the verdict in words, the ranking with ranks, groups and intervals, all pairs of systems, satisfied
    users, calibration, agreement and method, by the first measure; if all is judged, also scores and stability by each
    measure. A bundle holds the page, tables, judgments, checksums and CITATION.cff.

    collection  `Collection` or its folder
    output      a name that ends in .html gives a page; any other a bundle, as a .zip file or a folder; by default a
                page with the name of the collection, such as demo-report.html
    measures    measures of the systems; if judgments are missing, only the first is used
    distribution  distribution of a difference between systems: t, or normal as in the paper of 2013
    about       queries that the report is about, such as "these"; None: queries of this kind
    judgments   as for `estimate`, as is scale, or the URL of the database of the collection's campaign
    success     share of satisfied users above which a result list is a success
    evidence    True to report also the worth of each piece of evidence, as `worth` does
    pictures    True to show the mel spectrograms of the queries' recordings in the index
    folder      folder of a `Collection`, for a bundle's checksums of its files
    log         URL of the database with the campaign's log; None: `judgments`, if that is a URL
    own         the collection as it was before the log, with the first wording of its question; None: `collection`

    A page says which parts could not be computed, and why.

    Examples: `audiosim report demo --measure CG@5 -o demo.html`

    `audiosim report demo --judgments demo/truth.qrels --evidence -o demo.html` (takes some minutes)

    `audiosim report demo --judgments sqlite:///demo/campaign.db -o demo.zip`
    """
    from audiosim.campaign.decisions import earlier_questions
    from audiosim.campaign.reader import after_log, log_in, log_lines, published
    from audiosim.report.record import record_of
    from audiosim.report.sounds import query_pictures

    need("plots", "a report")
    url = judgments if isinstance(judgments, str) and "://" in judgments else None
    first = on_scale(collection, scale, judgments if url is None else None)
    read, records = (first, []) if url is None else after_log(url, first)
    records = records if log is None else log_in(log, read)
    output = Path(f"{read.identifier}-report.html" if output is None else output)
    (check_output_file if output.suffix == ".html" else check_bundle_place)(output)
    subject = as_about(about, OF_THIS_KIND) if about else OF_THIS_KIND
    what, *others = (as_measure(text, read.cutoff) for text in measures)
    extras = Extras(prompts_of(read), earlier=earlier_questions(first if own is None else own, records))
    if evidence:
        extras.worth = extras.made("worth of the evidence", lambda: _worth_of(read, what))
    if pictures:
        extras.pictures = extras.made("pictures", lambda: query_pictures(read))
    record = record_of(read, what, model, others=others, about=subject, threshold=success, distribution=distribution)
    if output.suffix == ".html":
        write_text(output, [page_alone(record, date.today(), sources_of(record, model, None), extras)])
        NOTES.info("the report is in %s: open it in a browser", output)
        return output
    folder = collection if isinstance(collection, str | Path) else folder
    lines = log_lines(published(records)) if log or url else None
    write_bundle(bundle(record, date.today(), sources_of(record, model, folder), lines, extras=extras), output)
    NOTES.info("the bundle to publish is in %s", output)
    return output


def _worth_of(collection: Collection, measure: Measure) -> "EvidenceWorth":
    from audiosim.simulation.worth import worth

    with progress("leaving out") as show:
        return worth(collection, measure=measure, progress=show)
