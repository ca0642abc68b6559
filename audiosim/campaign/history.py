"""History of rankings: a campaign in the course of its judgments, or several releases; each look has a date."""

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import numpy as np
from annotated_types import Ge

from audiosim.campaign.reader import log_in
from audiosim.campaign.state import Ledger, before_log, what_compares
from audiosim.collection.collection import Collection
from audiosim.collection.values import Judgment, PairedComparison
from audiosim.errors import AudiosimError, InputError, check_count
from audiosim.joint.estimators import comparing, make_estimator
from audiosim.measures.measure import Measure
from audiosim.ranking.about import THESE, About, DifferenceDistribution, as_about
from audiosim.ranking.expected import estimate_after, expected_scores, to_rank
from audiosim.ranking.ranking import Ranking, score_rows
from audiosim.results.plots import draw_looks
from audiosim.results.progress import progress
from audiosim.results.value import Result, Row, listed, parts, plain
from audiosim.stats.inference.ties import shared_ranks
from audiosim.tables.text import check_regular, parse_json
from audiosim.text import counted, one_line

if TYPE_CHECKING:
    from altair import LayerChart

InForce = tuple[str | None, tuple[Judgment, ...], tuple[PairedComparison, ...]]  # time, with the answers in force then

LOOKS = 10
RECORD = "record.json"  # name in a bundle, beside its page
MOST_BYTES = 2**26  # of a saved result
WANTED = "a result of audiosim estimate --format json, or the record.json of a bundle"


@dataclass(frozen=True, slots=True)
class RankedScore:
    """Rank of one system at one look, shared by equal ones, and its score with the 95 % interval."""

    system: str
    rank: int
    score: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Look:
    """Ranking at one time.

    source      collection, or file with the result
    time        ISO 8601 date or time; None if the source gives none
    measure     measure of the scores
    about       subject of the confidence, in words
    judged      judged pairs of the pool
    pool        number of pairs
    confidence  confidence in the ranking; None if there is nothing to order
    ranked   systems, best first
    """

    source: str
    time: str | None
    measure: str
    about: str
    judged: int
    pool: int
    confidence: float | None
    ranked: tuple[RankedScore, ...]

    @classmethod
    def of(cls, ranking: Ranking, source: str, time: str | None = None) -> "Look":
        """The look at a ranking."""
        ranked = _ranked(score_rows(ranking))
        confidence, about = ranking.confidence, ranking.about.words
        return cls(source, time, str(ranking.measure), about, ranking.judged, ranking.pool, confidence, ranked)

    @classmethod
    def of_saved(cls, value: Mapping[str, Any], source: str) -> "Look":
        """The look at a result saved as JSON: by `audiosim estimate --format json`, or in a bundle."""
        subject = (value.get("beside") or value).get("about") or THESE.to_dict()
        about = as_about([subject["queries"], subject["listeners"]]).words
        shape = value["measure"], about, value["judged"], value["pool"], value["confidence"]
        return cls(source, value.get("written"), *shape, _ranked(value["systems"]))


