"""Examples in the help texts that need a service, and its options for rankings, each with its own server."""

import shlex

import pytest

from audiosim.collection.values import Run
from audiosim.collection.written import write_run


def ranking(server, collection="small"):
    with server.client() as http:
        return http.get(f"/v1/collections/{collection}/ranking").json()


@pytest.mark.slow
def test_a_served_ranking_goes_by_the_distribution_asked_for(commanded, folders, tmp_path):
    stated = {}
    for which in ("t", "normal"):
        with commanded(folders[:1], tmp_path / which, "--model", "mout", AUDIOSIM_DISTRIBUTION=which) as server:
            stated[which] = ranking(server)
    # Student's t has the heavier tails, so its confidence is closer to one half; expected scores are the same.
    assert stated["t"]["confidence"] < stated["normal"]["confidence"]
    scores = [[row["expectation"] for row in one["systems"]] for one in stated.values()]
    assert scores[0] == scores[1]


@pytest.mark.slow
def test_the_demo_serves_its_pages_on_a_campaign_of_which_nothing_is_judged(commanded, port, tmp_path):
    options = {"verb": "demo", "port": port, "BROWSER": "true", "LOKY_MAX_CPU_COUNT": "1"}
    with commanded([tmp_path / "demo"], tmp_path / "log", "--serve", **options) as server, server.client() as http:
        assert http.get("/v1/collections/demo/campaign").json()["judged"] == 0
        for page in ("judge", "organise"):
            assert "text/html" in http.get(f"/{page}/demo").headers["content-type"]
        assert server.says(f"judge pairs at http://127.0.0.1:{port}/judge/demo")
        assert server.stop() == 0


@pytest.fixture
def own(tmp_path):
    """Collection in which one of two results is the query's own recording."""
    folder = tmp_path / "own"
    folder.mkdir()
    write_run(folder / "runs.trec", [Run("S", {"q": ("q", "b", "c")}), Run("T", {"q": ("b", "c")})])
    return folder


@pytest.mark.parametrize(("choice", "pool", "noted"), [("keep", 3, False), ("drop", 2, True), (None, 3, True)])
def test_a_server_keeps_or_drops_results_by_the_query_s_own_artist(commanded, own, tmp_path, choice, pool, noted):
    settings = {"AUDIOSIM_SAME_ARTIST": choice or ""}
    with commanded([own], tmp_path / "log", "--model", "uniform", **settings) as server:
        assert ranking(server, "own")["pool"] == pool
        said = server.log.read_text("utf-8")
    assert ("1 result is the query's own recording" in said) == noted


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "audiosim join http://127.0.0.1:8000/v1/collections/demo new-system.trec",
        "audiosim estimate demo --model remote:http://127.0.0.1:8000",
        "audiosim import http://127.0.0.1:8000/v1/collections/demo demo/judgments.csv",
        "audiosim adjudicate http://127.0.0.1:8000/v1/collections/demo",
        "audiosim adjudicate http://127.0.0.1:8000/v1/collections/demo q01 d027 carol",
    ],
)
def test_an_example_that_asks_a_server_runs(commanded, run, own, tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    demo = own.rename(tmp_path / "demo")
    write_run(tmp_path / "new-system.trec", [Run("new", {"q": ("c", "b")})])
    (demo / "judgments.csv").write_text("query,document,fine\nq,b,70\n", encoding="utf-8")
    # As in the example of `serve`, but on a free port.
    with commanded([demo], tmp_path / "log", "--db", "sqlite:///demo/campaign.db", AUDIOSIM_JUDGMENTS="none") as server:
        words = shlex.split(text.replace("http://127.0.0.1:8000", server.url).replace("q01 d027", "q b"))
        code, out, said = run(*words[1:])
    assert code == 0, said + out
