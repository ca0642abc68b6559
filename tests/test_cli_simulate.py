"""The commands of the judging loop, on a small synthetic collection that is saved and read like any other."""

import csv
import io
import json
import re

import numpy as np
import pytest

from audiosim.collection.collection import Collection
from audiosim.ranking import SELECTION_RULES
from audiosim.simulation.trials import draw_parts
from benchmarks.synthetic import Design, synthetic_collection

SYSTEMS, TEAMS, QUERIES = 6, 4, 12
QUICK = ("--model", "mjud")  # a tenth of the default's work, for tests of other subjects
SOON = ("--stopping-rule", "confidence=0.8")
LACKING = r"(note: sound is unknown for all \d+ pairs\n)?"  # only with joint models


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """6 systems of 4 teams, 12 queries, 5 documents each, all judged."""
    path = tmp_path_factory.mktemp("synthetic") / "small"
    synthetic_collection(np.random.default_rng(8), Design(SYSTEMS, TEAMS, QUERIES, 5, 40)).save(path)
    return path


@pytest.fixture
def ask(run, folder):
    """A command's answer about the collection, as JSON."""

    def call(command, *options):
        code, out, err = run(command, folder, *options, "--format", "json")
        assert code == 0
        assert re.fullmatch(LACKING, err)
        return json.loads(out)

    return call


def grades_of(folder):
    return {(q, d): grade for (q, d), grade in Collection.load(folder).grades().items()}


@pytest.mark.slow
def test_simulate_says_how_a_campaign_went(ask, folder):
    # Goals with mjud use the stated confidence, goals with joint a slightly lower one (stopping.CAUTION).
    found = ask("simulate", "--target", "0.9", "--batch", "5", "--model", "mjud")
    assert list(found)[:8] == ["measure", "model", "judged", "pool", "confidence", "about", "accuracy", "tau"]
    assert list(found)[8:] == ["rho", "rmse", "rmse_differences", "rule", "error", "turns", "curve"]
    assert found["pool"] == len(grades_of(folder))
    assert [point["judged"] for point in found["curve"]] == list(range(found["judged"] + 1))
    assert found["confidence"] >= 0.9 > max(point["confidence"] for point in found["curve"][:-1])


@pytest.mark.slow
def test_simulate_stops_at_whichever_goal_is_met_first(ask):
    both = ("--stopping-rule", "judgments=7", "--stopping-rule", "confidence=0.999")
    assert ask("simulate", *both)["judged"] == 7
    either = ("--stopping-rule", "judgments=300", "--stopping-rule", "confidence(floor=0)=0.55")
    assert ask("simulate", *either)["judged"] < 30
    assert ask("simulate", "--stopping-rule", "judgments=9", "--target", "0.5")["judged"] == 9  # not at .5


@pytest.mark.slow
@pytest.mark.parametrize(
    "stopping_rule",
    ["every=0.6", "difference(size=0.05)=0.8", "users(share=0.1)=0.8", "error=0.5", "error(corrected=no)=0.3"],
)
def test_simulate_takes_every_goal(ask, stopping_rule):
    assert ask("simulate", *QUICK, "--stopping-rule", stopping_rule)["judged"] >= 0


@pytest.mark.slow
def test_simulate_compares_every_rule(ask, run, folder):
    options = ("--stopping-rule", "judgments=10", "--batch", "5")
    rows = ask("rules", *options)
    assert [(row["rule"], row["by_query"]) for row in rows] == [
        *((name, False) for name in SELECTION_RULES),
        ("drawn", True),
    ]
    keys = [
        "rule",
        "by_query",
        "judged",
        "pool",
        "confidence",
        "accuracy",
        "tau",
        "rho",
        "rmse_differences",
        "error",
        "turns",
    ]
    assert all(list(row) == keys for row in rows)
    assert {row["judged"] for row in rows} == {10}
    # Each row equals a campaign with that rule alone.
    for row in (rows[2], rows[-1]):
        rule = ["--selection-rule", row["rule"], *(["--by-query"] if row["by_query"] else [])]
        alone = ask("simulate", *options, *rule)
        assert {key: alone[key] for key in keys[2:]} == {key: row[key] for key in keys[2:]}
    code, out, _ = run("rules", folder, "--stopping-rule", "judgments=1")
    assert code == 0
    assert "drawn, by query" in out
    assert "judgments=1" in out
    assert all(name in out for name in SELECTION_RULES)


