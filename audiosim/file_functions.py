"""The commands that make files, as functions of Python: a collection, a run, a study, a report.

The arguments have the names and places of the commands' own; what was made is also returned.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from audiosim.corpus.collection import Collection
from audiosim.corpus.given import as_collection
from audiosim.corpus.lines import write_text
from audiosim.corpus.model import Run
from audiosim.corpus.pool import build_pool
from audiosim.corpus.runs import run_lines, write_run
from audiosim.errors import InputError
from audiosim.expected.about import OF_THIS_KIND, THESE, About, as_about
from audiosim.expected.estimation import FEWEST_QUERIES, estimate_pool, expected_scores
from audiosim.expected.ranking import DifferenceDistribution
from audiosim.extras import need
from audiosim.measures.measure import Measure
from audiosim.plugins import find_measure, installed_frames, make_estimator, other_decoders
from audiosim.relevance.estimators import JOINT
from audiosim.relevance.provenance import source_of
from audiosim.relevance.relearning import after_judgments
from audiosim.report.screen import progress
from audiosim.selection import confidences
from audiosim.showing import frame_of, notebook_html
from audiosim.users.grading import find_grading
from audiosim.users.study import Criterion, ExampleSet, build_examples

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from audiosim.audio.describe import Failure
    from audiosim.audio.descriptions import Description
    from audiosim.audio.index import AudioIndex, Neighbour
    from audiosim.audio.music_folder import MusicFolder
    from audiosim.audio.search import Divergence
    from audiosim.simulation.worth import EvidenceWorth

Paths = str | Path | Sequence[str | Path]


@dataclass(frozen=True, eq=False)
class NearestRecordings:
    """Recordings that sound most like each query, nearest first.

    system  name of the run that they make
    found   by query
    failed  sounds to query by that could not be described
    """

    system: str
    found: Mapping[str, tuple["Neighbour", ...]]
    failed: tuple["Failure", ...] = ()

    def __repr__(self) -> str:
        return f"{len(self.found):,} queries with the recordings nearest to each, as the run of {self.system}"

    def _repr_html_(self) -> str:
        """The neighbours as notebooks show them: one line, and a table."""
        return notebook_html(repr(self), self.to_frame)

    @property
    def run(self) -> Run:
        """The neighbours as a baseline system."""
        return Run(self.system, {query: tuple(one.identifier for one in near) for query, near in self.found.items()})

    def rows(self) -> list[dict[str, Any]]:
        """One row per neighbour: query, document, rank, divergence in nats, mutual proximity where it was asked for."""
        return [
            {"query": query, "document": other.identifier, "rank": rank, "divergence": other.divergence}
            | ({} if other.proximity is None else {"proximity": None if isnan(other.proximity) else other.proximity})
            for query, near in self.found.items()
            for rank, other in enumerate(near, start=1)
        ]

    def lines(self) -> list[str]:
        """The lines of a TREC run."""
        self._check_names()
        return list(run_lines([self.run]))

    def save(self, path: str | Path) -> None:
        """Write a TREC run, in a folder that is made where it is not there."""
        self._check_names()
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_run(path, [self.run])

    def _check_names(self) -> None:
        names = {*self.found, *(one.identifier for near in self.found.values() for one in near)}
        spaced = next((name for name in sorted(names) if name.split() != [name]), None)
        if spaced is not None:
            remedy = "audiosim init FOLDER names recordings so that they can be; json and csv show them as they are"
            raise InputError(f"{spaced!r} has white space, which parts the columns of a run: {remedy}")

    def to_frame(self) -> "pd.DataFrame":
        """The rows as a pandas table."""
        return frame_of(self.rows())

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """The divergence of each rank, in the mean over the queries; new axes where None."""
        from audiosim.drawing import Line, draw_curves

        depth = max((len(near) for near in self.found.values()), default=0)
        at = [[near[rank].divergence for near in self.found.values() if rank < len(near)] for rank in range(depth)]
        line = Line(self.system, list(range(1, depth + 1)), [float(np.mean(values)) for values in at])
        return draw_curves([line], "rank", "divergence, nats", axes)


def neighbours(
    indexes: Paths,
    count: int = 5,
    system: str = "nearest",
    like: Paths | None = None,
    queries: str | Path | None = None,
    not_same_artist: str | Path | None = None,
    output: str | Path | None = None,
    *,
    by: Sequence[str] | None = None,
    divergence: "Divergence" = "js",
    mutual_proximity: bool = True,
    scheduler: str | None = None,
) -> NearestRecordings:
    """Find the recordings that sound most like each query: a baseline system.

    indexes           a folder that `extract` wrote, or several that are shards of one index
    count             neighbours of each query
    system            name of the run
    like              sounds to query by, which need not be in the index: files, folders, URLs
    queries           a queries.tsv; None: every recording is a query
    not_same_artist   a documents.tsv: recordings by the query's artist are left out
    output            file for the TREC run; None: none is written
    by                descriptions that count: "gaussians" or "levelled", names of vectors; None: Gaussians and vectors
    divergence        "kl", symmetrised Kullback-Leibler, or "js", Jensen-Shannon of Gaussians
    mutual_proximity  rank by mutual proximity, which tames hubs, or by the divergence itself
    scheduler         address of a Dask cluster that searches the shards

    Silent recordings are left out.
    """
    from audiosim.audio.descriptions import neighbours_by
    from audiosim.audio.shards import neighbours_in, neighbours_like

    shards, how = _several(indexes), {"divergence": divergence, "proximity": mutual_proximity, "scheduler": scheduler}
    if like:
        if by is not None:
            raise InputError("vectors of sounds to query by are not known: `like` goes by the Gaussians alone")
        if queries or not_same_artist:
            raise InputError("queries and not_same_artist are about recordings of the index, not about `like`")
        sounds = _described_like(shards[0], _several(like))
        found = NearestRecordings(system, neighbours_like(shards, sounds, count, **how), sounds.failed)  # type: ignore[arg-type]
    else:
        artists, own = _artists_of(not_same_artist), _queries_of(queries)
        asked = None if own is None else own.values()
        descriptions = _several_descriptions(shards, by, divergence, mutual_proximity, scheduler)
        if descriptions is None:
            near = neighbours_in(shards, asked, count, artists, **how)  # type: ignore[arg-type]
        else:
            near = neighbours_by(*descriptions, asked, count, artists)
        found = NearestRecordings(system, near if own is None else {name: near[of] for name, of in own.items()})
    if output is not None:
        found.save(output)
    return found


def _several_descriptions(
    shards: Sequence[str | Path], by: Sequence[str] | None, divergence: str, proximity: bool, scheduler: str | None
) -> "tuple[AudioIndex, tuple[Description, ...]] | None":
    """An index and the descriptions to search it by; None where its Gaussians alone count."""
    from audiosim.audio.descriptions import descriptions_of
    from audiosim.audio.index import AudioIndex
    from audiosim.corpus.sound_vectors import GAUSSIANS

    plain = len(shards) > 1 or scheduler is not None or divergence != "js" or not proximity
    if plain and by is not None and tuple(by) != (GAUSSIANS,):
        raise InputError("several descriptions are compared in one index, by Jensen-Shannon and mutual proximity alone")
    if plain:
        return None
    index = AudioIndex.load(shards[0])
    found = descriptions_of(index, by)
    return None if [one.name for one in found] == [GAUSSIANS] else (index, found)


def _several(paths: Paths) -> list[str | Path]:
    return [paths] if isinstance(paths, str | Path) else list(paths)


def _artists_of(documents: str | Path | None) -> dict[str, str | None] | None:
    from audiosim.corpus.metadata_tables import read_documents

    return {name: one.artist for name, one in read_documents(Path(documents)).items()} if documents else None


def _queries_of(queries: str | Path | None) -> dict[str, str] | None:
    from audiosim.corpus.metadata_tables import read_queries

    return read_queries(Path(queries)) if queries else None


def _described_like(index: str | Path, sounds: Sequence[str | Path]) -> "AudioIndex":
    """Sounds described as those of an index are; none at all is an error."""
    from audiosim.audio.index import AudioIndex, extract

    AudioIndex.load(index)  # complains before any sound is read
    found = extract(list(sounds), parameters=installed_frames(Path(index)), decoders=other_decoders())
    if not found.ids:
        raise InputError(f"none of the sounds to query by could be described, expected one at least: {sounds[0]}")
    return found


def init(
    folder: str | Path, output: str | Path, *, queries: int = 50, seed: int = 0, jobs: int | None = None
) -> "MusicFolder":
    """Turn a music folder into a collection: read its tags, index its sound, draw a first sample of queries.

    folder   with sound files; nothing in it is changed
    output   folder of the collection
    queries  recordings to draw as queries, at most
    seed     of that sample
    jobs     worker processes; None: one per core

    Called again it goes on where it was stopped, and takes in what is new.
    """
    from audiosim.audio.music_folder import collect
    from audiosim.relevance.evidence_effects import prepare_closeness

    with progress("extracting") as show:
        made = collect(
            folder,
            output,
            queries=queries,
            seed=seed,
            n_jobs=jobs or -1,
            progress=lambda done, failed, total: show(done + failed, total),
        )
    prepare_closeness(made.collection)
    return made


def sample_study(
    collection: object,
    output: str | Path | None = None,
    measures: Sequence[str] = ("CG@5",),
    scales: Sequence[str] = (),
    wanted: int = 200,
    cutoff: int = 5,
    *,
    judgments: object = None,
    seed: int = 0,
) -> ExampleSet:
    """Choose pairs of lists to show people, from judged documents, so that all differences in score occur.

    collection  or its folder, judged
    output      file that people's answers go into; None: none is written
    scales      artificial ones such as "graded-4" to balance over besides the collection's own
    wanted      examples for each measure, scale and tenth of difference
    cutoff      length of the lists
    judgments   as of `estimate`
    """
    collection = as_collection(collection, judgments)
    own = collection.scale
    gradings = [None, *(find_grading(name, own) for name in scales if name != own.name)]
    criteria = [Criterion(find_measure(text), own, grading) for grading in gradings for text in measures]
    with progress("choosing") as show:
        found = build_examples(
            {own.name: collection.grades()},
            criteria,
            np.random.default_rng(seed),
            cutoff=cutoff,
            wanted=wanted,
            progress=show,
        )
    if output is not None:
        write_text(Path(output), found.lines())
    return found


def write_report(
    collection: object,
    output: str | Path = "report.html",
    measures: Sequence[str] = ("CG@5",),
    model: str | None = None,
    *,
    distribution: DifferenceDistribution = "t",
    about: About | str | Sequence[str] | None = None,
    judgments: object = None,
    success: float = 0.5,
    evidence: bool = False,
    folder: str | Path | None = None,
    log: str | None = None,
) -> Path:
    """Write a report: one self-contained page, or a bundle to publish.

    collection  or its folder
    output      a page where it ends in .html; else a bundle, as a .zip file or a folder
    measures    of the page; where judgments are missing, and of a bundle, the first
    about       which queries it is about, such as "these"; None: queries of this kind
    judgments   as of `estimate`, or the URL of the database of the collection's campaign
    success     share of satisfied users above which a result list is a success, for a bundle
    evidence    also report what each piece of evidence is worth, as `worth` does; for a page
    folder      of a `Collection`, whose files a bundle has checksums of
    log         URL of the database whose log a bundle holds; None: `judgments`, where that is one

    The command of it is `audiosim report`.
    """
    need("plots", "a report")
    url, output = judgments if isinstance(judgments, str) and "://" in judgments else None, Path(output)
    read = as_collection(collection, judgments) if url is None else _campaign_of(collection, url)
    what, subject = find_measure(measures[0]), as_about(about, OF_THIS_KIND) if about else OF_THIS_KIND
    if output.suffix == ".html":
        write_text(output, [_page(read, measures, what, model, distribution, subject, evidence)])
        return output
    if evidence:
        raise InputError(f"--evidence is for a page, which ends in .html, got {output}")
    folder = collection if isinstance(collection, str | Path) else folder
    _write_record(read, what, model, distribution, success, folder, log or url, output)
    return output


def _campaign_of(collection: object, url: str) -> Collection:
    """A collection with the judgments of its campaign in a database."""
    from audiosim.campaign import judgments_in

    read = as_collection(collection)
    return replace(read, judgments=tuple(judgments_in(url, read)))


def _page(
    collection: Collection,
    measures: Iterable[str],
    what: Measure,
    model: str | None,
    distribution: DifferenceDistribution,
    subject: About,
    evidence: bool,
) -> str:
    """The text of a page: of scores where all is judged, of expected scores where not."""
    from audiosim.evaluation import evaluate
    from audiosim.report.evaluation_page import campaign_page, evaluation_page
    from audiosim.report.rendering import origin_of

    pool = build_pool(collection, what.cutoff)
    grades = pool.spread(collection.grades())
    worth = _worth_of(collection, what) if evidence else None
    origin = origin_of(date.today(), source_of(pool, grades))
    if not np.isnan(grades).any():
        found = {measure: evaluate(collection, find_measure(measure)) for measure in measures}
        return evaluation_page(collection.name, found, worth, origin)
    estimator = after_judgments(pool, make_estimator(pool, model or JOINT), collection.judgments)
    expected, order = expected_scores(what, pool), pool.locate_judged(collection.grades())
    subject = subject if len(pool.queries) >= FEWEST_QUERIES else THESE
    ranking = estimate_pool(expected, estimator, grades, distribution, order, subject)
    curve = confidences(pool, what, estimator, collection.judgments, distribution=distribution, about=subject)
    return campaign_page(collection.name, ranking, curve, worth, {**origin, "Model": ranking.model})


def _worth_of(collection: Collection, measure: Measure) -> "EvidenceWorth":
    from audiosim.simulation.worth import worth

    with progress("leaving out") as show:
        return worth(collection, measure=measure, show=show)


def _write_record(
    collection: Collection,
    measure: Measure,
    model: str | None,
    distribution: DifferenceDistribution,
    success: float,
    folder: str | Path | None,
    url: str | None,
    output: Path,
) -> None:
    """Write the bundle to publish, with the campaign's log where the judgments are of one."""
    from audiosim.campaign.reading import log_in, log_lines
    from audiosim.record import record_of
    from audiosim.report.bundle import bundle, write_bundle
    from audiosim.report.file_sums import collection_checksums, model_checksum

    pool = build_pool(collection, measure.cutoff)
    estimator = make_estimator(pool, model or JOINT)
    record = record_of(collection, measure, estimator, threshold=success, distribution=distribution)
    sums = {} if folder is None else collection_checksums(Path(folder))
    if record.model is not None:
        sums |= model_checksum(model, estimator.name)
    log = None if url is None else log_lines(log_in(url, collection))
    write_bundle(bundle(record, date.today(), sums, log), output)
