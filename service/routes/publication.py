"""Report of record of a campaign, as a bundle to publish."""

from dataclasses import replace
from typing import Annotated

from fastapi import Query, Response

from audiosim.campaign.event import utc_now
from audiosim.campaign.log_reader import log_lines, published
from audiosim.measures.measure import Measure
from audiosim.record import record_of
from audiosim.service.entrance.exchange import CollectionDep, attachment, chapter
from audiosim.service.routes.campaign_state import MeasureQuery, RankingsDep
from audiosim.service.shelf.served_collection import ServedCollection

router = chapter("campaign")

SuccessQuery = Annotated[float, Query(ge=0, le=1, description="share of users above which a result list is a success")]


@router.get(
    "/collections/{collection}/report",
    response_class=Response,
    responses={200: {"description": "A zip file", "content": {"application/zip": {"schema": {"type": "string"}}}}},
)
async def publish_record(
    one: CollectionDep, rankings: RankingsDep, measure: MeasureQuery = None, success: SuccessQuery = 0.5
) -> Response:
    """The bundle of `audiosim report`, with the judgments so far and the campaign's log.

    It holds a page that opens without the service, tables, judgments, log, checksums and CITATION.cff. The log leaves
    out people's answers about themselves. A bundle takes seconds: a few are made at a time, and further requests are
    refused.
    """
    wanted = one.measure(measure)
    content = await rankings.do((one, "record", wanted, success), lambda: _zipped(one, wanted, success))
    headers = attachment(f"{one.collection.identifier}-record.zip")
    return Response(content, headers=headers, media_type="application/zip")


def _zipped(one: ServedCollection, measure: Measure, success: float) -> bytes:
    from audiosim.report.bundle import bundle, zipped  # Matplotlib costs start-up time that a service need not pay
    from audiosim.report.file_sums import collection_checksums, model_checksum

    one.campaign.refresh()
    number, judgments = one.campaign.snapshot()
    collection = replace(one.collection, judgments=tuple(judgments))
    estimator = one.predictor(None, measure.cutoff).estimator.plain
    record = record_of(collection, measure, estimator, threshold=success)
    sums = {} if one.folder is None else collection_checksums(one.folder)
    if record.model is not None:
        sums |= model_checksum(one.model, estimator.name)
    log = log_lines(line for line in published(one.campaign.log()) if line.number <= number)
    return zipped(bundle(record, utc_now().date(), sums, log), f"{one.collection.identifier}-record")
