"""Report of record: all statements about a collection's systems, judged in full or in part, each with its subject.

There are two kinds of statement. About these queries: the result of full judgments, with the uncertainty of those
missing. About queries of this kind: the result for a new sample of queries, so that the variation between queries
counts too. If judgments are missing, the second kind uses multiple imputation: grades are drawn from the belief several
times, each completed collection is analysed as if judged in full, and the results are combined by Rubin's rules.
"""

import csv
import hashlib
import io
import json
import math
import platform
import stat
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from audiosim import package_files
from audiosim.collection.aspects import MEAN
from audiosim.collection.collection import Collection
from audiosim.collection.pool import Pool, build_pool
from audiosim.collection.values import JudgmentSequence, grades_by_assessor
from audiosim.errors import InputError
from audiosim.joint.estimators import NameOrFile, RelevanceEstimator, after_judgments, make_estimator
from audiosim.joint.posterior import Belief
from audiosim.measures.measure import Measure, as_measure
from audiosim.measures.satisfaction import published_mapping, user_form
from audiosim.people.agreement import Agreement, agreement
from audiosim.ranking.about import OF_THIS_KIND, THESE, DifferenceDistribution
from audiosim.ranking.expected import expected_scores, grounds_of
from audiosim.ranking.ranking import Ranking
from audiosim.ranking.selection import confidences
from audiosim.ranking.separation import verdicts_of_pool, with_next
from audiosim.ranking.verdicts import Verdicts
from audiosim.report.evaluation_page import course_drawing
from audiosim.report.rendering import inline_svg, render
from audiosim.results.plots import draw_intervals, draw_tenths
from audiosim.results.value import Row
from audiosim.simulation.alternatives import scores_of
from audiosim.simulation.remaining import drawn_grades
from audiosim.sound import channel as decoder
from audiosim.sound import formats as more_formats
from audiosim.stats.arrays import Array
from audiosim.stats.score_matrix import bounded_mean
from audiosim.tables.text import check_output_file, write_texts
from audiosim.text import counted

LEVEL = 0.95
IMPUTATIONS = 20


@dataclass(frozen=True, slots=True)
class Pooled:
    """A mean over queries of this kind, from several completed collections.

    estimate   mean of the means of the completed collections
    low, high  ends of the interval at LEVEL
    p          p-value of the hypothesis that the mean is 0, two-sided
    """

    estimate: float
    low: float
    high: float
    p: float

    @classmethod
    def of(cls, values: Array) -> "Pooled":
        """The mean of values (m, q) of q queries in each of m completed collections.

            T = W + (1 + 1/m) B,  W the mean of s^2 / q, B the variance of the completed means

        with 1 / (1 / nu + 1 / (q - 1)) degrees of freedom, nu = (m - 1) (T / ((1 + 1/m) B))^2: those of the imputations
        and of the complete data together. Rubin (1987), Multiple Imputation for Nonresponse in Surveys, section 3.1;
        they are not reduced if much is missing, because predictions rest on other collections too. With one collection
        this is the t-interval.
        """
        (times, queries), estimate = values.shape, float(values.mean())
        within, between = _variances(values)
        total = within + between
        if total <= 0:
            return cls(estimate, estimate, estimate, 1.0 if estimate == 0 else 0.0)
        complete, missing = queries - 1, between / total
        freedom = 1 / (missing**2 / (times - 1) + 1 / complete) if times > 1 else complete
        reach = float(stdtrit(freedom, (1 + LEVEL) / 2)) * math.sqrt(total)
        p = 2 * float(stdtr(freedom, -abs(estimate) / math.sqrt(total)))
        return cls(estimate, estimate - reach, estimate + reach, p)

    @classmethod
    def of_shares(cls, values: Array) -> "Pooled":
        """The mean of values (m, q) within [0, 1], with the ends of `bounded_mean`.

        B counts by the squared ratio of Student's t, with m - 1 degrees of freedom, to the normal quantile.
        """
        (times, queries), (within, between) = values.shape, _variances(values)
        wider = float(stdtrit(times - 1, (1 + LEVEL) / 2) / ndtri((1 + LEVEL) / 2)) ** 2 if times > 1 else 1.0
        low, high = bounded_mean(values.mean(), within * queries, queries, between * wider, LEVEL)
        return replace(cls.of(values), low=float(low), high=float(high))

    def within(self, most: float) -> "Pooled":
        """The same with an interval cut to [-most, most]."""
        return replace(self, low=max(-most, self.low), high=min(most, self.high))

    def named(self, name: str) -> dict[str, float]:
        """The interval as columns of a table."""
        return {name: self.estimate, f"{name}_low": self.low, f"{name}_high": self.high}


