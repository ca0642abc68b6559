"""The wire types of the basis of a ranking's row: a system's queries, its results for one of them, and two systems."""

from collections.abc import Sequence
from typing import Any

from audiosim.corpus.model import Pair
from audiosim.expected.ranking import Ranking
from audiosim.expected.two_systems import TwoSystems
from audiosim.service.shelf.aliases import by_name
from audiosim.service.shelf.grounded_ranking import Clip, QueryDifference, QueryScore, TellingPair
from audiosim.service.shelf.served_collection import ServedCollection
from audiosim.service.wire.base import Wire
from audiosim.service.wire.judgment_types import addresses_of
from audiosim.service.wire.state_types import AboutOut


class SystemQueriesOut(Wire):
    """A system's scores query by query; their mean is its score in the ranking, in which `rank` is its place.

    A query's interval is a statement about that query. The system's `low` and `high` come from the ranking, and are a
    statement about the subject `about`.
    """

    collection: str
    state: int
    measure: str
    model: str
    aspect: str
    system: str
    rank: int
    expectation: float
    low: float
    high: float
    about: AboutOut
    queries: list[QueryScore]

    @classmethod
    def from_domain(
        cls, one: ServedCollection, number: int, aspect: str, ranking: Ranking, system: str, queries: list[QueryScore]
    ) -> "SystemQueriesOut":
        rows = enumerate(ranking.system_rows(), start=1)
        rank, row = next((place, row) for place, row in rows if row["system"] == system)
        return cls(
            collection=one.collection.identifier,
            state=number,
            measure=str(ranking.measure),
            model=ranking.model,
            aspect=aspect,
            rank=rank,
            about=AboutOut(**ranking.about.to_dict()),
            queries=queries,
            **{key: row[key] for key in ("system", "expectation", "low", "high")},
        )


class ClipOut(Wire):
    """A result of a system. If it is `judged`, `expectation` is its grade: the mean of `grades`, which are by name.

    Otherwise `expectation` is the expected grade, with the central 95 % interval of a single grade. `gain` is the value
    in the ranking, as a share of the highest grade. `sound` is the address of the recording, null if there is none.
    """

    rank: int
    document: str
    judged: bool
    expectation: float
    low: float
    high: float
    gain: float
    grades: dict[str, float]
    sound: str | None


class ResultListOut(Wire):
    """The results of a system for a query, in the order of their ranks, down to the cutoff of the measure.

    `score` is the system's score for this query, null if no system retrieved anything; `highest` is the highest grade,
    and `query_sound` the address of the query's recording.
    """

    collection: str
    state: int
    measure: str
    aspect: str
    system: str
    query: str
    highest: float
    score: QueryScore | None
    query_sound: str | None
    clips: list[ClipOut]

    @classmethod
    def from_domain(
        cls, one: ServedCollection, query: str, score: QueryScore | None, clips: Sequence[Clip], **said: Any
    ) -> "ResultListOut":
        """The list for a query; `said` has the remaining fields."""
        pairs = [Pair(query, clip.document) for clip in clips]
        grades = one.grades_by_person(pairs, said["aspect"])
        shown = [
            ClipOut.of(clip, grades=grades[pair], sound=addresses_of(one, pair, by_name)["document_sound"])
            for pair, clip in zip(pairs, clips, strict=True)
        ]
        asked = addresses_of(one, Pair(query, ""), by_name)["query_sound"]
        return cls(one.collection.identifier, query=query, score=score, query_sound=asked, clips=shown, **said)


class TellingOut(Wire):
    """An unjudged pair, its rank in each system's results (null: not retrieved), and its expected grade.

    `share` is the part of the variance of the systems' difference that a judgment removes, null if the measure or the
    model does not give it. `low` and `high` bound an interval of a single grade.
    """

    query: str
    document: str
    rank_a: int | None
    rank_b: int | None
    expectation: float
    low: float
    high: float
    share: float | None
    query_sound: str | None
    sound: str | None

    @classmethod
    def from_domain(cls, one: ServedCollection, telling: TellingPair) -> "TellingOut":
        found = addresses_of(one, Pair(telling.query, telling.document), by_name)
        return cls.of(telling, query_sound=found["query_sound"], sound=found["document_sound"])


class TwoSystemsOut(Wire):
    """Two systems compared: the verdict of `audiosim compare` on `a` less `b`, with its basis.

    `above` is the probability that `a` is better. `more` further judgments would probably separate them; null if they
    are separated or the number is unknown. `again` is the probability of the likelier order on another sample of
    queries. `beside` is the verdict about the other kind of queries. `largest` lists the queries with the greatest
    expected differences, and `least_sure` those with the greatest variances, out of `queries`; `telling` lists the
    pairs whose judgment would give most information about the difference.
    """

    collection: str
    state: int
    aspect: str
    a: str
    b: str
    measure: str
    model: str
    judged: int
    pool: int
    expectation: float
    low: float
    high: float
    above: float
    confidence: float
    verdict: str
    sentence: str
    again: float | None
    more: int | None
    about: AboutOut
    beside: dict[str, Any] | None
    queries: int
    largest: list[QueryDifference]
    least_sure: list[QueryDifference]
    telling: list[TellingOut]

    @classmethod
    def from_domain(
        cls,
        one: ServedCollection,
        found: TwoSystems,
        queries: Sequence[QueryDifference],
        telling: Sequence[TellingPair],
        count: int,
        **said: Any,
    ) -> "TwoSystemsOut":
        """Two systems, with `count` queries of each kind. `said` has state and aspect."""
        value = found.to_dict()
        kept = {key: value[key] for key in cls.__struct_fields__ if key in value and key != "about"}
        largest = sorted(queries, key=lambda one: -abs(one.expectation))[:count]
        unsure = sorted((one for one in queries if one.variance > 0), key=lambda one: -one.variance)[:count]
        return cls(
            collection=one.collection.identifier,
            above=found.above(0.0),
            sentence=found.sentence,
            about=AboutOut(**value["about"]),
            queries=len(queries),
            largest=largest,
            least_sure=unsure,
            telling=[TellingOut.from_domain(one, pair) for pair in telling],
            **said,
            **kept,
        )
