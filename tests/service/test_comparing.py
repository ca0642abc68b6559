"""Comparisons over HTTP: handed out, answered, withdrawn, exported; in one process, because nothing here needs two."""

import pytest

from audiosim.campaign import CampaignSettings
from audiosim.collection.kinds import read_comparisons
from audiosim.collection.pool import build_pool
from audiosim.service.app import create_app
from audiosim.service.collections.campaigns import WAIT_S, Judging
from audiosim.service.collections.imports import import_next

COARSE = "/v1/collections/coarse"


@pytest.fixture(scope="module")
def http(coarse, in_process):
    """A service of one collection with a campaign of comparisons only."""
    settings = CampaignSettings(learn_later=True, patience_s=WAIT_S, unasked="mark", comparisons="only")
    with in_process(create_app([coarse], judging=Judging(settings=settings))) as client:
        yield client


def post(http, path, status=200, key=None, **body):
    answer = http.post(f"{COARSE}/{path}", json=body, headers={} if key is None else {"Idempotency-Key": key})
    assert answer.status_code == status, answer.text
    return answer.json()


def exported(http, tmp_path):
    answer = http.get(f"{COARSE}/comparisons")
    assert answer.headers["content-type"].startswith("text/tab-separated-values")
    file = tmp_path / "comparisons.tsv"
    file.write_text(answer.text)
    return read_comparisons(file) if answer.text.count("\n") > 1 else ()  # a header alone is no table


@pytest.mark.slow
def test_comparisons_are_handed_out_answered_once_taken_back_and_exported(http, tmp_path):
    found = post(http, "comparisons/next", assessor="lea", count=2)
    assert found["kind"] == "comparison"
    first, second = found["comparisons"]
    assert {first["query"], first["document_a"], first["document_b"]}.isdisjoint({second["document_a"]})
    said = {name: first[name] for name in ("query", "document_a", "document_b")} | {"answer": "b", "assessor": "Lea"}
    record = post(http, "comparisons", 201, "k1", **said, seconds=17.5, query_played_s=3, a_played_s=2, b_played_s=1)
    assert (record["kind"], record["assessor"], record["details"]["played_s"]) == ("comparison", "lea", 6)
    assert "unasked" not in record["details"]
    again = post(http, "comparisons", 200, "k1", **said, seconds=17.5, query_played_s=3, a_played_s=2, b_played_s=1)
    assert (again["number"], again["replayed"]) == (record["number"], True)
    (one,) = exported(http, tmp_path)
    assert (one.document_b, one.answer, one.assessor, one.seconds) == (first["document_b"], "b", "lea", 17.5)
    # a comparison never handed out is kept, but marked as not counting
    marked = post(http, "comparisons", 201, **said | {"assessor": "eve"})
    assert marked["details"]["unasked"] is True
    assert (marked["counts"], "counts" in record, "sentence" in record) == (False, False, False)
    assert marked["sentence"].startswith("kept but not used: never handed to its assessor, as `next` does; the setting")
    assert len(exported(http, tmp_path)) == 1
    ranking = http.get(f"{COARSE}/ranking").json()
    said_of = [ranking, *(http.get(f"{COARSE}/{page}").json() for page in ("campaign", "results"))]
    assert [one["comparisons"] for one in said_of] == [1, 1, 1]
    said_by_lea = http.get(f"{COARSE}/answers", params={"assessor": "lea"}).json()
    assert said_by_lea["answers"] == []
    assert [one["details"]["answer"] for one in said_by_lea["comparisons"]] == ["b"]
    assert post(http, "undo", 201, assessor="lea")["refers"] == record["number"]
    assert exported(http, tmp_path) == ()
    kinds = [one["kind"] for one in http.get(f"{COARSE}/log").json()["events"]]
    assert kinds == ["comparison", "comparison", "undo"]  # without leases
    log = http.get(f"{COARSE}/judgments", params={"format": "log"}).text
    assert '"kind": "comparison"' in log
    assert http.get(f"{COARSE}/judgments", params={"format": "csv"}).text.count("\n") == 1  # comparisons are not grades