@pytest.mark.slow
def test_simulate_repeats_on_random_parts(ask):
    sizes = ("--queries", "5", "--teams", "3", "--jobs", "1")
    found = ask(
        "calibration", "--parts", "3", *sizes, "--stopping-rule", "confidence=0.8", "--selection-rule", "doubts"
    )
    said = ["measure", "model", "learn", "rule", "goal", "repeats", "queries", "teams", "held_out", "start", "end"]
    assert list(found) == said
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
    assert (found["held_out"], found["learn"]) == ("teams", None)
    one, two, other = (ask("calibration", *QUICK, "--parts", "2", "-j", "1", "--seed", seed) for seed in "334")
    assert one == two != other


@pytest.mark.slow
@pytest.mark.usefixtures("unspread")
def test_simulate_shows_repeats_as_a_table_with_errors_without_a_sign(run, folder):
    code, out, _ = run("calibration", folder, *QUICK, "--parts", "3", "--jobs", "2", *SOON)
    assert code == 0
    for words in ("Before anything is judged", "When judging stops", "3 random parts of 6 queries and 3 teams"):
        assert words in out
    text = " ".join(out.split())
    assert len(re.findall(r"stated less accuracy [+-]0\.\d{3} ± 0\.\d{3};", text)) == 2
    assert len(re.findall(r"calibration error 0\.\d{3} ± 0\.\d{3}, Brier", text)) == 2
    assert "± +" not in text
    assert "± -" not in text
    code, out, _ = run("calibration", folder, *QUICK, "--parts", "1", *SOON)
    assert code == 0
    assert "accuracy" in out
    assert not re.search(r"\d ±", out)  # one part has no standard error


@pytest.mark.slow
def test_simulate_gives_rows_for_csv(run, folder):
    def rows(command, *options):
        code, out, _ = run(command, folder, *options, "--format", "csv")
        assert code == 0
        return list(csv.DictReader(io.StringIO(out)))

    assert len(rows("simulate", "--stopping-rule", "judgments=4")) == 5
    assert len(rows("rules", "--stopping-rule", "judgments=4")) == len(SELECTION_RULES) + 1
    repeated = rows("calibration", *QUICK, "--parts", "2", "--jobs", "1", *SOON)
    assert [row["moment"] for row in repeated] == ["start"] * 7 + ["end"] * 7
    followed = rows("calibration", *QUICK, "--parts", "2", "--jobs", "1", "--at", "0,30")
    assert [row["judged"] for row in followed] == ["0.0", "30.0"]
    flat = {"clear_pairs", "clear_accuracy", "coverage_systems", "coverage_queries_error", "error", "error_error"}
    assert flat < set(followed[0])
    assert not {"bins", "by_part", "clear", "coverage"} & set(followed[0])


CURVE = [
    *(f"{name}{error}" for name in ("judged", "stated", "accuracy", "excess") for error in ("", "_error")),
    *("calibration_error", "calibration_error_error", "brier", "clear", "coverage", "error", "error_error"),
    *("bias", "bias_error", "tau", "tau_error", "rho", "rho_error", "rmse_differences", "rmse_differences_error"),
    *("bins", "by_part"),
]
FOLLOW = ("calibration", "--parts", "4", "--at", "0,15,30")


