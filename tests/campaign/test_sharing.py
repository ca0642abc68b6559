"""Several campaigns on one log: in one process, and in several."""

from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest

from audiosim.campaign import Campaign, CampaignSettings, DatabaseStore, MemoryStore
from audiosim.collection.collection import Collection
from audiosim.collection.values import Judgment
from audiosim.errors import StoreError
from audiosim.ranking.expected import estimate

DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "demo"

# Asks for two pairs and judges one, repeatedly: half of the leases are answered, half are still held.
ASSESSOR = """
from audiosim.campaign import Campaign, CampaignSettings, DatabaseStore
from audiosim.collection.collection import Collection
from audiosim.collection.values import Judgment
store = DatabaseStore(url, "shared")
campaign = Campaign(Collection.load(folder, "none"), "mout", "CG@5", store, CampaignSettings(batch=5))
begin()
for turn in range(8):
    pair = campaign.ask(2, name)[0]
    print(*campaign.tell(Judgment(*pair, 50.0, name))[:1], *pair, sep="\\t", flush=True)
"""


@pytest.mark.slow
def test_processes_on_one_database_never_lease_one_pair_to_two_assessors(database, together):
    said = together(ASSESSOR, *({"folder": DEMO, "url": database, "name": name} for name in ("ann", "bob", "cid")))
    assert [code for code, _ in said] == [0] * 3
    acknowledged = sorted(line.split("\t") for _, output in said for line in output.splitlines())
    with closing(DatabaseStore(database, "shared")) as store:
        log = list(store.read())
    holders = {}
    for _, event in log:
        assert event.kind in ("lease", "judgment")
        assert holders.setdefault(event.pair, event.assessor) == event.assessor
    judged = sorted([str(number), event.query, event.document] for number, event in log if event.kind == "judgment")
    assert judged == acknowledged
    assert len(judged) == len({tuple(pair) for _, *pair in judged}) == 24
    assert [number for number, _ in log] == list(range(1, len(log) + 1))


def test_threads_of_one_campaign_never_get_one_pair_and_lose_no_judgment():
    collection = Collection.load(DEMO, "none")
    store = MemoryStore()
    shared, other = (Campaign(collection, "mout", "CG@5", store, CampaignSettings(batch=5)) for _ in range(2))
    written = []

    def judge(campaign, name):
        for _ in range(6):
            (pair,) = campaign.ask(1, name)
            written.append(campaign.tell(Judgment(*pair, 50.0, name)).number)

    threads = [
        Thread(target=judge, args=(campaign, f"{number}")) for number, campaign in enumerate([shared] * 3 + [other] * 3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log = list(store.read())
    judged = [(number, event.pair) for number, event in log if event.kind == "judgment"]
    assert sorted(written) == [number for number, _ in judged]
    assert len({pair for _, pair in judged}) == 36
    shared.sync()
    other.sync()
    assert shared.ranking.to_dict() == other.ranking.to_dict()


def test_a_campaign_takes_in_what_another_wrote_before_it_asks_and_tells(tiny, said):
    store = MemoryStore()
    one, two = (Campaign(tiny, "mjud", "CG@2", store) for _ in range(2))
    one.tell(said())
    (asked,) = two.ask()
    assert two.selection.judged == 1
    assert asked != ("q1", "a")
    assert two.tell(said(document="b")).number == 2
    one.undo("ann", 2)
    assert two.sync() == 4
    assert [judgment.document for judgment in two.judgments()] == ["a"]
    judged = estimate(tiny, "mjud", "CG@2").to_dict() | two.ranking.to_dict()
    assert judged["judged"] == 1


def test_whoever_waited_for_a_log_that_failed_is_told_why(tmp_path):
    path = tmp_path / "campaign.db"
    with closing(DatabaseStore(f"sqlite:///{path}", "demo")) as store:
        campaign = Campaign(Collection.load(DEMO, "none"), "mout", "CG@5", store, CampaignSettings())
        pairs = campaign.ask(4, "ann")
        path.rename(tmp_path / "away.db")
        said = []

        def judge(pair):
            for _ in range(100):
                with pytest.raises(StoreError) as error:
                    campaign.tell(Judgment(*pair, 50.0, "ann"))
                said.append(str(error.value))

        threads = [Thread(target=judge, args=(pair,)) for pair in pairs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(said) == 400
    assert {one.split(":")[0] for one in said} == {f"database file {path} was moved, removed or replaced"}
