"""Judging with the typed client."""

import csv
import json
from concurrent.futures import ThreadPoolExecutor

import msgspec
import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.errors import InputError, ServiceError
from audiosim.joint.estimators import make_estimator
from audiosim.service.access.tokens import TokenStore
from audiosim.service.client import Client
from audiosim.service.estimator import remote
from audiosim.service.types.judging import RecordOut

PROBLEM = b'{"type":"about:blank","title":"t","status":%d,"detail":"no more coal","request_id":"r"}'
RECORD = msgspec.json.encode(RecordOut(7, "judgment", "2013-05-01T12:00:00Z", "ann", "q", "d", grade=1))


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    return f"sqlite:///{tmp_path_factory.mktemp('client') / 'campaign.db'}"


@pytest.fixture(scope="module")
def tokens(database):
    store = TokenStore(database)
    made = {role: store.create(role, role) for role in ("assessor", "organiser", "client")}
    store.close()
    return made


@pytest.fixture(scope="module")
def server(commanded, folders, database, tokens, tmp_path_factory):
    with commanded(folders, tmp_path_factory.mktemp("log") / "log", "--db", database) as running:
        yield running


@pytest.fixture
def assessor(server, tokens):
    with Client(server.url, token=tokens["assessor"]) as client:
        yield client


@pytest.fixture
def organiser(server, tokens):
    with Client(server.url, token=tokens["organiser"]) as client:
        yield client


@pytest.mark.slow
def test_an_assessor_asks_judges_and_takes_back(assessor, organiser):
    first, second = assessor.next("coarse", 2).pairs
    record = assessor.judge("coarse", first.query, first.document, broad=2, played_s=4.5, note="close")
    assert (record.assessor, record.broad, record.details) == ("assessor", 2, {"played_s": 4.5, "note": "close"})
    unheard = assessor.cannot("coarse", second.query, second.document, "it does not play")
    assert organiser.campaign("coarse").cannot[0].reason == "it does not play"
    assert assessor.undo("coarse", unheard.number).refers == unheard.number
    assert assessor.undo("coarse").refers == record.number
    assert organiser.campaign("coarse").judgments == 0


def test_the_same_key_is_the_same_judgment(assessor):
    (pair,) = assessor.next("coarse").pairs
    first = assessor.judge("coarse", *(pair.query, pair.document), broad=1, key="mine")
    again = assessor.judge("coarse", *(pair.query, pair.document), broad=1, key="mine")
    assert (first.replayed, again.replayed) == (False, True)
    assert first.number == again.number


def test_an_organiser_reads_ranking_and_files(organiser, small, tmp_path):
    ranking = organiser.ranking("small", "nDCG@4")
    assert ranking.measure == "nDCG@4"
    assert [system.expectation for system in ranking.systems] == sorted(
        (system.expectation for system in ranking.systems), reverse=True
    )
    rows = list(csv.DictReader(organiser.export("small")))
    assert [(row["query"], row["document"], float(row["grade"]), row["assessor"]) for row in rows] == [
        (j.query, j.document, j.grade, j.assessor) for j in small.judgments
    ]
    assert all(json.loads(line)["kind"] for line in organiser.export("coarse", "log"))
    pair = next(pair for pair in build_pool(small).pairs if pair not in {j.pair for j in small.judgments})
    done = organiser.import_judgments("small", f"{pair.query} 0 {pair.document} 33\n")
    assert (done.status, done.lines, done.written) == ("done", 1, 1)
    with pytest.raises(InputError, match=f"^{organiser.url} refuses: line 1: expected "):
        organiser.import_judgments("small", "nothing\n")


def test_what_a_role_may_not_do_is_said(assessor, server):
    with pytest.raises(InputError, match=f"^{server.url} refuses: the role assessor may not do this, only client and "):
        assessor.ranking("coarse")
    with pytest.raises(InputError, match="refuses: the role assessor may not do this, only organiser$"):
        list(assessor.export("coarse"))
    with Client(server.url, token="wrong") as stranger, pytest.raises(InputError, match="this token is unknown, or"):
        stranger.collections()


def test_the_environment_may_hold_the_token(server, tokens, monkeypatch, small):
    pool = build_pool(small)
    with pytest.raises(InputError, match="refuses: this needs a token: Authorization: Bearer TOKEN$"):
        remote(pool, server.url)
    monkeypatch.setenv("AUDIOSIM_TOKEN", tokens["client"])
    grades = pool.spread(small.grades())
    there, here = (
        remote(pool, f"{server.url}?model=mjud").predict(grades),
        make_estimator(pool, "mjud").predict(grades),
    )
    assert there.probabilities.tolist() == here.probabilities.tolist()


def test_what_cannot_be_a_judgment_is_not_even_sent(canned):
    nobody = canned(None)
    with Client(nobody.url) as client:
        with pytest.raises(InputError, match="^cannot be sent: .*: expected a number"):
            client.judge("c", "q", "d", fine="much")
        for name, value in (("grade", float("nan")), ("fine", float("inf")), ("seconds", np.float64("nan"))):
            with pytest.raises(InputError, match=f"^cannot be sent: {name}: expected a finite number, got {value}$"):
                client.judge("c", "q", "d", **{"broad": 1, name: value})
        with pytest.raises(InputError, match="^cannot be sent: unknown field `mood`"):
            client.judge("c", "q", "d", fine=1, mood="good")
        with pytest.raises(InputError, match=r"unknown value 'left': expected =, a, b$"):
            client.compare("c", "q", "d", "e", "left")
    assert nobody.asked == 0


@pytest.mark.slow
@pytest.mark.parametrize("trouble", [None, (503, PROBLEM % 503), (429, PROBLEM % 429)])
def test_a_judgment_that_may_not_have_arrived_is_sent_again_under_its_key(canned, trouble):
    flaky = canned(trouble, trouble, (201, RECORD))
    with Client(flaky.url) as client:
        assert client.judge("c", "q", "d", grade=1, assessor="ann").number == 7
    assert flaky.asked == 3
    assert len({headers["idempotency-key"] for headers in flaky.headers}) == 1


def test_two_judgments_have_two_keys(canned):
    server = canned((201, RECORD))
    with Client(server.url) as client:
        for _ in range(2):
            client.judge("c", "q", "d", grade=1)
    assert len({headers["idempotency-key"] for headers in server.headers}) == 2


def test_an_export_that_breaks_off_is_said(canned):
    broken = canned(None)
    with Client(broken.url) as client, pytest.raises(ServiceError, match="did not send the whole file: "):
        list(client.export("c"))


def test_many_clients_at_once_get_different_pairs(organiser, small):
    def ask(number):
        return [(pair.query, pair.document) for pair in organiser.next("small", 2, assessor=f"n{number}").pairs]

    with ThreadPoolExecutor(8) as threads:
        leased = [pair for pairs in threads.map(ask, range(8)) for pair in pairs]
    assert len(leased) == len(set(leased)) == 16