@pytest.mark.slow
def test_simulate_follows_what_is_stated_and_true_at_some_moments(ask):
    stopping_rules = ("--stopping-rule", "confidence=0.9", "--stopping-rule", "judgments=10")
    found = ask(*FOLLOW, *stopping_rules, "--jobs", "1")
    said = ["measure", "model", "learn", "rule", "repeats", "queries", "teams", "held_out", "near", "curve", "goals"]
    assert list(found) == said
    assert (found["repeats"], found["queries"], found["teams"], found["held_out"]) == (4, 6, 4, "queries")
    assert found["near"] == 0.02
    assert [row["judged"] for row in found["curve"]] == [0, 15, 30]
    for row in found["curve"]:
        assert list(row) == CURVE
        assert list(row["clear"]) == ["pairs", "stated", "accuracy"]
        assert list(row["coverage"])[::2] == ["systems", "differences", "queries"]
        assert row["excess"] == pytest.approx(row["stated"] - row["accuracy"])
        parts = row["by_part"]
        assert {name: len(values) for name, values in parts.items()} == dict.fromkeys(
            ["stated", "accuracy", "excess", "error"], 4
        )
        assert row["stated_error"] == pytest.approx(np.std(parts["stated"], ddof=1) / 2)
    assert [row["goal"] for row in found["goals"]] == ["confidence=0.9", "judgments=10"]
    assert list(found["goals"][0])[:4] == ["goal", "reached", "judged", "judged_error"]
    assert (found["goals"][1]["reached"], found["goals"][1]["judged"]) == (4, 10)


@pytest.mark.slow
def test_without_a_stop_the_usual_goal_is_noted(ask):
    stopping_rules = ask(*FOLLOW, *QUICK, "--jobs", "1")["goals"]
    assert [row["goal"] for row in stopping_rules] == ["confidence=0.95"]


@pytest.mark.slow
@pytest.mark.parametrize(("held_out", "teams"), [("queries", 3), ("teams", 2)])
def test_simulate_learns_for_each_part_alike_in_one_process_and_in_two(ask, held_out, teams):
    options = ("--learn", "fSYS,aSYS", "--held-out", held_out, "--queries", "5", "--teams", teams, *SOON)
    one, two = (ask(*FOLLOW, *options, "--jobs", jobs) for jobs in "12")
    assert one == two
    assert (one["model"], one["learn"], one["held_out"]) == ("learned", "fSYS,aSYS", held_out)
    assert (one["queries"], one["teams"]) == (5, teams)


@pytest.mark.slow
def test_simulate_plays_a_learned_model_as_train_makes_it(run, ask, folder, tmp_path):
    # A part with some of the queries; the rest is written as another collection, and a model is trained on it.
    whole, model = Collection.load(folder), tmp_path / "mine.json"
    part = draw_parts(whole, 1, np.random.default_rng(0), held_out="queries")[0]
    for name, some in (("part", part.of(whole)), ("rest", part.rest(whole))):
        some.save(tmp_path / name)
    assert run("train", tmp_path / "rest", "--features", "fSYS,aSYS", "--folds", "0", "-o", model)[0] == 0
    code, out, _ = run(
        "simulate", tmp_path / "part", "--model", model, "--stopping-rule", "judgments=30", "--format", "json"
    )
    assert code == 0
    alone = json.loads(out)["curve"]
    found = ask("calibration", "--parts", "1", "--learn", "fSYS,aSYS", "--at", "0,15,30")["curve"]
    assert [row["stated"] for row in found] == pytest.approx([alone[at]["confidence"] for at in (0, 15, 30)])
    assert [row["accuracy"] for row in found] == pytest.approx([alone[at]["accuracy"] for at in (0, 15, 30)])


@pytest.mark.slow
def test_two_rules_are_compared_on_the_same_parts(ask):
    one, two = (ask(*FOLLOW, *QUICK, "--jobs", "1", "--selection-rule", rule)["curve"] for rule in ("doubts", "random"))
    # Before the first judgment, equal parts have equal results; after that they do not.
    assert one[0] == two[0]
    assert one[1]["by_part"] != two[1]["by_part"]