@dataclass(frozen=True, eq=False)
class RankingHistory(Result):
    """Looks at a ranking, in the given order: of one campaign, or of several releases.

    looks  all by one measure; the systems need not be the same
    """

    looks: tuple[Look, ...]

    def __post_init__(self) -> None:
        if not self.looks:
            raise InputError("a history needs at least one look")
        first = self.looks[0]
        for look in self.looks:
            if look.measure != first.measure:
                raise InputError(
                    f"expected one measure: {first.source} has {first.measure}, {look.source} {look.measure}"
                )

    def __repr__(self) -> str:
        first, last = self.looks[0], self.looks[-1]
        sure = ["-" if one.confidence is None else f"{one.confidence:.3f}" for one in (first, last)]
        return (
            f"{counted(len(self.looks), 'look')} at {counted(len(self.systems), 'system')} by {first.measure}: "
            f"confidence {sure[0]} with "
            f"{first.judged} judged, {sure[1]} with {last.judged}"
        )

    @property
    def systems(self) -> tuple[str, ...]:
        """All systems: those of the last look, best first, then those only in earlier ones."""
        return tuple(dict.fromkeys(one.system for look in reversed(self.looks) for one in look.ranked))

    def look_rows(self) -> list[Row]:
        """One row per look: source, time, judged, pool, confidence, about, best, and pairs that changed their order.

        swapped  pairs of systems whose order differs from the previous look; None for the first look
        """
        swapped = [None, *(_swapped(before, after) for before, after in pairwise(self.looks))]
        return [
            parts(look, "source", "time", "judged", "pool", "confidence", "about")
            | {"best": listed([one.system for one in look.ranked if one.rank == 1]), "swapped": count}
            for look, count in zip(self.looks, swapped, strict=True)
        ]

    def rows(self) -> list[Row]:
        """One row per look and system: look (from 1), source, judged, confidence, system, rank, score, low, high."""
        return [
            {"look": number} | parts(look, "source", "judged", "confidence") | parts(one, *RankedScore.__slots__)
            for number, look in enumerate(self.looks, start=1)
            for one in look.ranked
        ]

    def to_dict(self) -> dict[str, Any]:
        """The history as plain values, ready for JSON."""
        looks = [row | {"systems": plain(look.ranked)} for row, look in zip(self.look_rows(), self.looks, strict=True)]
        return {"measure": self.looks[0].measure, "looks": looks}

    def plot(self) -> "LayerChart":
        """The score of each system at each look with its 95 % interval, the confidence below."""
        held = [{one.system: (one.low, one.score, one.high) for one in look.ranked} for look in self.looks]
        ranked = {system: [scores.get(system) for scores in held] for system in self.systems}
        named = len({look.source for look in self.looks}) > 1
        labels = [_label(look, named) for look in self.looks]
        across = "pairs judged, and confidence in the ranking"
        return draw_looks(labels, ranked, across, self.looks[0].measure)


def history(
    *sources: object,
    model: str | None = None,
    measure: str | Measure | None = None,
    looks: Annotated[int, Ge(1)] = LOOKS,
    distribution: DifferenceDistribution = "t",
    about: About | str | Sequence[str] = THESE,
    judgments: object = None,
    scale: str | None = None,
) -> RankingHistory:
    """Show how the ranking and its confidence changed: during a campaign, or from release to release.

    A collection is ranked after its first judgments, after some more, and so on, in the order of judging. With the
    judgments of `sqlite:///campaign.db` the campaign in that database is shown, with dates. Saved results are shown
    side by side, in the order given. Swapped is the number of pairs of systems that changed places since the last look.

    sources    collections, or saved results: JSON of `estimate`, or bundles of `report`
    model      as for `estimate`, for collections
    measure    measure for collections. Default: that of the saved results, else CG
               at the cutoff of each collection
    looks      number of looks at each collection, evenly spaced from before the first judgment to after the last
    distribution  distribution of a difference between systems: t, or normal as in the paper of 2013
    judgments  as for `estimate`, or the URL of the database of the collections' campaigns
    scale      scale of the judgments of collections, such as broad, 0-3 or graded-4

    Examples: `audiosim history demo --judgments sqlite:///demo/campaign.db --looks 5`

    Releases: `audiosim history release-1.json release-2.json --plot releases.png`
    """
    if not sources:
        raise InputError("expected at least one collection or saved result")
    check_count("the number of looks", looks)
    saved = [_saved(source) for source in sources]
    measure = measure or next((one.measure for one in saved if one is not None), "CG")
    found: list[Look] = []
    for source, look in zip(sources, saved, strict=True):
        if look is not None:
            found.append(look)
            continue
        url = judgments if isinstance(judgments, str) and "://" in judgments else None
        collection, what, pool = to_rank(source, measure, scale, None if url else judgments)
        if url:
            moments = list(_in_campaign(url, collection, looks))
        else:
            judged, places = collection.judgments, _places(len(collection.judgments), looks)
            moments = [(None, judged[:place], collection.comparisons) for place in places]
        expected, start = expected_scores(what, pool), make_estimator(pool, model)
        with progress("looking back") as show:
            for number, (time, held, compared) in enumerate(moments, start=1):
                knowing = comparing(start, compared, learn=True)
                ranking = estimate_after(expected, knowing, held, distribution, as_about(about))
                found.append(Look.of(ranking, collection.identifier, time))
                show(number, len(moments))
    return RankingHistory(tuple(found))