def _variances(values: Array) -> tuple[float, float]:
    """W and (1 + 1/m) B of `Pooled`."""
    times, queries = values.shape
    between = float(values.mean(axis=1).var(ddof=1)) * (1 + 1 / times) if times > 1 else 0.0
    return float(np.mean(values.var(axis=1, ddof=1))) / queries, between


@dataclass(frozen=True, eq=False)
class Publication:
    """All published statements about a collection's systems by one measure.

    collection  collection with the judgments used
    verdicts    verdicts on the s systems and these queries, with the check of the model
    headline    the same about queries of this kind
    scores      (m, s, q) scores in m completed collections; one if everything is judged
    satisfied   (m, s, q) P(Sat), the share of users that each result list satisfies; None if no mapping is published
    threshold   share of users above which a list is a success
    agreement   agreement of the assessors
    curve       (judged, confidence) in the order of the judgments; empty if everything is judged
    content     SHA-256 of the pool: levels, cutoff, systems, pairs and their ranks
    model       name and version of the model that predicted the unjudged pairs; None if all are judged
    aspects     verdicts on these queries by each aspect, if the others are about the mean of several aspects
    """

    collection: Collection
    verdicts: Verdicts
    headline: Verdicts
    scores: Array
    satisfied: Array | None
    threshold: float
    agreement: Agreement
    curve: tuple[tuple[int, float | None], ...]
    content: str
    model: dict[str, str] | None
    aspects: Mapping[str, Verdicts] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """True if every pair of the pool is judged."""
        return self.ranking.judged == self.ranking.pool

    @property
    def ranking(self) -> Ranking:
        """The ranking on these queries."""
        return self.verdicts.ranking

    @property
    def judgments(self) -> JudgmentSequence:
        """The judgments behind the record, by aspect if there are several."""
        aspects = self.collection.aspects
        if aspects is None or self.collection.aspect != MEAN:
            return self.collection.judgments
        return tuple(one for some in aspects.judgments.values() for one in some)

    def rows(self) -> list[Row]:
        """One row per system, best first: on these queries, and on queries of this kind.

        expectation, low, high, group, rank_low, rank_high, best, top: on these queries
        score, score_low, score_high: mean over queries of this kind
        satisfied, ..._low, ..._high: P(Sat), the share of users satisfied, likewise
        satisfied_least, satisfied_most: ends of the prediction interval for P(Sat) of a new query, at LEVEL
        satisfied_above: value that P(Sat) of 95 % of new queries exceeds
        success, ..._low, ..._high: P(Succ), the share of queries with P(Sat) above the threshold
        """
        pooled = Pooled.of_shares if self.ranking.measure.bounded else Pooled.of
        places = {system: place for place, system in enumerate(self.ranking.systems)}
        rows = []
        for row in self.verdicts.rows():
            place = places[row["system"]]
            rows.append({**row, **pooled(self.scores[:, place]).named("score"), **self._people(place)})
        return rows

    def aspect_rows(self) -> list[dict[str, Any]]:
        """One row per aspect and system, best first: the columns of `rows` about these queries."""
        return [{"aspect": name, **row} for name, verdicts in self.aspects.items() for row in verdicts.rows()]

    def _people(self, place: int) -> dict[str, float]:
        if self.satisfied is None:
            return {}
        shares = self.satisfied[:, place]
        least, above, most = np.quantile(shares, [(1 - LEVEL) / 2, 1 - LEVEL, (1 + LEVEL) / 2]).tolist()
        success = Pooled.of_shares((shares > self.threshold).astype(np.float64))
        new = {"satisfied_least": least, "satisfied_most": most, "satisfied_above": above}
        return Pooled.of_shares(shares).named("satisfied") | new | success.named("success")

    def pair_rows(self) -> list[dict[str, Any]]:
        """One row per pair of systems, the better one first: confidence on these queries, differences on such queries.

        difference, satisfied_difference and success_difference have the ends of their intervals, `_low` and `_high`;
        p is of the difference of scores.
        """
        rows, most = [], 1.0 if self.ranking.measure.bounded else math.inf
        for better, worse, known in zip(*self.ranking.pairs, self.ranking.pair_rows(), strict=True):
            found = Pooled.of(self.scores[:, better] - self.scores[:, worse]).within(most)
            row = {"a": known["a"], "b": known["b"], "confidence": known["confidence"]}
            row |= found.named("difference") | {"p": found.p}
            if self.satisfied is not None:
                first, second = self.satisfied[:, better], self.satisfied[:, worse]
                row |= Pooled.of(first - second).within(1.0).named("satisfied_difference")
                succeeds = (first > self.threshold).astype(np.float64) - (second > self.threshold)
                row |= Pooled.of(succeeds).within(1.0).named("success_difference")
            rows.append(row)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """The record as plain values, ready for JSON."""
        collection, ranking = self.collection, self.ranking
        return {
            "collection": collection.identifier,
            "name": collection.name,
            "measure": str(ranking.measure),
            "queries": ranking.queries,
            "judged": ranking.judged,
            "pool": ranking.pool,
            "headline": self._of(self.headline),
            "beside": self._of(self.verdicts),
            "confidence": ranking.confidence,
            "sentence": self.verdicts.sentence,
            "family_wise": self.verdicts.level,
            "groups": self.verdicts.group_rows(),
            "top_k": self.verdicts.k,
            "level": LEVEL,
            "threshold": self.threshold,
            "imputations": len(self.scores),
            "content": self.content,
            "model": self.model,
            **ranking.check.to_dict(),
            "systems": self.rows(),
            "pairs": self.pair_rows(),
            "agreement": self.agreement.to_dict(),
            "curve": [list(point) for point in self.curve],
            "aspects": {name: verdicts.sentence for name, verdicts in self.aspects.items()},
        }

    @staticmethod
    def _of(verdicts: Verdicts) -> dict[str, Any]:
        """Sentence, confidence and subject of some verdicts."""
        ranking = verdicts.ranking
        return {
            "about": ranking.about.to_dict(),
            "words": ranking.about.words,
            "sentence": verdicts.sentence,
            "confidence": ranking.confidence,
        }


