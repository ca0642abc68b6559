"""From a row of the ranking down to clips, and two systems side by side: the numbers equal those of the commands."""

import gc
import json
import shutil
import weakref
from itertools import product

import numpy as np
import pytest
from typer.testing import CliRunner

import audiosim
from audiosim import package_files
from audiosim.cli import app as command
from audiosim.collection.collection import Collection
from audiosim.service.app import create_app
from audiosim.service.collections.campaigns import Judging

SMALL = "/v1/collections/small"


@pytest.fixture(scope="module")
def made(small):
    return create_app([small])


@pytest.fixture(scope="module")
def http(made, in_process):
    with in_process(made) as client:
        yield client


def get(http, path, **query):
    answer = http.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(http, path, **query):
    answer = http.get(path, params=query)
    assert answer.status_code == 422, answer.text
    return answer.json()["detail"]


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"measure": "nDCG@3"}, {"about": "queries"}, {"measure": "AP(min=40)@3"}])
def test_a_systems_queries_add_up_to_what_estimate_says(http, small, more):
    said = audiosim.estimate(small, measure=more.get("measure", "CG@4"), about=more.get("about", "these")).to_dict()
    row = said["systems"][1]
    found = get(http, f"{SMALL}/system-queries", system=row["system"], **more)
    assert (found["rank"], found["measure"]) == (2, said["measure"])
    assert [found[key] for key in ("expectation", "low", "high")] == pytest.approx(
        [row[key] for key in ("expectation", "low", "high")], rel=1e-6
    )
    assert np.mean([one["expectation"] for one in found["queries"]]) == pytest.approx(row["expectation"], rel=1e-6)
    run = next(run for run in small.runs if run.system == row["system"])
    judged, depth = {one.pair for one in small.judgments}, 3 if "measure" in more else 4
    for one in found["queries"]:
        top = run.rankings[one["query"]][:depth]
        assert (one["judged"], one["pairs"]) == (sum((one["query"], name) in judged for name in top), depth)
        assert one["low"] <= one["expectation"] <= one["high"]


def test_clips_have_ranks_grades_by_name_and_the_interval_of_the_predicted_levels(http, small):
    run, query = small.runs[3], "q2"
    found = get(http, f"{SMALL}/result-list", system=run.system, query=query)
    assert [clip["document"] for clip in found["clips"]] == list(run.rankings[query][:4])
    assert [clip["rank"] for clip in found["clips"]] == [1, 2, 3, 4]
    listed = get(http, f"{SMALL}/system-queries", system=run.system)["queries"]
    assert found["score"] == next(one for one in listed if one["query"] == query)
    asked = {"query": [query] * 4, "document": list(run.rankings[query][:4]), "include": ["probabilities"]}
    predicted = http.post(f"{SMALL}/predictions", json=asked).json()
    kinds = set()
    for place, clip in enumerate(found["clips"]):
        pair = query, clip["document"]
        grades = {one.assessor: one.grade for one in small.judgments if one.pair == pair}
        assert clip["grades"] == grades
        kinds.add(clip["judged"])
        if grades:
            ends = (np.mean(list(grades.values())),) * 3
        else:
            chances = predicted["probabilities"][place]
            many = np.repeat(predicted["levels"], np.round(np.multiply(chances, 1e6)).astype(int))
            ends = (predicted["expectation"][place], *np.quantile(many, [0.025, 0.975]))
        assert (clip["expectation"], clip["low"], clip["high"]) == pytest.approx(ends, rel=1e-6)
        assert clip["gain"] == pytest.approx(predicted["gain"][place])
    assert kinds == {True, False}


@pytest.mark.slow
@pytest.mark.parametrize("about", ["these", "queries"])
def test_two_systems_are_what_compare_says_and_the_queries_decide(http, small, about):
    a, b = "S1", "S3"
    said = audiosim.compare(small, a, b, measure="CG@4", about=about)
    found = get(http, f"{SMALL}/two-systems", a=a, b=b, about=about, count=50)
    numbers = ("expectation", "low", "high", "confidence", *(["again"] if about == "queries" else []))
    assert [found[key] for key in numbers] == pytest.approx([said.to_dict()[key] for key in numbers], rel=1e-6)
    assert (found["verdict"], found["more"]) == (said.verdict, said.more)
    assert found["above"] == pytest.approx(said.above(0.0))
    assert found["sentence"] == said.sentence
    assert {one["query"] for one in found["largest"]} == set(small.runs[0].rankings)
    these = audiosim.compare(small, a, b, measure="CG@4", about="these")
    assert np.mean([one["expectation"] for one in found["largest"]]) == pytest.approx(these.expectation, rel=1e-6)
    sizes = [abs(one["expectation"]) for one in found["largest"]]
    spread = [one["variance"] for one in found["least_sure"]]
    assert sizes == sorted(sizes, reverse=True)
    assert spread == sorted(spread, reverse=True)
    turned = get(http, f"{SMALL}/two-systems", a=b, b=a, about=about)
    assert (turned["expectation"], turned["above"]) == pytest.approx((-found["expectation"], 1 - found["above"]))


