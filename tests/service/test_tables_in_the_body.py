"""Systems scored and ranked from tables in the body: the numbers of ir_measures, and of the library."""

import json

import ir_measures
import numpy as np
import pytest

import audiosim
from audiosim import Collection
from audiosim.service.app import create_app
from audiosim.service.collections.drafts import Home


def drawn(seed, judged=1.0):
    """Runs and qrels of a random collection, with grades from 0 to 3 of a share of the pairs."""
    draw = np.random.default_rng(seed)
    queries, documents = [f"q{n}" for n in range(6)], [f"d{n:02d}" for n in range(12)]
    runs = {
        system: {
            query: dict(zip(documents, draw.permutation(12).astype(float).tolist(), strict=True)) for query in queries
        }
        for system in ("a", "b", "c")
    }
    qrels = {query: {one: float(draw.integers(4)) for one in documents if draw.random() < judged} for query in queries}
    return runs, qrels


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("measure", ["nDCG@10", "AP(rel=2)@10", "P(rel=1)@5", "RR(rel=2)@10"])
def test_scores_of_tables_are_those_of_ir_measures(http, seed, measure):
    runs, qrels = drawn(seed)
    answer = http.post(
        "/v1/evaluate", json={"runs": runs, "judgments": qrels, "measure": measure, "scale": "0-3"}
    ).json()
    whole = {query: {one: int(grade) for one, grade in some.items()} for query, some in qrels.items()}
    theirs = {
        system: ir_measures.calc_aggregate([ir_measures.parse_measure(measure)], whole, run)
        for system, run in runs.items()
    }
    for row in answer["systems"]:
        assert row["mean"] == pytest.approx(next(iter(theirs[row["system"]].values())), abs=1e-12)
    means = [row["mean"] for row in answer["systems"]]
    assert means == sorted(means, reverse=True)


@pytest.mark.parametrize("measure", ["CG@5", "nDCG@5"])
def test_a_ranking_of_tables_is_that_of_the_library_and_of_the_scores_once_everything_is_judged(http, measure):
    for judged in (0.3, 1.0):
        runs, qrels = drawn(7, judged)
        body = {"runs": runs, "judgments": qrels, "measure": measure, "scale": "0-3", "about": ["queries"]}
        answer = http.post("/v1/estimate", json=body).json()
        collection = audiosim.Collection.from_frames(runs, qrels, scale="0-3")
        ours = audiosim.estimate(collection, measure=measure, about="queries")
        assert [row["system"] for row in answer["systems"]] == [row["system"] for row in ours.rows()]
        said = {row["system"]: row["expectation"] for row in answer["systems"]}
        assert said == pytest.approx({row["system"]: row["expectation"] for row in ours.rows()}, abs=1e-12)
    scores = http.post("/v1/evaluate", json={"runs": runs, "judgments": qrels, "measure": measure, "scale": "0-3"})
    assert said == pytest.approx({row["system"]: row["mean"] for row in scores.json()["systems"]}, abs=1e-9)


def trec(rankings, system):
    """A run as trec_eval reads it: scores order the documents."""
    return "".join(
        f"{query} Q0 {document} 0 {score:g} {system}\n"
        for query, scored in rankings.items()
        for document, score in scored.items()
    )


def table(rows, between, head):
    return "\r\n".join(between.join(map(str, row)) for row in [head, *rows]) + "\r\n"


def test_an_error_names_fields_of_the_body_and_leaves_a_measure_as_it_is(http):
    body = {"runs": {"a": {"q": ["x", "y"]}}, "judgments": {"q": {"x": 1}}}
    said = http.post("/v1/evaluate", json=body).json()["detail"]
    assert 'choose "unjudged": "zero" or "unjudged": "skip"' in said
    said = http.post("/v1/evaluate", json=body | {"measure": "RBP(x)@2"}).json()["detail"]
    assert "parameters such as gain=exponential in brackets" in said
    said = http.post("/v1/evaluate", json={"runs": body["runs"]}).json()["detail"]
    assert said.endswith('expected judgments in its folder, or "judgments" in the body')