@pytest.mark.slow
def test_simulate_shows_moments_and_goals_as_tables(run, folder):
    options = ("--stopping-rule", "confidence=0.9", "--stopping-rule", "judgments=99999", "--jobs", "1")
    code, out, _ = run(FOLLOW[0], folder, *FOLLOW[1:], *options)
    assert code == 0
    assert "4 random parts of 6 queries and 4 teams: CG@5, joint, rule drawn." in out
    for words in ("Which of two systems is better", "95 % intervals", "Where goals were met", "=99999", "0 of 4"):
        assert words in out
    number, error = r"[+-]?\d\.\d{3}", r" ± \d\.\d{3}"
    lines = [line for line in out.splitlines() if re.match(r" *(0|15|30) ", line)]
    assert len(lines) == 9
    assert all(re.fullmatch(rf" *\d+( +{number}{error}){{4}} +\d\.\d{{4}} *", line) for line in lines[:3])
    single = run("calibration", folder, "--parts", "1", "--learn", "fSYS", "--at", "0")[1]
    assert "model of fSYS learned without these queries" in single
    assert not re.search(r"\d ±", single)


@pytest.mark.slow
def test_simulate_reports_what_it_found_as_a_page(run, folder, tmp_path):
    page, played = tmp_path / "page.html", (FOLLOW[0], folder, *FOLLOW[1:], *QUICK, "--jobs", "1")
    assert run(*played, "--report", page) == run(*played)
    text = page.read_text(encoding="utf-8")
    assert f"<h1>{Collection.load(folder).name}: confidence, stated and true</h1>" in text
    assert text.count("<svg") == 2
    # Unwritable outputs are refused before anything is played, even before a missing collection is noticed.
    for place in (tmp_path / "none" / "page.html", tmp_path):
        said = f"audiosim: {place}: cannot be written: expected a file in an existing, writable folder\n"
        assert run(FOLLOW[0], tmp_path / "none", *FOLLOW[1:], "--report", place) == (1, "", said)
    assert run(*played, "--at", "0,-5", "--report", page)[0] == 1
    assert [page.read_text(encoding="utf-8"), *tmp_path.iterdir()] == [text, page]


@pytest.mark.slow
@pytest.mark.usefixtures("unspread")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--stopping-rule", "enough=1"], "unknown stopping rule 'enough=1', expected confidence=0.95, every=0.95, "),
        (
            ["--stopping-rule", "judgments=5", "--stopping-rule", "difference=1"],
            "the size of a stopping rule must be a number, got none",
        ),
        (
            ["--selection-rule", "luck"],
            "unknown selection rule 'luck', expected one of differences, unsettled, scores, doubts, drawn, variances, ",
        ),
        (
            ["--measure", "nDCG@5", "--stopping-rule", "users(share=0.1,floor=0)=0.8"],
            "satisfaction follows from user-oriented scores: ",
        ),
        (["--judgments", "none"], "330 of the pool's 330 pairs have no judgment, such as query d0, "),
    ],
)
@pytest.mark.parametrize("command", ["simulate", "rules", "calibration"])
def test_what_cannot_be_replayed_is_one_line(run, folder, command, options, message):
    found, message = run(command, folder, *options), message.replace("330", str(len(grades_of(folder))))
    if message.startswith(("unknown", "the size")):
        refused(found, options[-2], message)
    else:
        one_line(found, message, command)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--queries", "13"], "a part must have 1 to 12 queries, got 13"),
        (["--teams", "5"], "a part must have 1 to 4 teams, got 5"),
        (["--at", "-3"], "moments must be numbers of judgments, 0 or more, got -3"),
        (
            ["--learn", "fSYS", "--queries", "12", "--jobs", "1"],
            "a part of all 12 queries leaves none to learn from; draw fewer queries",
        ),
        (
            ["--learn", "fSYS", "--held-out", "teams", "--teams", "4", "--jobs", "1"],
            "a part of all 4 teams leaves none to learn from; draw fewer teams",
        ),
    ],
)
def test_what_cannot_be_calibrated_is_one_line(run, folder, options, message):
    one_line(run("calibration", folder, "--parts", "2", *options), message)


@pytest.mark.parametrize(
    ("words", "message"), [("fNO", "unknown feature 'fNO', expected one of "), ("", "the list of features is empty")]
)
def test_what_cannot_be_learned_is_exit_code_2(run, folder, words, message):
    refused(run("calibration", folder, "--parts", "2", "--learn", words), "--learn", message)


def refused(found, option, message):
    code, out, err = found
    assert (code, out) == (2, "")
    assert f"Invalid value for {option}: {message}" in " ".join(re.sub("[│╭╮╰╯─]", "", err).split())