# The share follows from the variance after conditioning on the judgment, for any grade.
def test_the_most_telling_pairs_take_from_the_variance_what_they_say(made, http):
    one = made.state.service.served.collection("small")
    _, grounded = one.grounded()
    found = get(http, f"{SMALL}/two-systems", a="S0", b="S4", count=1000)["telling"]
    pool, belief = grounded.pool, grounded.belief.revise(grounded.belief.grades)

    def variance(belief):
        covariance = grounded.expected.scores(belief).covariance
        return covariance[0, 0] + covariance[4, 4] - 2 * covariance[0, 4]

    before = variance(belief)
    for row in found[:5]:
        place = pool.positions[row["query"], row["document"]]
        after = variance(belief.condition(place, 50.0))
        assert 1 - after / before == pytest.approx(row["share"], rel=1e-6)
        for rank, system in ((row["rank_a"], 0), (row["rank_b"], 4)):
            top = one.collection.runs[system].rankings[row["query"]][:4]
            assert (top[rank - 1] if rank else row["document"] not in top) in (row["document"], True)
    assert [row["share"] for row in found] == sorted((row["share"] for row in found), reverse=True)
    least = min(row["share"] for row in found)
    left = set(np.flatnonzero(~belief.judged)) - {pool.positions[row["query"], row["document"]] for row in found}
    assert all(1 - variance(belief.condition(place, 50.0)) / before <= least + 1e-9 for place in left)


def test_what_is_not_ranked_is_refused_by_name(http):
    assert refused(http, f"{SMALL}/system-queries", system="S9").startswith("unknown system 'S9', expected one that is")
    assert refused(http, f"{SMALL}/result-list", system="S1", query="q9").startswith("unknown query 'q9'")
    assert refused(http, f"{SMALL}/two-systems", a="S1", b="S1") == "expected two systems to compare, got S1 twice"
    assert refused(http, f"{SMALL}/two-systems", a="S1", b="x").startswith("unknown system 'x', expected one of S0")
    problem = (
        "collection small has no aspects: its judgments have no column aspect, expected one, or no aspect to rank by"
    )
    asked = {"ranking": {}, "system-queries": {"system": "S1"}, "two-systems": {"a": "S1", "b": "S2"}}
    for what, aspect in product(asked, ("form", "mean")):
        assert refused(http, f"{SMALL}/{what}", aspect=aspect, **asked[what]) == problem


ASPECTS = """[[aspect]]
name = "form"
question = "How close is the form?"

[[aspect]]
name = "sound"
question = "How close is the sound?"
"""


@pytest.mark.slow
def test_a_ranking_by_one_aspect_is_that_of_the_command(tmp_path, in_process):
    folder, url = tmp_path / "demo", f"sqlite:///{tmp_path / 'aspects.db'}"
    shutil.copytree(package_files.folder("fixtures") / "demo", folder, ignore=shutil.ignore_patterns("judg*", "sounds"))
    (folder / "task.toml").write_text(ASPECTS, encoding="utf-8")
    path, rng = "/v1/collections/demo", np.random.default_rng(4)
    with in_process(create_app([Collection.load(folder)], judging=Judging(database=url))) as http:
        for _ in range(6):
            for pair in http.post(f"{path}/next", json={"assessor": "ann", "count": 4}).json()["pairs"]:
                answers = {"form": int(rng.integers(101)), "sound": int(rng.integers(101))}
                body = {"query": pair["query"], "document": pair["document"], "assessor": "ann", "answers": answers}
                assert http.post(f"{path}/judgments", json=body).status_code == 201
        last = body, answers
        assert get(http, f"{path}/campaign")["aspects"] == ["form", "sound"]
        for aspect in ("form", "sound", "mean"):
            asked = ["estimate", str(folder), "--judgments", url, "--measure", "CG@5", "--aspect", aspect]
            said = json.loads(CliRunner().invoke(command, [*asked, "--format", "json"]).stdout)
            ranking = get(http, f"{path}/ranking", aspect=aspect)
            assert [row["system"] for row in ranking["systems"]] == [row["system"] for row in said["systems"]]
            for mine, other in zip(ranking["systems"], said["systems"], strict=True):
                assert (mine["expectation"], mine["low"], mine["high"]) == pytest.approx(
                    (other["expectation"], other["low"], other["high"]), rel=1e-6
                )
            assert ranking["confidence"] == pytest.approx(said["confidence"], rel=1e-6)
        query, document = last[0]["query"], last[0]["document"]
        runs = Collection.load(folder).runs
        system = next(run.system for run in runs if document in run.rankings[query][:5])
        for aspect in ("form", "sound"):
            asked = {"system": system, "query": query, "aspect": aspect}
            clips = {clip["document"]: clip for clip in get(http, f"{path}/result-list", **asked)["clips"]}
            assert clips[document]["grades"] == {"ann": last[1][aspect]}
        assert (
            refused(http, f"{path}/ranking", aspect="fom")
            == "unknown aspect 'fom', expected form, sound, mean; did you mean form?"
        )


@pytest.mark.slow
def test_states_that_are_over_are_let_go(small, in_process):
    app = create_app([small])
    with in_process(app) as http:
        one = app.state.service.served.collection("small")
        past = []
        for pair in one.campaign.selection.pool.pairs[:12]:
            if pair in {judgment.pair for judgment in small.judgments}:
                continue
            body = {"query": pair.query, "document": pair.document, "grade": 50, "assessor": "ann"}
            assert http.post(f"{SMALL}/judgments", json=body).status_code == 201
            get(http, f"{SMALL}/ranking")
            past.append(weakref.ref(one.grounded()[1]))
        gc.collect()
        assert len(past) > 3
        assert sum(ref() is not None for ref in past) <= 2
