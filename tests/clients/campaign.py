"""A whole campaign, by a client generated from /openapi.json with openapi-python-client.

python campaign.py URL TOKEN COLLECTION
"""

import json
import sys

from audiosim_client import AuthenticatedClient
from audiosim_client.api.campaign import close, publish_page, publish_record, resume, show_campaign, show_ranking
from audiosim_client.api.creating import make_collection
from audiosim_client.api.judging import add_judgment, export_judgments, lease_pairs
from audiosim_client.api.results import published_file
from audiosim_client.models import JudgmentIn, NewCollectionIn, NextIn, ProblemOut, PublicationIn, TurnIn

url, token, collection = sys.argv[1:]
service = AuthenticatedClient(url, token, raise_on_unexpected_status=True, timeout=60)


def value(answer):
    """The value of an answer; a refusal ends the program with the service's words."""
    if isinstance(answer, ProblemOut):
        raise SystemExit(answer.detail)
    return answer


runs = {
    "near": {"q1": ["a2", "b2", "c1"], "q2": ["d2", "e1", "f2"]},
    "far": {"q1": ["c1", "g0", "h0"], "q2": ["i0", "e1", "j0"]},
}
settings = {"title": "Two systems", "measure": "CG@3", "stopping_rule": "judgments=10"}
tables = NewCollectionIn.from_dict(
    {"name": collection, "runs": runs, "scale": "0-2", "cutoff": 3, "settings": settings}
)
value(make_collection.sync(client=service, body=tables))
again = make_collection.sync(client=service, body=tables)
value(resume.sync(collection, client=service, body=TurnIn()))

while pairs := value(lease_pairs.sync(collection, client=service, body=NextIn(assessor="ann", count=4))).pairs:
    for pair in pairs:
        judgment = JudgmentIn(pair.query, pair.document, assessor="ann", grade=int(pair.document[-1]), seconds=2)
        value(add_judgment.sync(collection, client=service, body=judgment))
refused = add_judgment.sync(collection, client=service, body=JudgmentIn("q1", "a2", assessor="ann", grade=7))

campaign = value(show_campaign.sync(collection, client=service))
ranking = value(show_ranking.sync(collection, client=service))
exported = value(export_judgments.sync(collection, client=service, format_="csv"))
value(close.sync(collection, client=service, body=TurnIn(reason="done")))
published = value(publish_page.sync(collection, client=service, body=PublicationIn(authors=["Ann Smith"])))
page = published_file.sync_detailed(collection, published.number, "index.html", client=service).content.decode()
record = json.loads(published_file.sync_detailed(collection, published.number, "record.json", client=service).content)
bundle = value(publish_record.sync(collection, client=service))

print(  # noqa: T201  the answer of this program
    json.dumps(
        {
            "problems": [again.detail, refused.detail],
            "status": campaign.status,
            "reached": campaign.goal.reached,
            "judged": ranking.judged,
            "scores": {one.system: one.expectation for one in ranking.systems},
            "exported": len(exported.splitlines()),
            "page": "Two systems" in page,
            "published": [one["system"] for one in record["systems"]],
            "bundle": bundle.payload.read(2).decode(),
        }
    )
)