def verdicts_by_aspect(
    collection: Collection,
    measure: str | Measure,
    start: Callable[[Pool], RelevanceEstimator],
    distribution: DifferenceDistribution = "t",
) -> dict[str, Verdicts]:
    """Verdicts on these queries by each aspect of a collection that is ranked by their mean; empty for any other.

    start  makes the estimator of a pool, without judgments
    """
    if collection.aspects is None or collection.aspect != MEAN:
        return {}
    measure, found = as_measure(measure, collection.cutoff), {}
    for name in collection.aspects.names:
        own = collection.by_aspect(name)
        pool, grades = build_pool(own, measure.cutoff), own.grades()
        estimator = after_judgments(pool, start(pool), own.judgments)
        order = pool.locate_judged(grades)
        found[name] = verdicts_of_pool(
            expected_scores(measure, pool), estimator, pool.spread(grades), distribution, order
        )
    return found


def record_of(
    collection: Collection,
    measure: str | Measure = "CG",
    model: NameOrFile | RelevanceEstimator | None = None,
    *,
    threshold: float = 0.5,
    distribution: DifferenceDistribution = "t",
    imputations: int = IMPUTATIONS,
) -> Publication:
    """Publication of a collection, judged in full or in part.

    model        as for `estimate`; predicts the unjudged pairs
    threshold    threshold of success: a share of the users, in [0, 1]
    imputations  number of completed collections if judgments are missing, at least 2
    """
    measure = as_measure(measure, collection.cutoff)
    if not 0 <= threshold <= 1:
        raise InputError(f"the threshold of success is a share of the users, from 0 to 1, got {threshold:g}")
    if imputations < 2:
        raise InputError(f"the number of imputations must be at least 2, got {imputations}")
    pool, grades = build_pool(collection, measure.cutoff), collection.grades()
    if len(pool.queries) < 2:
        raise InputError(f"a record needs at least two queries, collection {collection.identifier} has one")
    spread = pool.spread(grades)
    whole = not np.isnan(spread).any()
    start = make_estimator(pool, model)
    estimator = after_judgments(pool, start, collection.judgments)
    expected, belief = expected_scores(measure, pool), estimator.predict(spread)
    grounds = grounds_of(expected, estimator, belief, distribution, pool.locate_judged(grades))
    headline, verdicts = (
        with_next(Verdicts(grounds.about(about, expected)), expected, belief) for about in (OF_THIS_KIND, THESE)
    )
    rng = np.random.default_rng(0)
    scores, satisfied = _completed(collection, pool, measure, grounds.belief, 1 if whole else imputations, rng)
    curve = () if whole else tuple(confidences(pool, measure, start, collection.judgments, distribution=distribution))
    return Publication(
        collection,
        verdicts,
        headline,
        scores,
        satisfied,
        threshold,
        _agreement(collection),
        curve,
        pool.content_hash,
        None if whole else {"name": estimator.name, "version": str(getattr(estimator, "version", ""))},
    )


