"""Bundle of a report of record for publication: a folder or a zip file, readable without the service or the program."""

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

from audiosim.corpus.lines import check_output_file, write_texts
from audiosim.errors import InputError
from audiosim.record import Publication
from audiosim.report.evaluation_page import course_drawing
from audiosim.report.imprint import NOBODY, Imprint, citation_file, citation_line
from audiosim.report.plain_words import facts
from audiosim.report.rendering import inline_svg, render

CALIBRATED = 10  # fewest judgments for a plot of their places
OTHER_FORMS = {".htm", ".pdf", ".svg", ".png", ".json", ".csv", ".tsv", ".txt", ".md", ".gz", ".tar", ".tgz"}
PACKAGES = ("audiosim", "numpy", "scipy")
READABLE = stat.S_IFREG | 0o644
EPOCH = (1980, 1, 1, 0, 0, 0)  # fixed date of files in a zip, so that the same record gives the same file
REFERENCES = (
    "Urbano, J. (2013). Evaluation in Audio Music Similarity. PhD thesis, University Carlos III of Madrid.",
    "Urbano, J. & Schedl, M. (2013). Minimal test collections for low-cost evaluation of Audio Music Similarity and "
    "Retrieval systems. International Journal of Multimedia Information Retrieval 2(1), 59-70.",
    "Hothorn, T., Bretz, F. & Westfall, P. (2008). Simultaneous inference in general parametric models. Biometrical "
    "Journal 50(3), 346-363. doi:10.1002/bimj.200810425",
    "Klein, M., Wright, T. & Wieczorek, J. (2020). A joint confidence region for an overall ranking of populations. "
    "Applied Statistics 69(3), 589-606.",
    "Dawid, A. P. (1984). Statistical theory: the prequential approach. Journal of the Royal Statistical Society A "
    "147(2), 278-292. doi:10.2307/2981683",
    "Vovk, V. & Wang, R. (2021). E-values: calibration, combination and applications. Annals of Statistics 49(3), "
    "1736-1754. doi:10.1214/20-AOS2020",
    "Rubin, D. B. (1987). Multiple Imputation for Nonresponse in Surveys. Wiley.",
)


def bundle(
    record: Publication,
    written: date,
    sources: Mapping[str, str] | None = None,
    log: Iterable[str] | None = None,
    imprint: Imprint = NOBODY,
) -> dict[str, bytes]:
    """The files of a bundle by name: page, tables, judgments, log, citation and checksums.

    written  date of the report
    sources  SHA-256 of its sources by name: files of the collection, and the model as "model NAME"
    log      lines of a campaign's log, as JSON; None without a campaign
    imprint  authors, licence and words of the publishers
    """
    value = record.to_dict()
    check = record.ranking.check
    tables = {"systems.csv": value["systems"], "pairs.csv": value["pairs"], "judgments.csv": _judgments(record)}
    if len(check.chances):
        tables["calibration.csv"] = check.group_rows()
    if record.aspects:
        tables["aspects.csv"] = record.aspect_rows()
    texts = {name: _csv(rows) for name, rows in tables.items()}
    versions = {name: version(name) for name in PACKAGES} | {"Python": platform.python_version()}
    about = {"versions": versions, "written": written.isoformat(), "sources": dict(sources or {})}
    texts["record.json"] = json.dumps(value | about, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    texts["CITATION.cff"] = citation_file(value, written, versions["audiosim"], imprint)
    if log is not None:
        texts["log.jsonl"] = "".join(f"{line}\n" for line in log)
    texts["index.html"] = _page(record, value, about, sorted(texts), imprint)
    files = {name: text.encode() for name, text in sorted(texts.items())}
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items())
    return files | {"SHA256SUMS": sums.encode()}


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


def _judgments(record: Publication) -> list[dict[str, Any]]:
    return [asdict(one) for one in record.judgments]


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()