def test_what_is_no_comparison_is_refused(http):
    first, *_ = post(http, "comparisons/next", assessor="leo")["comparisons"]
    said = {name: first[name] for name in ("query", "document_a", "document_b")} | {"assessor": "leo"}
    assert "answer" in post(http, "comparisons", 422, **said)["detail"]
    assert "'c'" in post(http, "comparisons", 422, **said, answer="c")["detail"]
    twice = said | {"document_b": said["document_a"], "answer": "a"}
    assert "expected two documents to compare" in post(http, "comparisons", 422, **twice)["detail"]
    away = said | {"document_b": "elsewhere", "answer": "a"}
    assert "elsewhere" in post(http, "comparisons", 422, **away)["detail"]
    http.post(f"{COARSE}/pause", json={})
    assert "paused" in post(http, "comparisons", 409, **said, answer="a")["detail"]
    assert "paused" in post(http, "comparisons/next", 409, assessor="leo")["detail"]
    http.post(f"{COARSE}/resume", json={})


def test_invented_names_of_one_address_do_not_hold_every_comparison(coarse, in_process):
    settings = CampaignSettings(learn_later=True, patience_s=WAIT_S, comparisons="only")
    path = f"{COARSE}/comparisons/next"
    with in_process(create_app([coarse], judging=Judging(settings=settings))) as client:
        answers = [client.post(path, json={"assessor": f"name {number}", "count": 20}) for number in range(20)]
    held = [len(answer.json()["comparisons"]) for answer in answers if answer.status_code == 200]
    assert held[0] > 0
    assert sum(held) <= (len(build_pool(coarse).pairs) + 1) // 2
    assert answers[-1].status_code == 429
    assert "half of the pairs" in answers[-1].json()["detail"]


def test_a_revised_comparison_is_not_marked_as_rushed_because_its_clips_were_heard_before(coarse, in_process):
    settings = CampaignSettings(learn_later=True, patience_s=WAIT_S, comparisons="only")
    with in_process(create_app([coarse], judging=Judging(settings=settings, listen_s=2))) as client:
        one, other = post(client, "comparisons/next", assessor="ann", count=2)["comparisons"]

        def rushed(one, assessor="ann", turned=False):
            a, b = ("document_b", "document_a") if turned else ("document_a", "document_b")
            said = {"query": one["query"], "document_a": one[a], "document_b": one[b], "answer": "a"}
            return post(client, "comparisons", 201, **said, assessor=assessor)["details"].get("rushed", False)

        assert [rushed(one), rushed(one), rushed(one, turned=True)] == [True, False, False]
        assert [rushed(other), rushed(one, assessor="bea")] == [True, True]


def test_a_campaign_says_when_only_another_person_can_go_on(coarse, in_process):
    with in_process(create_app([coarse], "uniform")) as client:

        def all_asked():
            return client.get(f"{COARSE}/campaign").json()["all_asked"]

        assert not all_asked()  # nobody was asked yet
        unheard = post(client, "next", assessor="ann")["pairs"][0]
        pair = {name: unheard[name] for name in ("query", "document")}
        post(client, "judgments", 201, **pair, cannot="silent", assessor="ann")
        while found := post(client, "next", assessor="ann", count=10)["pairs"]:
            assert not all_asked()
            for one in found:
                post(client, "judgments", 201, query=one["query"], document=one["document"], broad=1, assessor="ann")
        assert all_asked()
        (left,) = post(client, "next", assessor="bea", count=10)["pairs"]
        assert left["document"] == pair["document"]
        post(client, "judgments", 201, **pair, broad=2, assessor="bea")
        assert not all_asked()  # everything is judged: nobody can go on
        post(client, "undo", 201, assessor="bea")
        assert not all_asked()  # Bea can answer again


@pytest.mark.slow
def test_a_preference_for_the_document_shown_first_is_reported(coarse, in_process):
    settings = CampaignSettings(learn_later=True, patience_s=WAIT_S, comparisons="only")
    with in_process(create_app([coarse], judging=Judging(settings=settings))) as client:
        assert client.get(f"{COARSE}/judges", params={"machines": "false"}).json()["order_effects"] == []
        told = 0
        while told < 10:
            asked = post(client, "comparisons/next", assessor="lea", count=5)["comparisons"]
            assert asked, f"only {told} comparisons to make"
            for one in asked:
                said = {name: one[name] for name in ("query", "document_a", "document_b")}
                post(client, "comparisons", 201, **said, answer="a", assessor="lea")
            told += len(asked)
        found = client.get(f"{COARSE}/judges", params={"machines": "false"}).json()
        assert found == client.get(f"{COARSE}/judges").json()
    (effect,) = found["order_effects"]
    assert (effect["effect"], effect["value"], effect["high"], effect["count"]) == ("first", 1, 1, told)
    assert effect["low"] == pytest.approx(0.025 ** (1 / told))
    assert effect["by_chance"] is False