def _completed(
    collection: Collection, pool: Pool, measure: Measure, belief: Belief, times: int, rng: np.random.Generator
) -> tuple[Array, Array | None]:
    """(m, s, q) scores and P(Sat) of collections completed with drawn grades; None if no mapping is published."""
    people = user_form(measure)
    try:
        mapping = published_mapping(people, collection.scale.name)
    except InputError:
        mapping = None
    scores, shares = [], []
    for _ in range(times):
        grades = belief.grades if times == 1 else drawn_grades(belief, rng)
        scores.append(scores_of(pool, measure, grades))
        if mapping is not None:
            shares.append(mapping.probability(scores_of(pool, people, grades)))
    return np.array(scores), np.array(shares) if mapping is not None else None


def _agreement(collection: Collection) -> Agreement:
    by_assessor = grades_by_assessor(collection.judgments)
    grades = {pair: {name: {"grade": grade} for name, grade in by.items()} for pair, by in by_assessor.items()}
    return agreement(grades, collection.scale)


# Imprint of a publication: authors, licence and words for readers; and the citation of a publication.


MOST_AUTHORS, NAME_LIMIT, WORDS_LIMIT = 100, 200, 5_000
LICENCES = ("CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0", "CC0-1.0", "ODbL-1.0")  # SPDX identifiers