def _page(
    record: Publication, value: Mapping[str, Any], about: Mapping[str, Any], files: Sequence[str], imprint: Imprint
) -> str:
    check, rows = record.ranking.check, value["systems"]
    calibrated = len(check.chances) >= CALIBRATED
    order = {row["system"]: place for place, row in enumerate(rows)}
    agreed = next((one for one in value["agreement"]["scales"].values() if one["pairs"]), None)
    return render(
        "record.html",
        value["name"],
        record=value,
        complete=record.complete,
        check=check.sentence,
        people=record.satisfied is not None,
        figures=_figures(record, value, calibrated),
        neighbours=[row for row in value["pairs"] if order[row["b"]] - order[row["a"]] == 1],
        calibration=[row for row in check.group_rows() if row["kind"] in {"all", "system"}] if calibrated else [],
        agreement=agreed,
        method=_method(record),
        references=REFERENCES,
        versions=about["versions"],
        sources=about["sources"],
        date=about["written"],
        files=files,
        facts=facts(record),
        aspects=_by_aspect(record),
        imprint=imprint,
        citation=citation_line(value, date.fromisoformat(about["written"]), imprint),
    )


def _by_aspect(record: Publication) -> list[dict[str, Any]]:
    """Each system, best first, with its row by each aspect; empty without aspects."""
    if not record.aspects:
        return []
    rows = {(row["aspect"], row["system"]): row for row in record.aspect_rows()}
    systems = [record.ranking.systems[place] for place in record.ranking.order]
    return [{"system": name, "by": [rows[aspect, name] for aspect in record.aspects]} for name in systems]


def _figures(record: Publication, value: Mapping[str, Any], calibrated: bool) -> dict[str, str]:
    """The figures of the page, by subject."""
    from audiosim.plots import draw_tenths, page_axes

    figures = {"scores": _intervals(value["systems"], "score", value["measure"])}
    if record.satisfied is not None:
        new = ("satisfied_least", "satisfied_most")
        figures["satisfied"] = _intervals(value["systems"], "satisfied", "P(Sat)", new)
    if calibrated:
        axes = draw_tenths(record.ranking.check.chances, "place in the predictive distribution", page_axes(height=3))
        figures["calibration"] = inline_svg(axes, "judgments in each tenth of their predictive distributions")
    if len(record.curve) > 1:
        figures["curve"] = course_drawing(record.curve)
    return figures


def _intervals(rows: Sequence[Mapping[str, Any]], name: str, across: str, outer: tuple[str, str] | None = None) -> str:
    """Intervals of the systems, best on top.

    name   column to draw; its ends are in `name_low` and `name_high`
    outer  columns of a second, thinner interval
    """
    from audiosim.plots import draw_intervals, page_axes

    low, middle, high = ([row[key] for row in rows] for key in (f"{name}_low", name, f"{name}_high"))
    wider = None if outer is None else ([row[outer[0]] for row in rows], [row[outer[1]] for row in rows])
    labels = [str(row["system"]) for row in rows]
    return inline_svg(draw_intervals(labels, low, middle, high, across, page_axes(len(rows)), wider), across)


def _method(record: Publication) -> list[str]:
    """The method in a paragraph or two, for a publication."""
    ranking = record.ranking
    score = f"Systems are scored by {ranking.measure}, the mean over {ranking.queries} queries."
    kind = (
        "Statements on queries of this kind are about means over queries, by Student's t (Urbano 2013, sections 4.2 "
        "and 5.6.2); P(Sat) follows from scores by the published mapping, and P(Succ) is the share of queries with "
        f"P(Sat) above {record.threshold:g}."
    )
    if record.complete:
        return [f"{score} All {ranking.pool:,} retrieved pairs of query and document were judged.", kind]
    return [
        f"{score} {ranking.judged:,} of {ranking.pool:,} retrieved pairs of query and document were judged; the grades "
        f"of the others are predicted by the model {ranking.model}, as a multivariate distribution conditioned on all "
        "judgments (Urbano & Schedl 2013; Urbano 2013, chapters 7 and 8). Groups and ranks hold together at the stated "
        "level: the largest standardised difference over all pairs, from draws of the joint distribution of the scores "
        "(Hothorn, Bretz & Westfall 2008), and intervals of ranks by counting (Klein, Wright & Wieczorek 2020).",
        "The model is checked with each judgment, compared with its prediction from the earlier judgments (Dawid "
        "1984), by a test martingale: a correct model fails with a probability of at most 5 %, however often it is "
        "checked (Vovk & Wang 2021).",
        f"{kind} Missing grades were drawn {len(record.scores)} times from the model and the results combined by "
        "the rules of Rubin (1987).",
    ]
