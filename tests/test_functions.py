"""The commands as functions: the same answers, in results with tables, plots and sentences."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import audiosim
from audiosim import cli
from audiosim.errors import InputError
from audiosim.joint.estimators import uniform
from audiosim.ordinal.model import save_model
from audiosim.ranking.stopping import Judgments
from audiosim.results.value import Rows
from audiosim.training.plan import Plan

DEMO = Path(__file__).resolve().parents[1] / "fixtures" / "demo"
TRUTH = DEMO / "truth.qrels"


@pytest.fixture(scope="module")
def demo():
    return audiosim.Collection.load(DEMO)


@pytest.fixture(scope="module")
def judged():
    return audiosim.Collection.load(DEMO, judgments=TRUTH)


def said(run, *arguments):
    code, out, err = run(*arguments, "--format", "json")
    assert code == 0, err
    return json.loads(out)


def test_predict_is_the_command_of_its_name(run, demo, tmp_path):
    assert audiosim.predict(DEMO, "mout").to_dict() == said(run, "predict", DEMO, "--model", "mout")
    pairs = [("q03", "d044"), ("q01", "d070")]
    (tmp_path / "pairs.tsv").write_text("\n".join("\t".join(pair) for pair in pairs))
    found = audiosim.predict(demo, "mout", pairs=pairs)
    assert found.to_dict() == said(run, "predict", DEMO, "--model", "mout", "--pairs", tmp_path / "pairs.tsv")
    frame = found.to_frame()
    assert list(frame.index) == pairs
    assert frame.filter(regex=r"^p\d").sum(axis=1).tolist() == pytest.approx([1, 1])


# The scores by plain arithmetic: sums of gains over queries and ranks.
@pytest.mark.slow
def test_where_the_model_was_refused_gains_are_those_of_what_the_ranking_states_instead(judged):
    some = judged.judgments[::4]
    said = audiosim.predict(judged, pairs=[one.pair for one in some], judgments=()).pairs
    middle = np.median([row["gain"] for row in said])
    wrong = tuple(
        replace(one, grade=0.0 if row["gain"] > middle else 100.0) for one, row in zip(some, said, strict=True)
    )
    collection = replace(judged, judgments=wrong)
    ranking = audiosim.estimate(collection)
    assert ranking.check.verdict == "FAIL"
    rows = audiosim.predict(collection).pairs
    asked = [(row["query"], row["document"]) for row in rows[:7]]
    assert [row["gain"] for row in audiosim.predict(collection, pairs=asked).pairs] == pytest.approx(
        [row["gain"] for row in rows[:7]], rel=1e-9
    )
    gains = {(row["query"], row["document"]): row["gain"] for row in rows}
    gains |= {one.pair: one.grade / 100 for one in wrong}
    for run in judged.runs:
        found = np.mean([[gains[query, document] for document in top[:5]] for query, top in run.rankings.items()])
        assert ranking.scores.mean[ranking.systems.index(run.system)] == pytest.approx(found, abs=1e-7)


@pytest.mark.slow
def test_where_all_is_judged_nothing_is_said_to_lack_for_a_check_of_the_model(judged):
    for found in (audiosim.compare(judged, "rhythm", "harmony"), audiosim.estimate(judged)):
        said = found.to_dict()
        assert said["fit_sentence"] == "Model check: none is needed, as everything is judged."
        assert said["fit"] == "NOT CHECKED"


@pytest.mark.slow
def test_next_pairs_compare_and_simulate_are_the_commands_of_their_names(run, demo, judged):
    asked = audiosim.next_pairs(demo, "mout", count=5, selection_rule="doubts", seed=3)
    command = ("next", DEMO, "--model", "mout", "-n", "5", "--selection-rule", "doubts", "--seed", "3")
    assert asked.to_dict() == said(run, *command)
    verdict = audiosim.compare(demo, "rhythm", "harmony", "mout", distribution="normal").to_dict()
    command = ("compare", DEMO, "rhythm", "harmony", "--model", "mout", "--distribution", "normal")
    assert verdict == said(run, *command)
    played = audiosim.simulate(judged, "mout", stopping_rule="judgments=3", batch=1).to_dict()
    command = (
        "simulate",
        DEMO,
        "--judgments",
        TRUTH,
        "--model",
        "mout",
        "--stopping-rule",
        "judgments=3",
        "--batch",
        "1",
    )
    assert played == said(run, *command)


def test_a_stop_is_a_confidence_a_goal_or_several(judged):
    ends = [
        audiosim.simulate(judged, "mout", stopping_rule=stop).curve[-1].judged
        for stop in (["judgments=2", "judgments=4"], Judgments(3), ("judgments=1",))
    ]
    assert ends == [2, 3, 1]
    with pytest.raises(InputError, match="unknown stopping rule 'soon'"):
        audiosim.simulate(judged, stopping_rule="soon")
    with pytest.raises(InputError, match="expected a stopping rule such as 'every=0.95', got none"):
        audiosim.simulate(judged, stopping_rule=[])
    with pytest.raises(InputError, match="expected a confidence such as 0.95, or a rule, every=0.95, got {}"):
        audiosim.simulate(judged, stopping_rule={})


def test_one_measure_at_a_time_is_asked_for(judged):
    message = r"expected one measure such as 'CG@5', got \['nDCG@5'\]"
    for function in (audiosim.evaluate, audiosim.reliability, audiosim.simulate, audiosim.next_pairs):
        with pytest.raises(InputError, match=message):
            function(judged, measure=["nDCG@5"])


def test_an_estimator_of_one_s_own_predicts(tiny):
    from audiosim.collection.pool import build_pool

    found = audiosim.predict(tiny, uniform(build_pool(tiny)))
    # Every grade from 0 to 100 is equally probable.
    assert found.to_frame()["expectation"].tolist() == pytest.approx([50.0] * 7)
    assert repr(found) == "7 pairs predicted by uniform"


@pytest.mark.slow
def test_a_model_file_is_given_as_text_or_as_a_path(judged, tmp_path):
    path = tmp_path / "trained.json"
    save_model(audiosim.train(judged, "fTEAM,sGEN").model, path)
    open_ = replace(judged, judgments=())
    for expected in (
        lambda model: audiosim.predict(open_, model).to_frame()["expectation"].tolist(),
        lambda model: audiosim.estimate(open_, model).scores.mean.tolist(),
        lambda model: list(audiosim.next_pairs(open_, model).weights),
        lambda model: [moment.rmse for moment in audiosim.simulate(judged, model, stopping_rule=Judgments(20)).curve],
    ):
        assert expected(path) == expected(str(path)) != expected(None)


@pytest.mark.slow
def test_a_model_is_trained_by_the_name_of_its_features(judged):
    found = audiosim.train(judged, "fTEAM,sGEN")
    assert found.model.terms == ("fTEAM", "sGEN")
    assert repr(found) == "trained: 2 terms, fitted to 595 of 600 judgments"  # 5 pairs have an unknown genre
    assert audiosim.train([judged], Plan(("fTEAM",), folds=0)).findings.rows == 600


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    rng = np.random.default_rng(1)
    lines = ["answer\tquery\tA1\tB1\tfine_A1\tfine_B1"]
    for _ in range(400):
        a, b = rng.integers(0, 101, 2)
        answer = "good" if min(a, b) > 60 else "bad" if max(a, b) < 40 else "a" if a > b else "b"
        lines.append(f"{answer}\tq\td\te\t{a}\t{b}")
    path = tmp_path_factory.mktemp("people") / "answers.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


def results(demo, judged, answered):
    """One result of each kind, by the name of its function."""
    two = replace(judged, judgments=tuple(replace(one, assessor=who) for one in judged.judgments for who in "ab"))
    return {
        "predict": audiosim.predict(demo, "mout"),
        "next_pairs": audiosim.next_pairs(demo, "mout"),
        "estimate": audiosim.estimate(demo, "mout"),
        "compare": audiosim.compare(demo, "rhythm", "harmony", "mout"),
        "plan": audiosim.plan(demo, "mout", campaigns=2),
        "simulate": audiosim.simulate(judged, "mout", stopping_rule="judgments=20"),
        "evaluate": audiosim.evaluate(judged),
        "friedman": audiosim.evaluate(judged, test="friedman"),
        "reliability": audiosim.reliability(judged),
        "assessors": audiosim.assessor_reliability(two),
        "split_half": audiosim.split_half_study(judged, trials=5),
        "fits": audiosim.fit_distributions(audiosim.evaluate(judged).scores.values, np.random.default_rng(0), trials=5),
        "satisfaction": audiosim.satisfaction(answered, "CG@1"),
        "train": audiosim.train(judged, "fTEAM,sGEN"),
        "worth": audiosim.worth(judged, judged=[0], splits=1, replays=False),
    }


@pytest.fixture(scope="module")
def found(demo, judged, answered):
    return results(demo, judged, answered)


NAMES = (
    *("predict", "next_pairs", "estimate", "compare", "plan", "simulate", "evaluate", "friedman", "reliability"),
    *("assessors", "split_half", "fits", "satisfaction", "train", "worth"),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_result_is_tabled_told_and_drawn(found, name):
    result = found[name]
    table, rows = result.to_frame(), result.rows()
    assert len(table) == len(result) == len(rows) > 0
    assert list(result) == rows
    assert result[0] == rows[0]
    assert result[:2] == rows[:2]
    for name in table.index[:: 1 + len(table) // 50] if result._index else ():
        parts = dict(zip(result._index, name if isinstance(name, tuple) else (name,), strict=True))
        assert parts.items() <= result[name].items()
        assert name in result
    assert "no such row" not in result
    with pytest.raises(KeyError, match="no row 'no such row'"):
        result["no such row"]
    assert set(table.columns) | set(result._index) == {column for row in rows for column in row}
    json.dumps(result.to_dict(), allow_nan=False)
    assert "\n" not in repr(result)
    assert len(repr(result)) < 250
    html = result._repr_html_()
    assert html.startswith("<p>")
    assert "<table" in html
    drawn = result.plot().to_dict()
    assert any(layer["encoding"].get("x", {}).get("title") for layer in drawn["layer"])
    json.dumps(drawn, allow_nan=False)


@pytest.mark.slow
def test_what_is_drawn_is_what_was_found(found):
    rows = found["evaluate"].rows()
    chart = found["evaluate"].plot().to_dict()
    marks = chart["layer"][0].get("data", chart.get("data"))["values"]
    keys = {"name": "system", "low": "low", "middle": "mean", "high": "high"}
    expected = [{key: row[of] for key, of in keys.items()} for row in rows]
    assert [{key: row[key] for key in keys} for row in marks] == expected
    assert chart["layer"][0]["encoding"]["y"]["sort"] is None  # the best system is on top
    curve = found["simulate"].plot().to_dict()
    lines = curve["layer"][0].get("data", curve.get("data"))["values"]
    stated = [row["y"] for row in lines if row["name"] == "accuracy, true"]
    assert stated == [moment.accuracy for moment in found["simulate"].curve]


@pytest.mark.slow
@pytest.mark.usefixtures("unspread")
def test_functions_that_make_files_are_the_commands_of_their_names(run, small_demo, tmp_path, monkeypatch):
    def made(*arguments):
        code, out, err = run(*arguments)
        assert code == 0, err
        return out

    monkeypatch.chdir(tmp_path)
    mine, index, truth = tmp_path / "mine", small_demo / "sounds.index", small_demo / "truth.qrels"
    shutil.copytree(small_demo, mine)

    tables = {"queries": small_demo / "queries.tsv", "not_same_artist": small_demo / "documents.tsv"}
    near = audiosim.neighbours(index, 3, "near", **tables, output="runs/one.trec")
    command = ("neighbours", index, "-k", 3, "--system", "near", "--queries", tables["queries"])
    made(*command, "--not-same-artist", tables["not_same_artist"], "-o", "two")
    assert Path("runs/one.trec").read_text() == Path("two").read_text() == "\n".join(near.lines()) + "\n"
    sound = next((small_demo / "sounds").iterdir())
    assert audiosim.neighbours(index, like=sound).rows() == said(run, "neighbours", index, "--like", sound)

    queries = list(near.found)
    Path("far").write_text(
        "".join(f"{query} Q0 d07{rank} {rank} {9 - rank} far\n" for query in queries for rank in (1, 2))
    )
    known = {tuple(line.split()[:3:2]) for path in (mine / "runs").iterdir() for line in path.read_text().splitlines()}
    came = {(query, f"d07{rank}") for query in queries for rank in (1, 2)}
    assert audiosim.join(mine, "far").new == len(came - known) > 0
    joined = audiosim.join(mine, "two", "NEARER", "us").to_dict()
    assert joined == said(run, "join", mine, "two", "--system", "NEARER", "--team", "us") | {"new": joined["new"]}

    study = audiosim.sample_study(small_demo, "one.tsv", scales=["graded-4"], wanted=5, judgments=truth, seed=3)
    command = ("study", "sample", small_demo, "-o", "two.tsv", "--scale", "graded-4", "--wanted", 5, "--seed", 3)
    assert study.to_dict() == said(run, *command, "--judgments", truth)
    assert Path("one.tsv").read_text() == Path("two.tsv").read_text()

    for suffix, judgments in (("html", "none"), ("zip", str(truth))):
        path = audiosim.write_report(small_demo, f"report.{suffix}", ["nDCG@5"], "mout", judgments=judgments)
        written = path.read_bytes()
        path.unlink()
        options = ("--measure", "nDCG@5", "--model", "mout", "--judgments", judgments)
        made("report", small_demo, "-o", path, *options)
        assert path.read_bytes() == written

    music = audiosim.init(small_demo / "sounds", "one", queries=4, seed=5)
    again = said(run, "init", small_demo / "sounds", "-o", "two.collection", "--queries", 4, "--seed", 5)
    assert music.to_dict() | {"collection": 0} == again | {"collection": 0}
    assert len(music.to_frame()) == again["documents"]

    for result in (near, study, music):
        assert "\n" not in repr(result)
        assert len(repr(result)) < 250
        assert "<table" in result._repr_html_()
    assert near.plot().to_dict()["layer"][0]["encoding"]["x"]["title"] == "rank"
    assert study.plot().to_dict()["layer"][0]["encoding"]["x"]["title"] == "difference in score"


def test_every_command_has_a_function_and_it_takes_what_the_command_takes_in_its_place():
    # `demo` and `serve` are programs; `predict-rows` holds a portion at a time; the others send requests to a service,
    # or manage its databases, log, tokens and models.
    programs = {"demo", "serve", "import", "adjudicate", "token", "backup", "verify", "restore", "migrate"}
    programs |= {"set-aside", "take-back", "predict-rows"}
    called = {
        "next": "next_pairs", "questions": "kinds_of_question", "report": "write_report",
        "study sample": "sample_study",
        "study answers": "study_answers",
        "map": "sound_map",
    }  # fmt: skip
    page = (Path(__file__).resolve().parents[1] / "docs" / "notebooks.md").read_text("utf-8")
    for command in set(cli.COMMANDS) - programs - {"study"} | {"study sample", "study answers"}:
        name = called.get(command, command.replace("-", "_"))
        assert callable(getattr(audiosim, name)), command
        assert f"audiosim.{name}(" in page, command


@pytest.mark.slow
def test_judges_is_the_command_of_its_name_and_is_tabled_and_drawn(run, judged, tmp_path):
    known = replace(judged, documents={}, judgments=judged.judgments[:120])
    known = known.with_judge("gpt", {one.pair: min(100, one.grade + 10) for one in judged.judgments})
    known.save(tmp_path / "mine")
    found = audiosim.judges(tmp_path / "mine")
    assert found.to_dict() == said(run, "judges", tmp_path / "mine")
    assert repr(found) == "1 person and 1 machine who judge"
    assert list(found.to_frame().index) == ["", "gpt"]
    alone = replace(found, machines=(), effects=())
    assert str(alone).splitlines()[1].split()[:3] == ["judge", "kind", "judgments"]
    assert len(str(alone).splitlines()) == 3  # the row of one person alone is shown too
    assert len(found.plot().to_dict()["data"]["values"]) == 2


@pytest.mark.parametrize(
    ("scale", "queries", "said"),
    [
        ("broad", True, ""),
        (
            "broad",
            False,
            "the genre of every query is unknown; queries.tsv, or the table of queries, names its recording",
        ),
        ("0-2", True, 'no model is trained for grades 0 1 2 unless they are those of `scale="broad"`'),
        ([0, 1, 2, 3], True, "no model is trained for grades 0 1 2 3"),
    ],
)
def test_metadata_that_no_prediction_uses_are_said_with_the_reason(scale, queries, said):
    runs = [
        {"system": system, "query": f"q{q}", "document": f"d{(q * 7 + d * step) % 40}", "rank": d}
        for system, step in (("a", 1), ("b", 3))
        for q in range(8)
        for d in range(5)
    ]
    documents = [{"document": f"d{d}", "genre": f"g{d % 4}", "artist": f"a{d % 11}"} for d in range(40)]
    own = [{"query": f"q{q}", "document": f"d{39 - q}"} for q in range(8)]
    judged = [{"query": "q0", "document": "d0", "grade": 1}, {"query": "q1", "document": "d7", "grade": 2}]
    collection = audiosim.Collection.from_frames(runs, judged, documents, queries=own if queries else None, scale=scale)
    ranking, predicted = audiosim.estimate(collection), audiosim.predict(collection)
    used = {kind for row in predicted.rows() for kind in row["evidence"].split(", ")}
    assert ("genre" in used) == (not said)
    some = audiosim.predict(collection, pairs=[("q2", "d14"), ("q2", "d39")])
    for found in (ranking, predicted, some):
        about = [note for note in found.notes if "of documents are known" in note]
        use = " and not used" if "no model" in said else ", but not used in expected grades before any judgment"
        assert about == ([f"genre and artist of documents are known{use}: {said}"] if said else [])


@pytest.mark.parametrize(
    ("scale", "judged", "used"), [("broad", False, False), ("broad", True, True), ("0-2", True, False)]
)
def test_genres_without_those_of_queries_count_only_in_effects_that_judgments_show(scale, judged, used):
    runs = [("a", f"q{q}", f"d{d}", d) for q in range(4) for d in range(5)]
    runs = [dict(zip(("system", "query", "document", "rank"), one, strict=True)) for one in runs]
    grades = [{"query": "q0", "document": "d0", "grade": 2}, {"query": "q0", "document": "d1", "grade": 0}]
    found = []
    for parts in (2, 3):  # the same documents, with other genres
        documents = [{"document": f"d{d}", "genre": f"g{d % parts}"} for d in range(5)]
        collection = audiosim.Collection.from_frames(runs, grades if judged else None, documents, scale=scale)
        predicted = audiosim.predict(collection)
        assert {row["evidence"] for row in predicted.rows()} == {"output"}
        found.append([row["expectation"] for row in predicted.rows()])
    assert (found[0] != pytest.approx(found[1], abs=1e-9)) == used


def test_print_lists_rows_and_repr_is_one_line():
    pairs = audiosim.next_pairs(DEMO, count=30)
    first, head, *lines = str(pairs).splitlines()
    assert (first, head.split()) == (repr(pairs), ["query", "document", "weight"])
    assert [tuple(line.split()[:2]) for line in lines[:20]] == [(row["query"], row["document"]) for row in pairs[:20]]
    assert lines[20:] == ["… and 10 more, in rows() and to_frame()"]
    assert str(pairs).splitlines()[1].endswith("weight"), "numbers end below one another"
    two = audiosim.compare(DEMO, "rhythm", "random")
    assert str(two) == repr(two)
    assert repr(audiosim.kinds_of_question(DEMO)).count("\n") == 0
    assert repr(audiosim.estimate(DEMO).check) == "Model check: 0 of the 50 judgments it needs to pass."


class Uneven(Rows):
    def __repr__(self):
        return "two rows"

    def rows(self):
        return [{"name": "a", "share": 0.25}, {"name": "b"}]


def test_print_leaves_the_place_of_a_value_empty_that_a_row_lacks():
    assert str(Uneven()) == "two rows\nname  share\na      0.25\nb"