@dataclass(frozen=True, slots=True)
class Imprint:
    """Authors, licence and words of the publishers of a record.

    authors  names; none: the organisers of the collection
    licence  one of LICENCES; empty: none is granted
    words    text for readers, in paragraphs; empty: none
    """

    authors: tuple[str, ...] = ()
    licence: str = ""
    words: str = ""

    def __post_init__(self) -> None:
        if len(self.authors) > MOST_AUTHORS:
            raise InputError(f"expected up to {MOST_AUTHORS} authors, got {len(self.authors)}")
        for name in self.authors:
            if not name.strip() or not name.isprintable() or len(name) > NAME_LIMIT:
                raise InputError(f"an author has a name of 1 to {NAME_LIMIT} printable characters, got {name!r:.80}")
        if self.licence and self.licence not in LICENCES:
            raise InputError(f"expected a licence of {', '.join(LICENCES)}, got {self.licence!r:.80}")
        if len(self.words) > WORDS_LIMIT:
            raise InputError(f"expected up to {WORDS_LIMIT:,} characters of words, got {len(self.words):,}")

    @property
    def paragraphs(self) -> list[str]:
        """The words, in paragraphs."""
        return [part.strip() for part in self.words.splitlines() if part.strip()]


NOBODY = Imprint()


def citation_line(value: Mapping[str, Any], written: date, imprint: Imprint) -> str:
    """The citation of a record for a list of references.

    value  the record as plain values
    """
    cited = _cited(value, imprint)
    return f"{'; '.join(cited['authors'])} ({written.year}). {cited['title']} [data set]. {cited['version']}."


def citation_file(value: Mapping[str, Any], written: date, program: str, imprint: Imprint) -> str:
    """A description in the Citation File Format 1.2.0, with strings as in JSON, which YAML allows.

    program  version of audiosim
    """
    cited = _cited(value, imprint)
    quoted = {key: json.dumps(said, ensure_ascii=False) for key, said in cited.items() if isinstance(said, str)}
    authors = "".join(f"\n  - name: {json.dumps(name, ensure_ascii=False)}" for name in cited["authors"])
    licence = f"\nlicense: {imprint.licence}" if imprint.licence else ""
    return f"""cff-version: 1.2.0
message: If you use these results, please cite them as below.
type: dataset
title: {quoted["title"]}
authors:{authors}
date-released: {written.isoformat()}{licence}
version: {quoted["version"]}
abstract: {quoted["abstract"]}
identifiers:
  - type: other
    value: {quoted["identifier"]}
    description: SHA-256 of the pool of documents that were judged
references:
  - type: software
    title: audiosim
    version: {json.dumps(program)}
    authors:
      - name: The audiosim developers
"""


def _cited(value: Mapping[str, Any], imprint: Imprint) -> dict[str, Any]:
    abstract = (
        f"{len(value['systems'])} systems ranked by {value['measure']} on {value['queries']} queries, "
        f"{value['judged']} of {value['pool']} pairs judged. {value['sentence']}"
    )
    return {
        "title": f"{value['name']}: results",
        "authors": imprint.authors or (f"The organisers of {value['name']}",),
        "version": f"{value['judged']} judgments",
        "abstract": abstract,
        "identifier": f"sha256:{value['content']}",
    }


# A record in plain words, for readers without knowledge of measures or statistics.


USUAL = "How similar does the candidate sound to the query?"


def facts(record: Publication) -> dict[str, str]:
    """Answers to the first questions of a reader, by question."""
    collection, ranking = record.collection, record.ranking
    asked = _asked(record)
    found = {
        "What was compared": f"{counted(len(ranking.systems), 'system')}, on "
        f"{counted(ranking.queries, 'query', 'queries')}: {counted(ranking.pool, 'result')} in all.",
        "Who judged": _who(record),
        "What they were asked": " ".join(asked) if len(asked) < 2 else "; ".join(f"“{one}”" for one in asked) + ".",
        "How to read it": _reading(record),
    }
    if not record.complete:
        found["What is still unknown"] = (
            f"{ranking.pool - ranking.judged:,} of {ranking.pool:,} results have no grade yet. Their grades are "
            "predicted; the intervals show how far the predictions may be off."
        )
    if collection.aspect == MEAN and record.aspects:
        found["Several questions"] = (
            f"Each result was graded for {', '.join(record.aspects)}. The ranking is by their mean; the ranking "
            "by each follows below."
        )
    return found