@pytest.mark.parametrize("measure", ["CG@5", "nDCG@5"])
def test_texts_of_files_give_the_numbers_of_the_same_values_and_of_the_commands(http, run, tmp_path, measure):
    """In whatever form a file has them: a folder's commands, and a body, read them by one reader."""
    runs, qrels = drawn(5, 0.6)
    graded = [(query, document, grade) for query, some in qrels.items() for document, grade in some.items()]
    scored = [
        (system, query, document, score)
        for system, rankings in runs.items()
        for query, some in rankings.items()
        for document, score in some.items()
    ]
    forms = {
        "runs": [
            "".join(trec(rankings, system) for system, rankings in runs.items()),
            {system: trec(rankings, "tag") for system, rankings in runs.items()},
            {"a": runs["a"], "b": trec(runs["b"], "b"), "c": json.dumps(runs["c"])},
            table(scored, "\t", ("system", "query", "document", "score")),
            "".join(
                json.dumps(dict(zip(("system", "qid", "docno", "score"), row, strict=True))) + "\n" for row in scored
            ),
        ],
        "judgments": [
            "".join(f"{query} 0 {document} {grade:g}\n" for query, document, grade in graded),
            table(graded, ",", ("query", "document", "grade")),
            json.dumps(qrels),
        ],
    }
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "runs.trec").write_text(forms["runs"][0])
    (folder / "judgments.qrels").write_text(forms["judgments"][0])
    options = ("--measure", measure, "--scale", "0-3", "--format", "json")
    bodies = [{"runs": text, "judgments": qrels} for text in forms["runs"]]
    bodies += [{"runs": runs, "judgments": text} for text in forms["judgments"]]
    for verb, more in (("estimate", {}), ("evaluate", {"unjudged": "zero"})):
        code, said, _ = run(verb, folder, *options, *(f"--{name}={one}" for name, one in more.items()))
        assert code == 0
        expected = json.loads(said) if verb == "estimate" else json.loads(said)[measure]
        for body in bodies:
            answer = http.post(f"/v1/{verb}", json=body | {"measure": measure, "scale": "0-3"} | more)
            assert answer.status_code == 200, answer.text
            assert {name: answer.json()[name] for name in ("systems", "pairs")} == {
                name: expected[name] for name in ("systems", "pairs")
            }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"runs": "q0 Q0 d00 1 5 a\nq0 Q0 d01 2 high a\n"}, "runs:2: "),
        ({"runs": {"a": "q0 Q0 d00 1 5 a\n", "b": "q0 Q0 d01 2 high a\n"}}, "run 2:1: "),
        (
            {"runs": {"a": "q0 Q0 d00 1 5 b\nq0 Q0 d00 1 5 c\n"}},
            "run 1:2: the file holds systems b and c, expected one",
        ),
        ({"runs": "query\tdocument\tscore\nq0\td00\t5\n"}, "runs: the text names no system"),
        ({"runs": ""}, "runs:1: the file is empty"),
        ({"judgments": "q0 0 d00 1\nq0 0 d01 much\n"}, "judgments:2: "),
        ({"documents": "document\tgenre\nd00\tjazz\nd00\trock\n"}, "documents:3: "),
    ],
)
def test_an_error_in_a_text_names_the_table_and_the_line_and_no_place_on_the_server(http, change, said):
    runs, qrels = drawn(1)
    answer = http.post("/v1/evaluate", json={"runs": runs, "judgments": qrels, "scale": "0-3"} | change)
    assert (answer.status_code, answer.json()["detail"][: len(said)]) == (422, said)


@pytest.mark.parametrize(
    ("address", "change", "said"),
    [
        ("estimate", {"model": "mouth"}, "did you mean mout?"),
        ("estimate", {"model": "/etc/passwd.json"}, "unknown model"),
        ("estimate", {"model": "remote:http://127.0.0.1:1"}, "unknown model"),
        ("estimate", {"runs": "runs.trec"}, "runs:1: expected a TREC run"),
        ("estimate", {"about": ["nobody"]}, "nobody"),
        (
            "evaluate",
            {"judgments": {"q0": {"d00": "good"}}},
            "judgments[...][...]: expected a number, got a text",
        ),
        ("evaluate", {"measure": "nGDC"}, "unknown measure"),
        ("evaluate", {"runs": {}}, "runs: expected an object of length at least 1"),
        ("evaluate", {"qrels": {}}, "unknown field `qrels`"),
        ("evaluate", {"judgments": {}}, "nothing is judged"),
    ],
)
def test_a_wrong_table_or_name_is_one_line(http, address, change, said):
    runs, qrels = drawn(1)
    answer = http.post(f"/v1/{address}", json={"runs": runs, "judgments": qrels, "scale": "0-3"} | change)
    assert answer.status_code == 422
    assert said in answer.json()["detail"]


def test_a_collection_made_of_tables_is_served_and_an_error_leaves_nothing_behind(in_process, tmp_path):
    runs, qrels = drawn(3, 0.2)
    body = {"name": "mine", "runs": runs, "judgments": qrels, "scale": "0-3", "cutoff": 5}
    body["settings"] = {"title": "Our systems", "measure": "nDCG@5"}
    with in_process(create_app([], home=Home(tmp_path / "home"))) as client:
        wrong = [
            ({"name": "../mine"}, "expected a name"),
            ({"judgments": {"q0": {"d00": 9}}}, "9"),
            ({"settings": {"measure": "XY"}}, "unknown measure"),
        ]
        for change, said in wrong:
            answer = client.post("/v1/collections", json=body | change)
            assert answer.status_code == 422
            assert said in answer.json()["detail"]
        assert [path.name for path in (tmp_path / "home").rglob("*")] == [".drafts"]

        assert client.post("/v1/collections", json=body).status_code == 201
        assert client.post("/v1/collections", json=body).status_code == 422  # there is one already
        ranking = client.get("/v1/collections/mine/ranking").json()
        expected = audiosim.estimate(Collection.from_frames(runs, qrels, scale="0-3", cutoff=5), measure="nDCG@5")
        assert ranking["measure"] == "nDCG@5"
        assert [row["expectation"] for row in ranking["systems"]] == pytest.approx(
            [row["expectation"] for row in expected.rows()], abs=1e-12
        )
        assert client.post("/v1/collections/mine/next", json={"assessor": "ann"}).status_code == 409  # not opened yet
        assert client.post("/v1/collections/mine/resume").status_code == 201
        (pair,) = client.post("/v1/collections/mine/next", json={"assessor": "ann"}).json()["pairs"]
        judged = {"query": pair["query"], "document": pair["document"], "assessor": "ann", "grade": 2}
        assert client.post("/v1/collections/mine/judgments", json=judged).status_code == 201
