"""Every face says which pairs another model predicts, and which judgments a measure leaves unused: counted here."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from audiosim import Collection, estimate, predict
from audiosim.collection.pool import build_pool
from audiosim.service.app import create_app


@pytest.fixture(scope="module")
def made(demo, tmp_path_factory):
    """A folder with gaps: half of the documents without genre, and judgments beyond the cutoff."""
    queries = [f"q{number:02d}" for number in range(1, 6)]
    runs = tuple(replace(one, rankings={query: one.rankings[query][:5] for query in queries}) for one in demo.runs[:3])
    documents = {
        name: replace(one, genre=None if place % 2 else one.genre)
        for place, (name, one) in enumerate(demo.documents.items())
    }
    inside = {(query, top) for one in runs for query, ranked in one.rankings.items() for top in ranked[:3]}
    judged = [one for one in demo.judgments if one.query in queries]
    beyond = [one for one in judged if one.pair not in inside][:7]
    near = [one for one in judged if one.pair in inside][:4]
    folder = tmp_path_factory.mktemp("notes") / "made"
    replace(demo, runs=runs, documents=documents, judgments=(*beyond, *near), cutoff=3).save(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "why"),
    [("mout", "their genre or artist is unknown"), ("loutput", "genre"), ("mjud", "nothing that it needs is judged")],
)
def test_every_face_says_which_pairs_another_model_predicts_and_which_judgments_are_unused(
    made, model, why, tmp_path, run, in_process
):
    pool = build_pool(Collection.load(made))
    expected = Counter(row["model"] for row in predict(made, model).pairs)
    own = expected.pop(f"{model}-fine", 0)
    assert expected
    open_ = own + expected.total()
    assert open_ == len(pool.pairs) - 4
    stated = estimate(made, model)
    unused, *fallen = stated.notes
    assert unused == "CG@3 leaves 7 of 11 judged pairs unused: no system has their documents in its first 3 results"
    assert len(fallen) == len(expected)
    for name, count in expected.items():
        said = f"{name} predicts {count:,} of the {open_:,} unjudged pairs in place of {model}-fine: "
        assert [note.startswith(said) and why in note for note in fallen].count(True) == 1, name
    ideal = unused.replace("CG@3 leaves", "nDCG@3 uses").replace("unused", "only for the ideal ranking")
    assert estimate(made, model, "nDCG@3").notes == (ideal, *fallen)
    assert predict(made, model).notes == tuple(fallen)

    code, said, err = run("estimate", made, "--model", model, "--format", "json")
    assert (code, json.loads(said)["notes"]) == (0, list(stated.notes))
    for command in ("estimate", "predict", "next"):
        _, _, err = run(command, made, "--model", model)
        assert all(f"note: {note}\n" in err for note in fallen), command
    page = tmp_path / "page.html"
    assert run("report", made, "--model", model, "-o", page)[0] == 0
    assert all(note in page.read_text() for note in stated.notes)

    app = create_app([Collection.load(made)], model=model)
    with in_process(app) as client:
        ranking = client.get("/v1/collections/made/ranking").json()
        assert ranking["notes"] == list(stated.notes)
        asked = {"query": [one.query for one in pool.pairs], "document": [one.document for one in pool.pairs]}
        answer = client.post("/v1/collections/made/predictions", json=asked).json()
        assert answer["notes"] == fallen


@pytest.mark.slow
@pytest.mark.parametrize("command", ["simulate", "judges", "worth", "report", "plan", "evaluate"])
def test_every_command_with_a_measure_counts_the_judgments_that_it_leaves_unused(made, command, tmp_path, run):
    more = {"worth": ["--no-replays", "--judged", "0"], "report": ["-o", tmp_path / "page.html"]}.get(command, [])
    _, _, err = run(command, made, *more)
    assert "note: CG@3 leaves 7 of 11 judgments unused: no system has their documents in its first 3 results\n" in err