def one_line(found, message, command="calibration"):
    code, out, err = found
    assert (code, out) == (1, "")
    if not (command == "calibration" and " of the pool's " in message):  # a part has fewer pairs
        assert err.startswith(f"audiosim: {message}")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("calibration", ["--parts", "0"]),
        ("calibration", ["--queries", "0"]),
        ("calibration", ["--jobs", "0"]),
        ("calibration", ["--held-out", "systems"]),
        ("calibration", ["--at", "0;5"]),
        ("calibration", ["--learn", "fSYS", "--model", "mjud"]),
        ("simulate", ["--ideal", "user"]),
        ("simulate", ["--target", "2"]),
        ("rules", ["--batch", "0"]),
    ],
)
def test_a_wrong_option_is_exit_code_2(run, folder, command, options):
    assert run(command, folder, *options)[0] == 2


@pytest.mark.slow
def test_next_by_query_stays_with_few_queries(ask, folder):
    options = ["--judgments", "none", "--selection-rule", "doubts", "-n", "10"]
    alone, grouped = ask("next", *options), ask("next", *options, "--by-query")
    assert len(grouped) == len(alone) == 10
    queries = [row["query"] for row in grouped]
    assert queries == sorted(queries, key=queries.index)
    assert len(set(queries)) < len({row["query"] for row in alone})
    assert all((row["query"], row["document"]) in grades_of(folder) for row in grouped)
    weights = [row["weight"] for row in alone]
    assert weights == sorted(weights, reverse=True)
    assert sum(row["weight"] for row in grouped) < sum(weights)


@pytest.mark.slow
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


RANKING = {
    "measure", "model", "judged", "basis", "pool", "confidence", "systems", "pairs", "fit", "fit_evidence",
    "fit_sentence", "fit_against", "fit_instead", "widened",
    "groups", "family_wise", "about", "sentence", "nearest", "top_k", "notes",
}  # fmt: skip


@pytest.mark.slow
def test_the_ideal_of_the_thesis_makes_scores_higher(ask, some_judged):
    options = ["--measure", "nDCG@5", "--judgments", some_judged]
    ordered, independent = ask("estimate", *options), ask("estimate", *options, "--ideal", "independent")
    assert set(ordered) == set(independent) == RANKING
    assert independent["measure"] == "nDCG@5"
    low, high = ({row["system"]: row["expectation"] for row in found["systems"]} for found in (ordered, independent))
    assert all(high[system] > low[system] for system in low)


@pytest.mark.slow
def test_normal_intervals_are_narrower_than_those_of_student_s_t(ask, some_judged):
    options = ["--judgments", some_judged]
    t, normal = ask("estimate", *options), ask("estimate", *options, "--distribution", "normal")
    assert [row["variance"] for row in t["systems"]] == [row["variance"] for row in normal["systems"]]
    # Student's t with 11 degrees of freedom against the normal, 97.5 %: 2.201 / 1.960.
    for wide, narrow in zip(t["systems"], normal["systems"], strict=True):
        ratio = (wide["high"] - wide["low"]) / (narrow["high"] - narrow["low"])
        assert ratio == pytest.approx(2.20099 / 1.95996, rel=1e-4)


@pytest.mark.slow
def test_how_good_simulated_scores_are_is_said(run, folder, some_judged):
    written = ["estimate", folder, "--measure", "AP(min=40)@5", "--draws", "200", "--judgments", some_judged]
    largest = max(row["error"] for row in json.loads(run(*written, "--format", "json")[1])["systems"])
    assert f"Scores by simulation: 200 draws, standard error at most {largest:.4f}." in run(*written)[1]
    assert "simulation" not in run("estimate", folder, "--measure", "CG@5", "--judgments", some_judged)[1]


@pytest.mark.slow
def test_any_measure_can_be_estimated_by_draws(ask, some_judged, folder):
    options = ["--measure", "AP(min=40)@5", "--draws", "200"]
    found = ask("estimate", *options, "--judgments", some_judged)
    assert set(found) >= RANKING
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
