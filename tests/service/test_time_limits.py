"""Reading what was sent ends, within its time and with a short line, and so does a server that is told to stop."""

import gc
import json
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow.csv  # noqa: F401  an import that is interrupted leaves its file open
import pytest

from audiosim.errors import FormatError, InputError
from audiosim.service.app import create_app
from audiosim.service.collections.campaigns import Judging
from audiosim.service.collections.drafts import KIND_IN, Home
from audiosim.service.collections.imports import READINGS, Delivery, ImportStore, import_next
from audiosim.service.collections.served import ServedCollection
from audiosim.service.process.time_limit import within
from audiosim.text import LONGEST_MESSAGE


def test_reading_that_never_ends_is_stopped():
    stopped = threading.Event()

    def forever():
        try:
            while True:
                try:
                    time.sleep(0.001)
                except Exception:
                    continue
        finally:
            stopped.set()

    with pytest.raises(InputError, match=r"^reading it takes more than 0.2 s: expected a simpler or smaller file$"):
        within(0.2, forever)
    assert stopped.wait(60)


def test_a_file_whose_reading_is_stopped_is_closed_at_once():
    closed = threading.Event()

    def lines():
        try:
            yield "a line"
        finally:
            closed.set()

    def reads():
        held = lines()
        next(held)
        while True:
            time.sleep(0.001)

    gc.disable()  # what only the collector finds may stay open for long
    try:
        with pytest.raises(InputError, match="^reading it takes more than"):
            within(0.05, reads)
        assert closed.wait(60)
    finally:
        gc.enable()


def test_reading_in_time_gives_its_result_or_its_error():
    assert within(60, lambda: 7) == 7

    def fails():
        raise FormatError("a.tsv", 3, "wrong")

    with pytest.raises(FormatError, match="^a.tsv:3: wrong$"):
        within(60, fails)

    def late():
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        within(60, late)


@pytest.mark.slow
def test_an_import_that_exceeds_its_time_has_failed_and_is_not_resumed(coarse):
    one, imports = ServedCollection(coarse, "uniform", Judging()), ImportStore(None)
    query, documents = next(iter(coarse.runs[0].rankings.items()))
    lines = "".join(f"{query},{documents[0]},2,person{number}\n" for number in range(400_000))
    body = f"query,document,broad,assessor\n{lines}".encode()
    file = imports.add(Delivery.of("coarse", "ann", "", body), body)
    assert import_next(one, imports, lambda _: False, lambda _: 0.1)
    found = imports.get("coarse", file.number)
    assert (found.status, found.written) == ("failed", 0)
    assert found.problem == "reading it takes more than 0.1 s: expected a simpler or smaller file"
    assert not import_next(one, imports, lambda _: False)
    imports.close()


def test_an_import_during_whose_reading_the_service_stops_each_time_is_not_resumed_for_ever(
    coarse, tmp_path, monkeypatch
):
    monkeypatch.setattr("audiosim.service.collections.imports.SILENT_S", -1.0)  # a process that ended is known at once
    url, one = f"sqlite:///{tmp_path}/campaign.db", ServedCollection(coarse, "uniform", Judging())
    query, documents = next(iter(coarse.runs[0].rankings.items()))
    body = f"query,document,broad,assessor\n{query},{documents[0]},2,ann\n".encode()
    file = ImportStore(url).add(Delivery.of("coarse", "ann", "", body), body)
    for _ in READINGS:
        imports = ImportStore(url)  # of a service that starts, reads and is killed
        taken, _ = imports.take("coarse")
        imports.note_reading(taken)
        imports.note_reading(imports.take("coarse")[0])  # not another start: the database was away
        imports.close()
    imports = ImportStore(url)
    assert import_next(one, imports, lambda _: False)
    found = imports.get("coarse", file.number)
    assert (found.status, found.written) == ("failed", 0)
    assert found.problem == "the service stopped 3 times while reading it: expected a simpler or smaller file"
    assert not import_next(one, imports, lambda _: False)
    imports.close()


@pytest.mark.slow
def test_everything_sent_ends_soon_with_a_short_line_whatever_its_shape(small, tmp_path, in_process, shapes, ended):
    home = Home(tmp_path / "home")
    app = create_app([small], "uniform", home=home)
    kinds = sorted({*KIND_IN.values(), "judgments"})
    with in_process(app) as http:
        http.post("/v1/drafts", json={"name": "new"})
        sends = {f"draft {kind}": ("/v1/drafts/new/files", {"name": f"x/{kind}", "kind": kind}) for kind in kinds}
        sends |= {f"file {kind}": ("/v1/collections/small/files", {"name": kind}) for kind in ("runs", "documents.tsv")}
        sends |= {
            "draft": ("/v1/drafts/new/files", {"name": "x"}),
            "runs": ("/v1/collections/small/runs", {}),
            "judge": ("/v1/collections/small/judges/m", {}),
            "document": ("/v1/collections/small/documents", {}),
            "judgment": ("/v1/collections/small/judgments", {}),
            "predictions": ("/v1/collections/small/predict", {}),
            "beginning": ("/v1/drafts", {}),
            "settings": ("/v1/drafts/new/settings", {}),
        }
        for what, (path, query) in sends.items():
            for shape, text in shapes.items():
                body = json.dumps({"query": text, text: 1}) if _is_json(path) else text
                with ended():
                    answer = http.post(path, params=query, content=body, headers=_headers(path))
                assert answer.status_code < 500, (what, shape, answer.text[:500])
                if answer.status_code >= 400:
                    assert len(answer.json()["detail"]) <= LONGEST_MESSAGE, (what, shape)
        one, imports = app.state.service.served.collection("small"), ImportStore(None)
        for shape, text in shapes.items():
            for body in (text.encode(), f"query,document,fine,{text}\n".encode()):
                file = imports.add(Delivery.of("small", "ann", "", body), body)
                with ended():
                    assert import_next(one, imports, lambda _: False)
                found = imports.get("small", file.number)
                assert found.status == "failed", shape
                assert 0 < len(found.problem) <= LONGEST_MESSAGE, shape
        imports.close()


def _is_json(path):
    return path.endswith(("documents", "judgments", "predict", "drafts", "settings"))


def _headers(path):
    return {"content-type": "application/json" if _is_json(path) else "application/octet-stream"}


@pytest.mark.slow
@pytest.mark.parametrize("wish", [signal.SIGTERM, signal.SIGINT])
def test_a_server_told_to_stop_ends_in_ten_seconds_whatever_it_does(another, wish, tmp_path, wait_until):
    with ThreadPoolExecutor(1) as threads, another.client() as http:
        cut = threads.submit(http.get, "/slow", params={"folder": str(tmp_path)})  # until somebody makes a file
        wait_until((tmp_path / "begun").exists)
        told = time.monotonic()
        another.signal(wish)
        assert another.wait() == 0
        assert time.monotonic() - told < 10
        assert (cut.result().status_code, cut.result().headers["retry-after"]) == (503, "2")
    assert "stopped while something was still in progress" in another.log.read_text(encoding="utf-8")
