"""The commands of the judging loop, on a small synthetic collection that is saved and read like any other."""

import csv
import io
import json
import re

import numpy as np
import pytest

from audiosim.corpus.collection import Collection
from audiosim.selection import RULES
from audiosim.simulate import Design, synthetic_collection

SYSTEMS, TEAMS, QUERIES = 6, 4, 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """6 systems of 4 teams, 12 queries, 5 documents each, all judged."""
    path = tmp_path_factory.mktemp("synthetic") / "small"
    synthetic_collection(np.random.default_rng(8), Design(SYSTEMS, TEAMS, QUERIES, 5, 40)).save(path)
    return path


@pytest.fixture
def ask(run, folder):
    """What a command says of the collection as JSON."""

    def call(command, *options):
        code, out, err = run(command, folder, *options, "--format", "json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return call


def grades_of(folder):
    return {(q, d): grade for (q, d), grade in Collection.load(folder).grades().items()}


def test_simulate_says_how_a_campaign_went(ask, folder):
    found = ask("simulate", "--target", "0.9", "--batch", "5")
    assert list(found)[:7] == ["measure", "model", "judged", "pool", "confidence", "accuracy", "tau"]
    assert list(found)[7:] == ["rule", "error", "turns", "curve"]
    assert found["pool"] == len(grades_of(folder))
    assert [point["judged"] for point in found["curve"]] == list(range(found["judged"] + 1))
    assert found["confidence"] >= 0.9 > max(point["confidence"] for point in found["curve"][:-1])


def test_simulate_stops_at_whichever_goal_is_met_first(ask):
    both = ("--stop", "judgments=7", "--stop", "confidence=0.999")
    assert ask("simulate", *both)["judged"] == 7
    assert ask("simulate", "--stop", "judgments=300", "--stop", "confidence=0.6")["judged"] < 30
    assert ask("simulate", "--stop", "judgments=9", "--target", "0.5")["judged"] == 9  # --stop takes its place


@pytest.mark.parametrize(
    "goal", ["every=0.6", "difference(size=0.05)=0.8", "users(share=0.1)=0.8", "error=0.5", "error(corrected=no)=0.3"]
)
def test_simulate_takes_every_goal(ask, goal):
    assert ask("simulate", "--stop", goal)["judged"] >= 0


def test_simulate_compares_every_rule(ask, run, folder):
    rows = ask("simulate", "--compare", "--stop", "judgments=20", "--batch", "10")
    assert [(row["rule"], row["by_query"]) for row in rows] == [
        *((name, False) for name in RULES),
        ("differences", True),
    ]
    keys = ["rule", "by_query", "judged", "pool", "confidence", "accuracy", "tau", "error", "turns"]
    assert all(list(row) == keys for row in rows)
    assert {row["judged"] for row in rows} == {20}
    # Each row is what the rule alone gives.
    for row in (rows[2], rows[-1]):
        options = ["--rule", row["rule"], *(["--by-query"] if row["by_query"] else [])]
        alone = ask("simulate", "--stop", "judgments=20", "--batch", "10", *options)
        assert {key: alone[key] for key in keys[2:]} == {key: row[key] for key in keys[2:]}
    code, out, _ = run("simulate", folder, "--compare", "--stop", "judgments=20", "--batch", "10")
    assert code == 0
    assert "differences, by query" in out
    assert "judgments=20" in out
    assert all(name in out for name in RULES)


def test_simulate_repeats_on_random_parts(ask):
    found = ask("simulate", "--repeat", "3", "--queries", "5", "--teams", "3", "--target", "0.8", "--rule", "doubts")
    assert list(found) == ["measure", "model", "rule", "goal", "repeats", "queries", "teams", "start", "end"]
    assert (found["measure"], found["rule"], found["goal"]) == ("CG@5", "doubts", "confidence=0.8")
    assert (found["repeats"], found["queries"], found["teams"]) == (3, 5, 3)
    assert found["start"]["judged"] == 0
    assert found["end"]["stated"] >= 0.8
    for moment in ("start", "end"):
        bins = found[moment]["bins"]
        assert [row["low"] for row in bins] == [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99]
        assert [*bins[0]] == ["low", "high", "claims", "share", "stated", "accuracy"]
        assert sum(row["share"] for row in bins) == pytest.approx(1)
        claims = [row for row in bins if row["claims"]]
        gaps = sum(row["share"] * abs(row["stated"] - row["accuracy"]) for row in claims)
        assert found[moment]["calibration_error"] == pytest.approx(gaps)
    assert ask("simulate", "--repeat", "2", "--seed", "3") == ask("simulate", "--repeat", "2", "--seed", "3")
    assert ask("simulate", "--repeat", "2", "--seed", "3") != ask("simulate", "--repeat", "2", "--seed", "4")


def test_simulate_shows_repeats_as_a_table_with_errors_without_a_sign(run, folder):
    code, out, _ = run("simulate", folder, "--repeat", "3", "--target", "0.8")
    assert code == 0
    for words in ("Before anything is judged", "When judging stops", "3 random parts of 6 queries and 3 teams"):
        assert words in out
    text = " ".join(out.split())
    assert len(re.findall(r"stated less accuracy [+-]0\.\d{3} ± 0\.\d{3};", text)) == 2
    assert "± +" not in text
    assert "± -" not in text
    code, out, _ = run("simulate", folder, "--repeat", "1", "--target", "0.8")
    assert code == 0
    assert "accuracy" in out
    assert not re.search(r"\d ±", out)  # one part has no standard error


def test_simulate_gives_rows_for_csv(run, folder):
    def rows(*options):
        code, out, _ = run("simulate", folder, *options, "--format", "csv")
        assert code == 0
        return list(csv.DictReader(io.StringIO(out)))

    assert len(rows("--stop", "judgments=4")) == 5
    assert len(rows("--compare", "--stop", "judgments=4")) == len(RULES) + 1
    repeated = rows("--repeat", "2", "--target", "0.7")
    assert [row["moment"] for row in repeated] == ["start"] * 7 + ["end"] * 7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--stop", "enough=1"], "unknown goal 'enough=1', expected confidence=0.95, every=0.95, "),
        (["--stop", "judgments=5", "--stop", "difference=1"], "the size of a goal must be a number, got none"),
        (["--compare", "--repeat", "2"], "--compare and --repeat cannot be combined; repeat one rule after the other"),
        (["--rule", "luck"], "unknown rule 'luck', expected one of differences, scores, doubts, variances, random, "),
        (["--repeat", "2", "--queries", "13"], "a part must have 1 to 12 queries, got 13"),
        (["--repeat", "2", "--teams", "5"], "a part must have 1 to 4 teams, got 5"),
        (["--measure", "nDCG@5", "--stop", "users(share=0.1)=0.8"], "satisfaction follows from user-oriented scores: "),
        (["--judgments", "none"], "330 of the pool's 330 pairs have no judgment, such as query d0, "),
    ],
)
def test_what_cannot_be_simulated_is_one_line(run, folder, options, message):
    pool = len(grades_of(folder))
    code, out, err = run("simulate", folder, *options)
    assert (code, out) == (1, "")
    assert err.startswith(f"audiosim: {message.replace('330', str(pool))}")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    "options", [["--repeat", "0"], ["--queries", "0"], ["--ideal", "user"], ["--target", "2"], ["--batch", "0"]]
)
def test_a_wrong_option_of_simulate_is_exit_code_2(run, folder, options):
    assert run("simulate", folder, *options)[0] == 2