def _saved(source: object) -> Look | None:
    """The look in a file or folder; None if it is a collection."""
    if not isinstance(source, str | Path):
        return None
    path = Path(source)
    if path.is_dir():
        record = path / RECORD
        return _parsed(record, _whole(record), path.name) if record.exists() else None
    return _parsed(path, _unzipped(path) if path.suffix == ".zip" else _whole(path), path.stem)


def _whole(path: Path) -> bytes:
    if path.exists():
        check_regular(path)
    with path.open("rb") as file:
        return _bounded(path, file)


def _unzipped(path: Path) -> bytes:
    """The record in a bundle."""
    if path.exists():
        check_regular(path)
    try:
        with zipfile.ZipFile(path) as archive, archive.open(_record_in(path, archive.namelist())) as file:
            return _bounded(path, file)
    except (AudiosimError, FileNotFoundError):
        raise
    except Exception as error:  # encrypted, packed in an unknown way, damaged: each has its own error
        raise InputError(f"{path}: cannot be read as a zip file: {one_line(error)}") from None


def _record_in(path: Path, names: Sequence[str]) -> str:
    records = [one for one in names if Path(one).name == RECORD]
    if len(records) != 1:
        raise InputError(f"{path}: expected a bundle of audiosim report, found {len(records) or 'no'} {RECORD} in it")
    return records[0]


def _bounded(path: Path, file: IO[bytes]) -> bytes:
    found = file.read(MOST_BYTES + 1)
    if len(found) > MOST_BYTES:
        raise InputError(f"{path}: the result has more than {MOST_BYTES:,} bytes, expected up to that")
    return found


def _parsed(path: Path, text: bytes, name: str) -> Look:
    value = parse_json(path, 1, text, WANTED)
    try:
        return Look.of_saved(value, name)
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"{path}: expected {WANTED}") from None


def _in_campaign(url: str, collection: Collection, looks: int) -> Iterator[InForce]:
    """Times of the lines of a campaign's log, with the answers in force then: a withdrawn one counts until withdrawn.

    Lines that change no answer, such as leases, are left out. Answers of the folder that the log also holds were
    exported from it, and count from the time they were made.
    """
    records = log_in(url, collection)
    given = before_log(collection.judgments, (one.event for one in records))
    answered = {what_compares(one.event.comparison) for one in records if one.event.kind == "comparison"}
    compared = [one for one in collection.comparisons if what_compares(one) not in answered]
    counting = Ledger(collection.scale, given, compared)
    changing = [one.number for one in records if counting.apply(one.number, one.event)]
    wanted = {place and changing[place - 1] for place in _places(len(changing), looks)}
    ledger = Ledger(collection.scale, given, compared)
    if 0 in wanted:
        yield None, ledger.judgments(), ledger.comparisons.in_force()
    for record in records:
        ledger.apply(record.number, record.event)
        if record.number in wanted:
            yield record.event.time, ledger.judgments(), ledger.comparisons.in_force(ledger.aside.keys())


def _places(count: int, looks: int) -> list[int]:
    """Numbers of judgments after which to look, evenly spaced; a single look is at the last."""
    looks = min(looks, count + 1)
    return [count] if looks == 1 else sorted({round(step * count / (looks - 1)) for step in range(looks)})


def _ranked(rows: Sequence[Mapping[str, Any]]) -> tuple[RankedScore, ...]:
    ranks = shared_ranks(np.array([row["expectation"] for row in rows], dtype=np.float64)).tolist()
    return tuple(
        RankedScore(row["system"], rank, row["expectation"], row["low"], row["high"])
        for rank, row in zip(ranks, rows, strict=True)
    )


def _swapped(before: Look, after: Look) -> int:
    """Number of pairs of systems, in both looks, that changed their order; one that is equal in either did not."""
    ranks, later = ({one.system: one.rank for one in look.ranked} for look in (before, after))
    both = [system for system in ranks if system in later]
    return sum((ranks[a] - ranks[b]) * (later[a] - later[b]) < 0 for a, b in combinations(both, 2))


def _label(look: Look, named: bool) -> str:
    """Label of a look in a plot: source and date if there are several, judgments and confidence."""
    sure = "" if look.confidence is None else f"{100 * look.confidence:.0f} %"
    return "\n".join(filter(None, (look.source if named else "", f"{look.judged:,} judged", sure)))
