"""The basis of a row of the ranking: a system's queries, its results for one of them, and two systems compared."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import Query

from audiosim.ranking.about import About
from audiosim.service.collections.ranking import GroundedRanking
from audiosim.service.collections.served import ServedCollection
from audiosim.service.http.exchange import CollectionDep, chapter
from audiosim.service.operations.campaign import AboutQuery, AspectQuery, MeasureQuery, RankingsDep
from audiosim.service.types.base import Wire
from audiosim.service.types.campaign import ResultListOut, SystemQueriesOut, TwoSystemsOut

router = chapter("campaign")

Made = TypeVar("Made", bound=Wire)
SystemQuery = Annotated[str, Query(max_length=1000, description="name of the system, as the ranking has it")]
QueryNameQuery = Annotated[str, Query(max_length=1000, description="name of the query")]
OneSystemQuery = Annotated[str, Query(max_length=1000, description="name of one system")]
OtherSystemQuery = Annotated[str, Query(max_length=1000, description="name of the system to compare it with")]
MostQuery = Annotated[int, Query(ge=1, le=1000, description="how many queries and pairs of each kind")]


@router.get("/collections/{collection}/system-queries")
async def show_system_queries(
    one: CollectionDep,
    rankings: RankingsDep,
    system: SystemQuery,
    measure: MeasureQuery = None,
    about: AboutQuery = None,
    aspect: AspectQuery = "",
) -> SystemQueriesOut:
    """Show a system's expected score for each query, with its 95 % interval, and how many of its results are judged."""
    seen = _Seen(one, measure, about, aspect)

    def find(number: int, grounded: GroundedRanking) -> SystemQueriesOut:
        found = grounded.of_queries(system, seen.about)
        return SystemQueriesOut.from_domain(one, number, aspect, grounded.stated(seen.about), system, found)

    return await rankings.do((one, "queries", system, *seen.key), lambda: seen.through(find))


@router.get("/collections/{collection}/result-list")
async def show_result_list(
    one: CollectionDep,
    rankings: RankingsDep,
    system: SystemQuery,
    query: QueryNameQuery,
    measure: MeasureQuery = None,
    about: AboutQuery = None,
    aspect: AspectQuery = "",
) -> ResultListOut:
    """Show a system's results for a query in the order of their ranks: grades, expected grades, and who judged."""
    seen = _Seen(one, measure, about, aspect)

    def find(number: int, grounded: GroundedRanking) -> ResultListOut:
        clips = grounded.clips(system, query, seen.about)
        score = next((row for row in grounded.of_queries(system, seen.about) if row.query == query), None)
        said: dict[str, Any] = {"state": number, "measure": str(grounded.expected.measure), "aspect": aspect}
        highest = grounded.pool.scale.maximum
        return ResultListOut.from_domain(one, query, score, clips, system=system, highest=highest, **said)

    return await rankings.do((one, "results", system, query, *seen.key), lambda: seen.through(find))


@router.get("/collections/{collection}/two-systems")
async def compare_systems(
    one: CollectionDep,
    rankings: RankingsDep,
    a: OneSystemQuery,
    b: OtherSystemQuery,
    measure: MeasureQuery = None,
    about: AboutQuery = None,
    aspect: AspectQuery = "",
    count: MostQuery = 10,
) -> TwoSystemsOut:
    """Compare two systems: the probability that the first is better, the difference, and what decides between them.

    This is the verdict of `audiosim compare`, by default about the queries and people of the ranking. With it come the
    queries that contribute most to the difference, those on which it is least certain, and the pairs whose judgment
    would give most information about it.
    """
    seen = _Seen(one, measure, about, aspect)

    def find(number: int, grounded: GroundedRanking) -> TwoSystemsOut:
        found = grounded.of_two(a, b, seen.about)
        queries, telling = grounded.differences(a, b, seen.about), grounded.telling(a, b, count)
        return TwoSystemsOut.from_domain(one, found, queries, telling, count, state=number, aspect=aspect)

    return await rankings.do((one, "two", a, b, count, *seen.key), lambda: seen.through(find))


class _Seen:
    """The ranking of a request."""

    def __init__(self, one: ServedCollection, measure: str | None, about: list[str] | None, aspect: str) -> None:
        self._one, self._measure, self._aspect = one, measure, aspect
        self.about = one.campaign.selection.about if about is None else About.parse(about)
        self.key = (one.measure(measure), self.about, aspect)

    def through(self, find: Callable[[int, GroundedRanking], Made]) -> Made:
        return find(*self._one.grounded(self._measure, self._aspect))
