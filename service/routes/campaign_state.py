"""Standing of a campaign: the ranking, the progress, its changes as they come; and whether it goes on."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, suppress
from typing import Annotated, Any

import msgspec
from fastapi import Body, HTTPException, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from audiosim.errors import StoreError
from audiosim.expected.about import About
from audiosim.expected.verdicts import Verdicts
from audiosim.service.callers.caller import CLIENT, CallerDep
from audiosim.service.entrance.exchange import CollectionDep, ServedDep, answer, chapter, kept
from audiosim.service.entrance.limits import Shared
from audiosim.service.process.memory import kept_beside
from audiosim.service.routes.judging import WRITES, CountQuery, written
from audiosim.service.shelf.served_collection import ServedCollection
from audiosim.service.wire.judgment_types import RecordOut, TurnIn
from audiosim.service.wire.state_types import CampaignOut, ChangeOut, RankingOut

router = chapter("campaign")

POLL_S = 0.5
HEARTBEAT_S = 15.0
MOST_FOLLOWERS = 100
SHOWN = 200
FirstQuery = Annotated[int, Query(ge=0, le=2**31, description="how many assessors, leases and so on to pass over")]
TurnBody = Annotated[TurnIn, Body()]
NO_REASON = TurnIn()
MeasureQuery = Annotated[
    str | None, Query(max_length=200, description="such as nDCG@5; that of the campaign if not given")
]

AboutQuery = Annotated[
    list[str] | None,
    Query(max_length=3, description="`these` queries or `queries` of this kind; and `panel`, `listeners` or N people"),
]

RankingsDep = Annotated[Shared, kept("rankings")]


@router.get("/collections/{collection}/ranking", dependencies=[CLIENT], response_model=RankingOut)
async def show_ranking(
    one: CollectionDep, rankings: RankingsDep, measure: MeasureQuery = None, about: AboutQuery = None
) -> Response:
    """The systems ranked from the judgments so far: what `audiosim estimate` says.

    By the campaign's own measure that is known at once; by others a few are computed at a time, and more are refused.
    """
    wanted, subject = one.measure(measure), None if about is None else About.parse(about)

    def rank() -> dict[str, Any]:
        number, verdicts = one.verdicts(measure, subject)
        return {"collection": one.collection.identifier, "state": number} | verdict_fields(verdicts)

    if wanted == one.campaign.selection.measure:
        return answer(await run_in_threadpool(rank))
    return answer(await rankings.do((one, wanted, subject), rank))


@kept_beside
def verdict_fields(verdicts: Verdicts) -> dict[str, Any]:
    """Verdicts as they are told: they take a while to draw, and many ask."""
    return verdicts.to_dict()


@router.get("/collections/{collection}/campaign")
def show_campaign(one: CollectionDep, count: CountQuery = SHOWN, first: FirstQuery = 0) -> CampaignOut:
    """Show how far the campaign is, how fast the assessors judge and how far they agree, and what is open."""
    one.campaign.refresh()
    return CampaignOut.from_domain(one, slice(first, first + count))


@router.post("/collections/{collection}/pause", **WRITES)
def pause(caller: CallerDep, response: Response, one: CollectionDep, turn: TurnBody = NO_REASON) -> RecordOut:
    """Pause judging: hand out no pairs and take no judgments until the campaign is resumed."""
    return written(one.campaign.pause(caller.name, turn.reason), response)


@router.post("/collections/{collection}/resume", **WRITES)
def resume(caller: CallerDep, response: Response, one: CollectionDep, turn: TurnBody = NO_REASON) -> RecordOut:
    """Open a paused or closed campaign again."""
    return written(one.campaign.resume(caller.name, turn.reason), response)


@router.post("/collections/{collection}/close", **WRITES)
def close(caller: CallerDep, response: Response, one: CollectionDep, turn: TurnBody = NO_REASON) -> RecordOut:
    """Close the campaign: hand out no more pairs and take no more judgments."""
    return written(one.campaign.close(caller.name, turn.reason), response)


class Followers:
    """Those who watch the changes of campaigns; they are let go when the service is stopping."""

    def __init__(self) -> None:
        self.count = 0
        self.stopping: Callable[[], bool] = lambda: False

    async def follow(
        self, kept: AbstractContextManager[object], find: Callable[[], ServedCollection], last: int | None
    ) -> AsyncIterator[bytes]:
        """Server-sent events: where the campaign stands, at once and after each change, with its number as the id.

        kept  keeps the collection open
        find  gives the collection as it is served now: runs may come to it
        last  number that the client has seen already
        """
        clock = asyncio.get_running_loop().time
        self.count += 1
        one, spoken = None, clock()
        try:
            with kept:
                while not self.stopping():
                    served = await run_in_threadpool(find)
                    change = await run_in_threadpool(_change, served, last if one in (None, served) else None)
                    one = served
                    if change is not None:
                        last, spoken = change.state, clock()
                        yield b"id: %d\nevent: change\ndata: %s\n\n" % (last, msgspec.json.encode(change))
                    elif clock() - spoken > HEARTBEAT_S:
                        spoken = clock()
                        yield b": still here\n\n"
                    await asyncio.sleep(POLL_S)
        finally:
            self.count -= 1


def _change(one: ServedCollection, last: int | None) -> ChangeOut | None:
    """Standing of a campaign, if not where it was; nothing while its log cannot be read."""
    with suppress(StoreError):
        one.campaign.refresh()
        if one.campaign.current_state.number != last:
            return ChangeOut.from_domain(one)
    return None


@router.get(
    "/collections/{collection}/events",
    response_class=Response,
    responses={
        200: {"description": "Events named change, each a ChangeOut", "content": {"text/event-stream": {}}},
    },
)
async def follow_changes(
    request: Request, served: ServedDep, one: CollectionDep, followers: Annotated[Followers, kept("followers")]
) -> Response:
    """Send the campaign's state whenever it changes, for as long as somebody listens: server-sent events."""
    if followers.count >= MOST_FOLLOWERS:
        raise HTTPException(503, f"{followers.count} clients follow changes already", {"Retry-After": "10"})
    seen = request.headers.get("last-event-id", "")
    name = one.collection.identifier
    last = int(seen) if seen.isdecimal() and len(seen) < 18 else None
    return StreamingResponse(
        followers.follow(served.collections.pinned(name), lambda: served.collection(name), last),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store"},
    )