def _asked(record: Publication) -> list[str]:
    collection = record.collection
    task = collection.assessor_task
    if task is not None and task.table.aspect:
        return [one.question for one in task.table.aspect]
    own = "" if task is None else task.table.question
    return [own or collection.task or USUAL]


def _who(record: Publication) -> str:
    judgments = record.judgments
    people = len({one.assessor for one in judgments if one.assessor})
    days = sorted({one.time[:10] for one in judgments if one.time})
    by = f"{counted(people, 'person', 'people')} gave " if people else ""
    when = "" if not days else f" on {days[0]}" if days[0] == days[-1] else f" from {days[0]} to {days[-1]}"
    said = f"{by}{counted(len(judgments), 'grade')}{when}"
    return f"{said[0].upper()}{said[1:]}." if judgments else "Nobody yet: all grades are predicted."


def _reading(record: Publication) -> str:
    low, high = (f"{level:g}" for level in (record.collection.scale.levels[0], record.collection.scale.levels[-1]))
    letters = (
        " Systems that share a letter cannot be told apart: their order may be chance." if _grouped(record) else ""
    )
    return (
        f"Grades go from {low} (worst) to {high} (best), and a system's score sums up the grades of its results. "
        "The line beside a score is its 95 % interval for queries of this kind; the shorter the line, the more certain "
        f"the score.{letters}"
    )


def _grouped(record: Publication) -> bool:
    return bool(record.verdicts.group_rows())


# Bundle of a report of record for publication: a folder or a zip file, readable without the service or the program.


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


def publication_files(
    collection: Collection,
    measure: Measure,
    model: str | None,
    written: date,
    *,
    estimator: RelevanceEstimator | None = None,
    threshold: float = 0.5,
    distribution: DifferenceDistribution = "t",
    folder: str | Path | None = None,
    log: Iterable[str] | None = None,
    imprint: Imprint = NOBODY,
) -> dict[str, bytes]:
    """The files of a bundle about a collection, by name: its record, also by each aspect, and its sources' checksums.

    model      as for `estimate`
    written    date of the report
    estimator  made of the model already; None: made here
    folder     folder of the collection; None: without checksums of its files
    log        lines of a campaign's log, as JSON; None without a campaign
    """

    def start(pool: Pool) -> RelevanceEstimator:
        return make_estimator(pool, model)

    estimator = start(build_pool(collection, measure.cutoff)) if estimator is None else estimator
    record = record_of(collection, measure, estimator, threshold=threshold, distribution=distribution)
    record = replace(record, aspects=verdicts_by_aspect(collection, measure, start, distribution))
    sums = {} if folder is None else collection_checksums(folder)
    if record.model is not None:
        sums |= model_checksum(model, estimator.name)
    return bundle(record, written, sums, log, imprint)


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
    figures = {"scores": _intervals(value["systems"], "score", value["measure"])}
    if record.satisfied is not None:
        new = ("satisfied_least", "satisfied_most")
        figures["satisfied"] = _intervals(value["systems"], "satisfied", "P(Sat)", new)
    if calibrated:
        tenths = draw_tenths(record.ranking.check.chances, "place in the predictive distribution")
        figures["calibration"] = inline_svg(tenths, "judgments in each tenth of their predictive distributions")
    if len(record.curve) > 1:
        figures["curve"] = course_drawing(record.curve)
    return figures


def _intervals(rows: Sequence[Mapping[str, Any]], name: str, across: str, outer: tuple[str, str] | None = None) -> str:
    """Intervals of the systems, best on top.

    name   column to draw; its ends are in `name_low` and `name_high`
    outer  columns of a second, thinner interval
    """
    low, middle, high = ([row[key] for row in rows] for key in (f"{name}_low", name, f"{name}_high"))
    wider = None if outer is None else ([row[outer[0]] for row in rows], [row[outer[1]] for row in rows])
    labels = [str(row["system"]) for row in rows]
    return inline_svg(draw_intervals(labels, low, middle, high, across, wider), across)


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


# Checksums of the sources of a report: the files of a collection and of a model.


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
