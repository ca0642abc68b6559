"""State of a campaign: its ranking, its progress, live changes; pausing, resuming and closing it."""

from typing import Annotated, Any

from fastapi import Body, HTTPException, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from audiosim.collection.aspects import MEAN
from audiosim.ranking.about import About
from audiosim.ranking.verdicts import Verdicts
from audiosim.service.access.callers import CLIENT, CallerDep
from audiosim.service.http.exchange import CollectionDep, FreshDep, ServedDep, answer, chapter, sends
from audiosim.service.http.limits import Shared
from audiosim.service.operations.judging import WRITES, CountQuery, written
from audiosim.service.process.loops import kept_beside
from audiosim.service.tasks.followers import Followers
from audiosim.service.tasks.state import part
from audiosim.service.types.campaign import CampaignOut, RankingOut
from audiosim.service.types.judging import RecordOut, TurnIn

router = chapter("campaign")

MOST_FOLLOWERS = 100
SHOWN = 200
FirstQuery = Annotated[int, Query(ge=0, le=2**31, description="how many assessors, leases and so on to skip")]
TurnBody = Annotated[TurnIn, Body()]
NO_REASON = TurnIn()
MeasureQuery = Annotated[
    str | None, Query(max_length=200, description="such as nDCG@5; that of the campaign if not given")
]

AboutQuery = Annotated[
    list[str] | None,
    Query(max_length=3, description="`these` queries or `queries` of this kind; and `panel`, `listeners` or N people"),
]

AspectQuery = Annotated[
    str, Query(max_length=200, description="one aspect of those judged; empty or `mean`: the mean of all")
]

RankingsDep = Annotated[Shared, part(lambda state: state.rankings)]


@router.get("/collections/{collection}/ranking", dependencies=[CLIENT], response_model=RankingOut)
async def show_ranking(
    one: CollectionDep,
    rankings: RankingsDep,
    measure: MeasureQuery = None,
    about: AboutQuery = None,
    aspect: AspectQuery = "",
) -> Response:
    """The systems ranked from the judgments so far, as `audiosim estimate` ranks them.

    The campaign's own measure is answered at once; rankings by others, or by one aspect, are computed a few at a time,
    and further requests are refused.
    """
    wanted, subject = one.measure(measure), None if about is None else About.parse(about)

    def rank() -> dict[str, Any]:
        number, verdicts = one.verdicts(measure, subject, aspect)
        return {"collection": one.collection.identifier, "state": number} | verdict_fields(verdicts)

    if wanted == one.campaign.selection.measure and aspect in ("", MEAN):
        return answer(await run_in_threadpool(rank))
    return answer(await rankings.do((one, wanted, subject, aspect), rank))


@kept_beside
def verdict_fields(verdicts: Verdicts) -> dict[str, Any]:
    """Verdicts as plain values, cached because drawing them takes time and many clients ask."""
    return verdicts.to_dict()


@router.get("/collections/{collection}/campaign")
def show_campaign(one: FreshDep, count: CountQuery = SHOWN, first: FirstQuery = 0) -> CampaignOut:
    """Show the campaign's progress, its assessors' pace and agreement, and what is open."""
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


@router.get("/collections/{collection}/events", **sends("Events named change, each a ChangeOut", "text/event-stream"))
async def follow_changes(
    request: Request,
    served: ServedDep,
    one: CollectionDep,
    followers: Annotated[Followers, part(lambda state: state.followers)],
) -> Response:
    """Send the campaign's state at every change, as server-sent events, until the client disconnects."""
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