def test_next_by_query_stays_with_few_queries(ask, folder):
    options = ["--judgments", "none", "--rule", "doubts", "-n", "10"]
    alone, grouped = ask("next", *options), ask("next", *options, "--by-query")
    assert len(grouped) == len(alone) == 10
    queries = [row["query"] for row in grouped]
    assert queries == sorted(queries, key=queries.index)
    assert len(set(queries)) < len({row["query"] for row in alone})
    assert all((row["query"], row["document"]) in grades_of(folder) for row in grouped)
    weights = [row["weight"] for row in alone]
    assert weights == sorted(weights, reverse=True)
    assert sum(row["weight"] for row in grouped) < sum(weights)


def test_next_draws_what_is_tied_by_the_seed(ask):
    options = ["--judgments", "none", "-n", "5", "--seed"]
    assert ask("next", *options, "1") == ask("next", *options, "1")
    assert ask("next", *options, "1") != ask("next", *options, "2")


@pytest.fixture
def some_judged(folder, tmp_path):
    """Judgments of every third pair."""
    lines = (folder / "judgments.qrels").read_text(encoding="utf-8").splitlines()[::3]
    path = tmp_path / "some.qrels"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


RANKING = ["measure", "model", "judged", "pool", "confidence", "systems", "pairs"]