def imported(http, app, text, to="comparisons"):
    """The import of a file, after it was sent and read."""
    answer = http.post(f"{COARSE}/{to}/import", content=text)
    if answer.status_code == 422:
        return answer.json()
    import_next(app.state.service.served.collection("coarse"), app.state.service.imports, lambda _: False)
    return http.get(f"{COARSE}/imports").json()[0]


@pytest.mark.slow
def test_a_file_of_comparisons_is_imported_whole_or_not_at_all_and_exported_as_it_was(coarse, in_process, tmp_path):
    (query, a), (_, b), (_, c) = [pair for pair in build_pool(coarse).pairs if pair.query == "q1"][:3]
    header = "query\tdocument_a\tdocument_b\tanswer\tassessor\tseconds\n"
    lines = f"{query}\t{a}\t{b}\ta\tann\t21.5\n{query}\t{b}\t{c}\t=\tben\t\n"
    same, other = f"{query}\t{b}\t{a}\tb\tAnn\t9\n", f"{query}\t{a}\t{b}\tb\tann\t9\n"
    app = create_app([coarse], judging=Judging(settings=CampaignSettings(learn_later=True, patience_s=WAIT_S)))
    with in_process(app) as client:
        for text, problem in [
            (f"{header}{lines}{query}\t{a}\t{b}\tc\tann\t\n", "line 4: expected a, b or = as answer, got 'c'"),
            (f"{header}{lines}{query}\t{a}\t{b}\n", "line 4: expected 6 columns as in the header, found 3"),
            (
                f"{header}{lines}{query}\taway\t{b}\ta\t\t\n",
                f"line 4: no system retrieved document away for query {query}",
            ),
            (f"{header}{lines}{query}\t{b}\t{c}\ta\t\u200b\t\n", "line 4: '\\u200b' is not a name"),
            (f"{header}{lines}{same}{other}", f"line 5: another answer of ann on {a} and {b} for query {query} is on"),
            (f"{header}{lines}{query}\t{b}\t{c}\ta\t\t1000001\n", "line 4: expected seconds from 0 to 1000000"),
            (header, "line 1: the file ends after its header, expected comparisons below it"),
        ]:
            refused = imported(client, app, text)
            assert (refused["status"], refused["written"]) == ("failed", 0)
            assert refused["problem"].startswith(problem)
        refused = imported(client, app, "query,document,grade\n")
        assert refused["detail"].startswith("line 1: expected a header with query, document_a, document_b, answer")
        assert exported(client, tmp_path) == ()
        done = imported(client, app, f"\ufeff{header}{lines}{same}")
        assert (done["status"], done["lines"], done["written"]) == ("done", 2, 2)  # the same answer counts once
        assert imported(client, app, f"{header}{other}")["status"] == "done"  # in a later file it replaces the first
        held = [(one.document_a, one.answer, one.assessor, one.seconds) for one in exported(client, tmp_path)]
        assert held == [(b, "=", "ben", None), (a, "b", "ann", 9)]
        assert client.get(f"{COARSE}/ranking").json()["comparisons"] == 2
        before = exported(client, tmp_path)
        assert imported(client, app, (tmp_path / "comparisons.tsv").read_text(), "judgments")["status"] == "done"
        assert exported(client, tmp_path) == before  # and nothing was written
        for _ in range(2):  # one by one: the last answer, then the one that it replaced
            post(client, "undo", 201, assessor="ann")
        assert [one.assessor for one in exported(client, tmp_path)] == ["ben"]


def test_a_model_that_takes_no_comparisons_refuses_a_file_of_them(coarse, in_process):
    with in_process(create_app([coarse], "uniform")) as client:
        answer = client.post(f"{COARSE}/comparisons/import", content="query\tdocument_a\tdocument_b\tanswer\n")
    assert (answer.status_code, answer.json()["detail"]) == (
        422,
        "the model uniform does not support comparisons; joint does",
    )
