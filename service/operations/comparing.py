"""Comparisons of two documents by their closeness to a query: handed out, answered and exported."""

from typing import Annotated

from fastapi import Body, Request, Response

from audiosim.collection.written import comparison_lines
from audiosim.service.access.callers import ASSESSOR, CallerDep
from audiosim.service.http.exchange import CollectionDep, FreshDep, attachment, chapter, sends
from audiosim.service.operations.exports import STATE
from audiosim.service.operations.judging import (
    WRITES,
    OpenLinksDep,
    SharesDep,
    WritingDep,
    allowance,
    check_admitted,
    fair_share,
    named_assessor,
)
from audiosim.service.types.judging import (
    ComparisonIn,
    ComparisonLeaseOut,
    NextComparisonsIn,
    NextComparisonsOut,
    RecordOut,
)

router = chapter("judging")
TABLE = "text/tab-separated-values"


@router.post("/collections/{collection}/comparisons/next", dependencies=[ASSESSOR])
def lease_comparisons(
    request: Request,
    caller: CallerDep,
    one: CollectionDep,
    shares: SharesDep,
    links: OpenLinksDep,
    asked: Annotated[NextComparisonsIn, Body()],
) -> NextComparisonsOut:
    """Comparisons to answer next, if they are worth more of the assessor's time than grades.

    They belong to the assessor until their leases end. A campaign without comparisons always answers
    `grade`, and values neither.
    """
    assessor, campaign = named_assessor(caller, one, asked.assessor), one.campaign
    check_admitted(one, assessor)
    campaign.refresh()
    worth = campaign.comparisons.worth(assessor)
    left = min(worth.left, allowance(links, one, assessor))
    count = min(asked.count, left, fair_share(request, caller, one, shares, assessor)) if left else 0
    chosen = campaign.comparisons.ask(count, assessor) if count and worth.kind == "comparison" else []
    found = [ComparisonLeaseOut.from_domain(one, lease, one.called(caller.role)) for lease in chosen]
    return NextComparisonsOut(assessor, campaign.current_state.number, *worth._replace(left=left), found)


@router.post("/collections/{collection}/comparisons", dependencies=[ASSESSOR], **WRITES)
def add_comparison(writing: WritingDep, said: Annotated[ComparisonIn, Body()]) -> RecordOut:
    """Record a comparison; the assessor's earlier one of these documents stays in the log but no longer counts."""
    one = writing.one
    one.campaign.comparisons.check_taken()
    assessor = writing.assessor(said.assessor)
    said = writing.with_names(said, "query", "document_a", "document_b")
    seconds, documents = (said.query_played_s, said.a_played_s, said.b_played_s), (said.document_a, said.document_b)
    heard = one.sounds.heard(said.query, documents, seconds, one.listen_s)
    rushed = not heard and not one.campaign.comparisons.answered(assessor, said.query, documents)
    event = said.to_domain(assessor, writing.key, one.judging.clock_of(one.store), rushed)
    with writing.unnamed(said.query, said.document_a, said.document_b):
        return writing.written(one.campaign.tell(event))


@router.get(
    "/collections/{collection}/comparisons",
    **sends("The comparisons that hold; the header Audiosim-State says in which state", TABLE),
)
def export_comparisons(one: FreshDep) -> Response:
    """The comparisons in force, including the collection's own, as a comparisons.tsv."""
    number, found = one.campaign.comparisons.in_force()
    headers = {STATE: str(number), **attachment(f"{one.collection.identifier}-{number}-comparisons.tsv")}
    text = "".join(f"{line}\n" for line in comparison_lines(found))
    return Response(text, headers=headers, media_type=TABLE)
