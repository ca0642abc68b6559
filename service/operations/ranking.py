"""The basis of a row of the ranking: a system's queries, its results for one of them, and two systems compared."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query

from audiosim.ranking.about import About
from audiosim.service.collections.ranking import GroundedRanking
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


@dataclass
class Seen:
    """The ranking of a request: by a measure, about queries and people, and of one aspect.

    FastAPI builds it from the arguments of its route.
    """

    one: CollectionDep
    rankings: RankingsDep
    measure: MeasureQuery = None
    about: AboutQuery = None
    aspect: AspectQuery = ""

    @property
    def subject(self) -> About:
        """The queries and people."""
        return self.one.campaign.selection.about if self.about is None else About.parse(self.about)

    async def through(self, find: Callable[[int, GroundedRanking], Made], *what: Hashable) -> Made:
        """Find something in the ranking, once for all requests that ask for the same at one time."""

        def work() -> Made:
            return find(*self.one.grounded(self.measure, self.aspect))

        what = self.one, *what, self.one.measure(self.measure), self.subject, self.aspect
        return await self.rankings.do(what, work)


SeenDep = Annotated[Seen, Depends()]


@router.get("/collections/{collection}/system-queries")
async def show_system_queries(seen: SeenDep, system: SystemQuery) -> SystemQueriesOut:
    """Show a system's expected score for each query, with its 95 % interval, and how many of its results are judged."""

    def find(number: int, grounded: GroundedRanking) -> SystemQueriesOut:
        found, ranking = grounded.of_queries(system, seen.subject), grounded.stated(seen.subject)
        return SystemQueriesOut.from_domain(seen.one, number, seen.aspect, ranking, system, found)

    return await seen.through(find, "queries", system)


@router.get("/collections/{collection}/result-list")
async def show_result_list(seen: SeenDep, system: SystemQuery, query: QueryNameQuery) -> ResultListOut:
    """Show a system's results for a query in the order of their ranks: grades, expected grades, and who judged."""

    def find(number: int, grounded: GroundedRanking) -> ResultListOut:
        clips = grounded.clips(system, query, seen.subject)
        score = next((row for row in grounded.of_queries(system, seen.subject) if row.query == query), None)
        said: dict[str, Any] = {"state": number, "measure": str(grounded.expected.measure), "aspect": seen.aspect}
        highest = grounded.pool.scale.maximum
        return ResultListOut.from_domain(seen.one, query, score, clips, system=system, highest=highest, **said)

    return await seen.through(find, "results", system, query)


@router.get("/collections/{collection}/two-systems")
async def compare_systems(
    seen: SeenDep, a: OneSystemQuery, b: OtherSystemQuery, count: MostQuery = 10
) -> TwoSystemsOut:
    """Compare two systems: the probability that the first is better, the difference, and what decides between them.

    This is the verdict of `audiosim compare`, by default about the queries and people of the ranking. With it come the
    queries that contribute most to the difference, those on which it is least certain, and the pairs whose judgment
    would give most information about it.
    """

    def find(number: int, grounded: GroundedRanking) -> TwoSystemsOut:
        found = grounded.of_two(a, b, seen.subject)
        queries, telling = grounded.differences(a, b, seen.subject), grounded.telling(a, b, count)
        return TwoSystemsOut.from_domain(seen.one, found, queries, telling, count, state=number, aspect=seen.aspect)

    return await seen.through(find, "two", a, b, count)