def test_the_ideal_of_the_thesis_makes_scores_higher(ask, some_judged):
    options = ["--measure", "nDCG@5", "--judgments", some_judged]
    ordered, independent = ask("estimate", *options), ask("estimate", *options, "--ideal", "independent")
    assert list(ordered) == list(independent) == RANKING
    assert independent["measure"] == "nDCG@5"
    low, high = ({row["system"]: row["expectation"] for row in found["systems"]} for found in (ordered, independent))
    assert all(high[system] > low[system] for system in low)


def test_normal_intervals_are_narrower_than_those_of_student_s_t(ask, some_judged):
    options = ["--judgments", some_judged]
    t, normal = ask("estimate", *options), ask("estimate", *options, "--distribution", "normal")
    assert [row["variance"] for row in t["systems"]] == [row["variance"] for row in normal["systems"]]
    # Student's t with 11 degrees of freedom against the normal, 97.5 %: 2.201 / 1.960.
    for wide, narrow in zip(t["systems"], normal["systems"], strict=True):
        ratio = (wide["high"] - wide["low"]) / (narrow["high"] - narrow["low"])
        assert ratio == pytest.approx(2.20099 / 1.95996, rel=1e-4)


def test_how_good_simulated_scores_are_is_said(run, folder, some_judged):
    written = ["estimate", folder, "--measure", "AP(min=40)@5", "--draws", "200", "--judgments", some_judged]
    largest = max(row["error"] for row in json.loads(run(*written, "--format", "json")[1])["systems"])
    assert f"Scores by simulation: 200 draws, standard error at most {largest:.4f}." in run(*written)[1]
    assert "simulation" not in run("estimate", folder, "--measure", "CG@5", "--judgments", some_judged)[1]


def test_any_measure_can_be_estimated_by_draws(ask, some_judged, folder):
    options = ["--measure", "AP(min=40)@5", "--draws", "200"]
    found = ask("estimate", *options, "--judgments", some_judged)
    assert set(RANKING) <= set(found)
    assert (found["measure"], found["draws"]) == ("AP(min=40)@5", 200)
    assert found["judged"] == -(-len(grades_of(folder)) // 3)
    assert all(0 < row["expectation"] < 1 for row in found["systems"])
    assert ask("estimate", *options, "--judgments", some_judged) == found
    known = ask("estimate", *options)
    assert known["confidence"] == 1
    assert all(row["error"] == 0 for row in known["systems"])
    assert all(row["high"] - row["low"] < 1e-12 for row in known["systems"])


@pytest.mark.parametrize(
    "options", [["--ideal", "best"], ["--draws", "1"], ["--draws", "0"], ["--distribution", "beta"]]
)
def test_a_wrong_option_of_estimate_is_exit_code_2(run, folder, options):
    assert run("estimate", folder, *options)[0] == 2


@pytest.mark.parametrize(
    ("command", "example"),
    [
        ("simulate", "audiosim simulate mirex2011 --repeat 100 --rule doubts"),
        ("next", "audiosim next mirex2011 -n 20 --judgments none --by-query"),
        ("estimate", "audiosim estimate mirex2011 --model mout --measure CG@5 --judgments none"),
        ("predict", "audiosim predict mirex2011 --model mout --judgments none --format csv"),
    ],
)
def test_help_shows_an_example(run, monkeypatch, command, example):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = run(command, "--help")
    assert code == 0
    assert example in " ".join(re.sub(r"[│`]", " ", out).split())
