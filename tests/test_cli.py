import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
import soundfile
import typer
from scipy.stats import ttest_rel

from audiosim import cli, estimate, extract
from audiosim.campaign import Campaign, DatabaseStore, judgments_in
from audiosim.cli import options
from audiosim.collection.collection import Collection
from audiosim.collection.values import Judgment
from audiosim.measures.scores import judged_runs
from audiosim.report import predictions

DEMO = Path(__file__).resolve().parents[1] / "fixtures" / "demo"
TRUTH = str(DEMO / "truth.qrels")
QUICK = ["--judgments", TRUTH, "--features", "fSYS", "--folds", "0"]  # to train
LACKING = "note: genre is unknown for 5 of the 600 pairs, artist for 8, sound for all\n"


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """The demo with two of its systems and without its sounds."""
    folder = tmp_path_factory.mktemp("few") / "few"
    shutil.copytree(DEMO, folder, ignore=shutil.ignore_patterns("sounds", "runs"))
    (folder / "runs").mkdir()
    for system in ("timbre-full", "random"):
        shutil.copy(DEMO / "runs" / f"{system}.trec", folder / "runs")
    return folder


def parsed(outcome):
    code, out, err = outcome
    assert code == 0, err
    return json.loads(out)


def test_a_printed_ranking_lists_its_systems_and_no_certainty_is_a_column(run, tmp_path):
    (tmp_path / "runs.trec").write_text("q Q0 x 1 2 new\nq Q0 y 2 1 new\nq Q0 x 1 2 old\nq Q0 z 2 1 old\n")
    ranking = estimate(tmp_path)
    first, head, *lines = str(ranking).splitlines()
    shown = ["system", "expectation", "low", "high", "group", "rank_low", "rank_high", "best"]
    assert (first, head.split()) == (repr(ranking), shown)
    assert [line.split()[0] for line in lines] == ["new", "old"]
    _, out, _ = run("estimate", tmp_path)
    assert "P(best)" in out
    assert "P(top" not in out
    _, out, _ = run("plan", tmp_path)
    assert "by another person" not in out, "one query cannot be shared by two people"


def test_estimate_ranks_the_systems(run):
    result = parsed(run("estimate", DEMO, "--model", "mout", "--measure", "CG@5", "--format", "json"))
    assert list(result)[:7] == ["measure", "model", "judged", "pool", "confidence", "systems", "pairs"]
    assert (result["measure"], result["model"], result["judged"], result["pool"]) == ("CG@5", "mout-fine", 0, 600)
    expectations = [row["expectation"] for row in result["systems"]]
    assert expectations == sorted(expectations, reverse=True)
    assert len(result["pairs"]) == 45
    assert all(row["low"] <= row["expectation"] <= row["high"] for row in result["systems"])
    assert result["about"] == {"queries": "these", "listeners": "panel"}
    assert {system for group in result["groups"] for system in group} == {row["system"] for row in result["systems"]}
    assert all(
        1 <= row["rank_low"] <= place <= row["rank_high"] <= 10 for place, row in enumerate(result["systems"], 1)
    )


@pytest.mark.slow
def test_compare_gives_one_verdict_and_fails_unless_a_condition_is_shown(run):
    call = ("compare", DEMO, "timbre-full", "random", "--judgments", TRUTH)
    verdict = parsed(run(*call, "--format", "json"))
    assert (verdict["a"], verdict["b"], verdict["verdict"]) == ("timbre-full", "random", "better")
    # When everything is judged, the statement about queries of this kind is the paired t-test.
    runs = judged_runs(Collection.load(DEMO, judgments=TRUTH), 5).scores("CG@5")
    test = ttest_rel(*(runs.values[runs.systems.index(name)] for name in ("timbre-full", "random")))
    assert verdict["confidence"] == pytest.approx(1 - test.pvalue / 2, abs=1e-12)
    assert [verdict["low"], verdict["high"]] == pytest.approx(list(test.confidence_interval(0.95)))
    these = verdict["beside"]
    assert (these["confidence"], these["low"], these["high"]) == (1, verdict["expectation"], verdict["expectation"])
    assert run(*call, "--fail-unless", "timbre-full better by 0.01")[0] == 0
    code, out, err = run(*call, "--fail-unless", "timbre-full better by 0.9")
    assert code == 1
    assert "timbre-full is better than random" in out
    assert "Not shown at 95 %: timbre-full better by 0.9 (probability 0.000).\nAll 600 pairs judged.\n" in out
    unused = "note: CG@5 leaves 1,104 of 1,704 judgments unused: no system has their documents in its first 5 results\n"
    assert err == f"{unused}{LACKING}audiosim: not shown at 95 %: timbre-full better by 0.9\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (["rhythm", "nobody"], "B: unknown system 'nobody', expected one of"),
        (["rhythm", "rhythm"], "B: expected two systems to compare, got rhythm twice"),
        (["rhythm", "harmony", "--confidence", "95"], "--confidence: the confidence must be between .5 and 1, got 95"),
        (["rhythm", "harmony", "--measure", "XG@5"], "--measure: unknown measure 'XG', expected one of P, AP, RR, CG,"),
        (["rhythm", "harmony", "--measure", "CG@0"], "--measure: the cutoff of CG must be at least 1, got 0"),
        (["rhythm", "harmony", "--fail-unless", "rhythm bettter"], "--fail-unless: expected a condition such as"),
        (["rhythm", "harmony", "--fail-unless", "better by x"], "--fail-unless: the size in 'better by x' must be a"),
    ],
)
def test_a_release_script_can_tell_wrong_usage_of_compare_from_a_condition_that_fails(run, call, message):
    code, out, err = run("compare", DEMO, *call, "--format", "json")
    assert (code, out) == (2, "")
    assert message in " ".join(re.sub("[│╭╮╰╯─]", " ", err).split())


@pytest.mark.slow
def test_with_all_judgments_the_scores_are_the_mean_grades(run):
    # From truth.qrels and the run file, by hand: mean over 24 queries x 5 documents of grade / 100.
    grades = {tuple(line.split()[::2]): int(line.split()[3]) for line in Path(TRUTH).read_text().splitlines()}
    lines = [line.split() for line in (DEMO / "runs" / "random.trec").read_text().splitlines()]
    expected = sum(grades[query, document] for query, _, document, *_ in lines) / len(lines) / 100
    result = parsed(run("estimate", DEMO, "--judgments", TRUTH, "--format", "json"))
    (random,) = [row for row in result["systems"] if row["system"] == "random"]
    assert random["expectation"] == pytest.approx(expected, rel=1e-12)
    assert (random["variance"], result["confidence"], result["judged"]) == (0, 1, 600)


@pytest.mark.slow
def test_predict_writes_completed_judgments(run, tmp_path):
    code, out, _ = run("predict", DEMO, "--format", "qrels")
    assert (code, len(out.splitlines())) == (0, 600)
    assert run("predict", DEMO, "--format", "qrels", "--draws", "12", "-o", tmp_path / "drawn")[0] == 0
    files = sorted((tmp_path / "drawn").iterdir())
    assert [path.name for path in files[:2]] == ["draw-01.qrels", "draw-02.qrels"]
    assert len({path.read_text() for path in files}) == 12
    # Read like any other judgments: everything is judged.
    estimated = parsed(run("estimate", DEMO, "--judgments", files[0], "--format", "json"))
    assert (estimated["judged"], estimated["confidence"]) == (600, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--format", "csv", "-o", "x"], "--draws COUNT is for --format qrels, --output FILE for --format parquet too"),
        (["--format", "qrels", "--draws", "3"], "draws are several files: expected --output FOLDER"),
        (["--format", "parquet"], "--format parquet writes one file: expected --output FILE, and no draws"),
        (
            ["--format", "qrels", "--draws", "3", "-o", "drawn", "--scheduler", "tcp://127.0.0.1:1"],
            "--format qrels needs the model on this machine: leave out the scheduler",
        ),
    ],
)
def test_options_of_completed_judgments_belong_together(run, options, message):
    code, _, err = run("predict", DEMO, *options)
    assert code == 1
    assert message in err


@pytest.mark.slow
def test_predict_writes_the_columns_of_csv_as_parquet(run, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "predicted.parquet"
    assert run("predict", DEMO, "--model", "mout", "--format", "parquet", "-o", path)[:2] == (0, "")
    rows = list(csv.DictReader(run("predict", DEMO, "--model", "mout", "--format", "csv")[1].splitlines()))
    found = parquet.read_table(path).to_pylist()
    assert [row.keys() for row in found] == [row.keys() for row in rows]
    for one, expected in zip(found, rows, strict=True):
        assert {key: str(value) for key, value in one.items() if isinstance(value, str)}.items() <= expected.items()
        numbers = {key: value for key, value in one.items() if isinstance(value, float)}
        assert numbers == pytest.approx({key: float(expected[key]) for key in numbers}, rel=1e-9)
        assert len(numbers) > 5
    message = "--format parquet writes the unjudged pairs of the pool: leave out pairs"
    assert message in run("predict", DEMO, "--format", "parquet", "-o", path, "--pairs", path)[2]


def test_predict_gives_every_unjudged_pair(run):
    rows = parsed(run("predict", DEMO, "--model", "mjud", "--format", "json"))
    assert len(rows) == 600
    assert list(rows[0]) == [
        "query",
        "document",
        "expectation",
        "variance",
        "probabilities",
        "gain",
        "model",
        "evidence",
        "levels",
    ]
    assert all(abs(sum(row["probabilities"]) - 1) < 1e-9 for row in rows)
    assert {(row["model"], row["evidence"]) for row in rows} == {
        ("mout-fine", "output, genre, artist"),
        ("historical-fine", ""),
    }


@pytest.mark.slow
def test_predict_takes_pairs_that_no_system_retrieved_in_the_order_of_their_list(run, tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("q03\td044\nq01\td070\nq01\td002\n")
    rows = parsed(run("predict", DEMO, "--pairs", path, "--format", "json"))
    assert [(row["query"], row["document"]) for row in rows] == [("q03", "d044"), ("q01", "d070"), ("q01", "d002")]
    assert all(sum(row["probabilities"]) == pytest.approx(1) for row in rows)
    path.write_text("q01\td070\nq01\td999\n")
    code, _, err = run("predict", DEMO, "--pairs", path)
    assert code == 1
    assert "pairs.tsv:2: nothing is known of document d999: no run, metadata, index or evidence names it\n" in err


def test_predict_as_csv_names_the_level_of_each_probability(run):
    code, out, _ = run("predict", DEMO, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert len(rows) == 600
    assert [key for key in rows[0] if key.startswith("p")] == [f"p{level}" for level in range(5, 100, 10)]


@pytest.mark.slow
def test_a_report_without_a_name_is_named_after_its_collection_and_replaces_no_other(run, few, tmp_path, monkeypatch):
    for name in ("one", "two"):
        shutil.copytree(few, tmp_path / name)
    for place, name in ((tmp_path, "one"), (tmp_path / "two", ".")):  # named after the folder, not after the word
        monkeypatch.chdir(place)
        code, out, err = run("report", name, "--model", "uniform")
        assert (code, out) == (0, "")
        assert f"the report is in {'one' if name == 'one' else 'two'}-report.html" in err
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*-report.html")) == [
        *("one-report.html", "two/two-report.html")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [False, True])
def test_every_format_of_predict_has_the_same_order(run, tmp_path, pairs):
    options = ()
    if pairs:
        (path := tmp_path / "pairs.tsv").write_text("query\tdocument\nq02\td072\nq01\td035\nq02\td026\n")
        options = ("--pairs", path)
    rows = list(csv.DictReader(io.StringIO(run("predict", DEMO, *options, "--format", "csv")[1])))
    expected = [(row["query"], row["document"]) for row in rows]
    json_rows = parsed(run("predict", DEMO, *options, "--format", "json"))
    assert [(row["query"], row["document"]) for row in json_rows] == expected
    lines = run("predict", DEMO, *options)[1].splitlines()[1:]
    shown = [tuple(line.split()[:2]) for line in lines if re.match(r"q\d", line)]
    assert shown == expected[:20]


@pytest.mark.slow
def test_predictions_as_csv_are_those_of_json_however_many_rows_are_in_memory_at_a_time(run, monkeypatch):
    monkeypatch.setattr(predictions, "LINES_AT_ONCE", 250)  # 600 pairs: two full portions and a partial one
    found = csv.DictReader(io.StringIO(run("predict", DEMO, "--model", "mjud", "--format", "csv")[1]))
    expected = parsed(run("predict", DEMO, "--model", "mjud", "--format", "json"))
    for row, one in zip(found, expected, strict=True):
        own = [float(row[f"p{level:g}"]) for level in one.pop("levels")]
        assert own == pytest.approx(one.pop("probabilities"), rel=1e-12)
        assert {key: row[key] for key in one} == {
            key: "" if value is None else str(value) for key, value in one.items()
        }


def test_next_asks_for_pairs_best_first(run):
    rows = parsed(run("next", DEMO, "-n", "7", "--selection-rule", "differences", "--format", "json"))
    assert len(rows) == 7
    weights = [row["weight"] for row in rows]
    assert weights == sorted(weights, reverse=True)
    # 10 systems: at most 5 x 5 pairs for a document that one retrieved and the other did not.
    assert weights[0] == 25


@pytest.mark.slow
def test_next_says_so_when_everything_is_judged(run):
    code, out, _ = run("next", DEMO, "--judgments", TRUTH)
    assert (code, out.strip()) == (0, "none: every pair is judged")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["estimate", "predict", "next"])
def test_tables_show_what_json_says(run, command):
    code, out, _ = run(command, DEMO)
    assert code == 0
    assert "joint-fine" in out or "weight" in out


@pytest.mark.slow
def test_simulate_shows_its_curve_and_its_end(run):
    code, out, _ = run("simulate", DEMO, "--judgments", TRUTH, "--stopping-rule", "judgments=30")
    assert code == 0
    assert "Stopped after" in out
    assert "Confidence" in out


def test_what_was_guessed_is_said(run, tmp_path):
    (tmp_path / "runs.trec").write_text("q Q0 a 1 2 s\nq Q0 b 2 1 s\n")
    code, _, err = run("estimate", tmp_path)
    assert code == 0
    assert err.splitlines() == [line for line in err.splitlines() if line.startswith("note: ")]
    assert "scale" in err
    assert "cutoff" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["estimate", "nowhere"], "audiosim: nowhere: no such folder, expected a collection"),
        (["simulate", DEMO], "audiosim: 600 of the pool's 600 pairs have no judgment, such as query "),
        (["neighbours", "nowhere"], "audiosim: nowhere: is not an index, expected a folder with index.json"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_code_1(run, arguments, message):
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith(message)
    assert len(err.splitlines()) == 1


def test_a_bad_line_in_a_run_is_named_with_its_path_and_number(run, tmp_path):
    (tmp_path / "runs.trec").write_text("q Q0 a 1 2 s\nq Q0 a 2 1 s\n")
    code, out, err = run("estimate", tmp_path)
    assert (code, out) == (1, "")
    assert err.startswith(f"audiosim: {tmp_path / 'runs.trec'}:2: ")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["estimate"],
        ["estimate", DEMO, "--nonsense"],
        ["estimate", DEMO, "--format", "xml"],
        ["estimate", DEMO, "--model", "mouth"],
    ],
)
def test_a_wrong_call_is_exit_code_2(run, arguments):
    assert run(*arguments)[0] == 2


@pytest.mark.slow
@pytest.mark.usefixtures("unspread")
def test_extract_and_neighbours_make_a_baseline_system(run, tmp_path):
    index = tmp_path / "sounds.index"
    some = [DEMO / "sounds" / f"d00{i}.ogg" for i in range(2, 6)]
    (tmp_path / "notes.wav").write_text("no sound")
    code, out, err = run("extract", *some, tmp_path / "notes.wav", "-o", index, "-j", "1", "--format", "json")
    assert (code, json.loads(out)["done"]) == (1, 4)
    assert [Path(failure["path"]).name for failure in json.loads(out)["failed"]] == ["notes.wav"]
    assert err.startswith(f"audiosim: {tmp_path / 'notes.wav'}: ")
    code, out, _ = run("neighbours", index, "-k", "2", "--system", "near")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert [line[0] for line in lines] == [name for i in range(2, 6) for name in [f"d00{i}"] * 2]
    assert {line[5] for line in lines} == {"near"}
    rows = parsed(run("neighbours", index, "-k", "2", "--format", "json"))
    assert [(row["query"], row["document"]) for row in rows] == [(line[0], line[2]) for line in lines]
    assert all(row["divergence"] > 0 for row in rows)
    assert run("neighbours", index, "-k", "2", "-o", tmp_path / "near.trec")[0] == 0
    assert len((tmp_path / "near.trec").read_text().splitlines()) == 8


@pytest.mark.slow
@pytest.mark.usefixtures("unspread")
def test_neighbours_like_a_sound_from_elsewhere(run, tmp_path):
    index, shards = tmp_path / "sounds.index", [tmp_path / f"{name}.index" for name in "ab"]
    some = [DEMO / "sounds" / f"d00{i}.ogg" for i in range(2, 8)]
    for made, part in ((index, some), (shards[0], some[:3]), (shards[1], some[3:])):
        extract(part, into=made)
    clips = tmp_path / "clips"
    clips.mkdir()
    samples, rate = soundfile.read(some[1])
    soundfile.write(clips / "louder.wav", 1.1 * samples[:-100], rate)  # d003 with another loudness and end
    shutil.copy(some[2], clips / "d006.ogg")  # d004 under another name
    rows = parsed(run("neighbours", index, "-k", "2", "--like", clips, "--format", "json"))
    found = {row["query"]: row["document"] for row in rows if row["rank"] == 1}
    assert found == {"louder": "d003", "d006": "d004"}
    both = parsed(run("neighbours", *shards, "-k", "2", "--like", clips, "--format", "json"))
    assert [(row["query"], row["document"]) for row in both] == [(row["query"], row["document"]) for row in rows]
    code, out, _ = run("neighbours", index, "--like", clips / "louder.wav", "-k", "1")
    assert (code, "d003" in out) == (0, True)
    assert run("neighbours", index, "--like", clips, "-o", tmp_path / "near.trec")[0] == 0
    assert (tmp_path / "near.trec").read_text().startswith("d006 Q0 d004 1 ")
    code, _, err = run("neighbours", index, "--like", clips, "--queries", DEMO / "queries.tsv")
    expected = "--like: queries and not_same_artist are about recordings"
    assert (code, expected in " ".join(err.replace("│", " ").split())) == (2, True)
    (tmp_path / "notes.wav").write_text("no sound")
    code, _, err = run("neighbours", index, "--like", tmp_path / "notes.wav")
    expected = f"audiosim: no sound to query by could be described, expected at least one: {tmp_path}/notes.wav: cannot"
    assert (code, err.splitlines()[-1].startswith(expected)) == (1, True)
    soundfile.write(tmp_path / "silent.wav", 0 * samples, rate)
    code, _, err = run("neighbours", index, "--like", tmp_path / "silent.wav")
    assert (code, err) == (
        1,
        f"audiosim: {tmp_path}/silent.wav: is silent, and silence has no neighbours; expected an audible sound\n",
    )


@pytest.mark.slow
def test_neighbours_leaves_the_query_s_artist_out_on_request(run, whole_demo):
    documents = csv.DictReader((DEMO / "documents.tsv").read_text(encoding="utf-8").splitlines(), delimiter="\t")
    artist = {row["document"]: row["artist"] for row in documents}
    options = ["--queries", DEMO / "queries.tsv", "--not-same-artist", DEMO / "documents.tsv", "--format", "json"]
    rows = parsed(run("neighbours", whole_demo / "sounds.index", *options))
    own = {line.split("\t")[0]: line.split("\t")[1] for line in (DEMO / "queries.tsv").read_text().splitlines()[1:]}
    assert len(rows) == 24 * 5
    assert all(artist[own[row["query"]]] != artist[row["document"]] for row in rows)


@pytest.mark.slow
@pytest.mark.usefixtures("unspread")
def test_extract_fails_when_nothing_could_be_described(run, tmp_path):
    (tmp_path / "notes.wav").write_text("no sound")
    code, _, err = run("extract", tmp_path, "-o", tmp_path / "index")
    assert code == 1
    assert err.splitlines()[-1] == "audiosim: no file could be described"


@pytest.mark.slow
@pytest.mark.usefixtures("unspread")
def test_the_demo_shows_people_its_ranking_what_was_judged_and_where_the_files_are(run, tmp_path):
    code, out, said = run("demo", tmp_path / "demo", "--target", 0.7)
    assert code == 0, said
    assert "Ranking of the systems" in out
    rows = (tmp_path / "demo" / "judgments.csv").read_text("utf-8").splitlines()[1:]
    pairs = {tuple(row.split(",")[:2]) for row in rows}
    assert f"judged {len(pairs):,} of" in out
    for name in ("truth.qrels", "judgments.csv", "campaign.db", "report.html", "runs", "sounds.index"):
        assert (tmp_path / "demo" / name).exists()
        assert re.search(rf"^{re.escape(name)} ", out, re.MULTILINE)
    # `estimate` on the folder gives the same ranking, confidence and model.
    _, stated, _ = run("estimate", tmp_path / "demo")
    scored = re.compile(r"^ *\d+  (\S+ +0\.\d+  0\.\d+ – 0\.\d+) ", re.MULTILINE)
    assert len(scored.findall(out)) == 11
    assert scored.findall(stated) == scored.findall(out)
    for line in re.findall(r"^(?:Confidence in|\d+ of \d+ pairs judged|Model check).*$", out, re.MULTILINE):
        assert line in stated.splitlines()
    page = " ".join((tmp_path / "demo" / "report.html").read_text("utf-8").split())
    assert re.search(r"Confidence in the ranking (0\.\d+)", out)[1] in page


def test_the_demo_refuses_a_folder_that_holds_something_else(run, tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    code, _, err = run("demo", tmp_path)
    assert code == 1
    assert err == f"audiosim: {tmp_path} is not empty and holds no earlier demo; name a new folder\n"
    assert (tmp_path / "thesis.tex").read_text() == "mine"


@pytest.mark.parametrize(("by", "who"), [("ann", "ann"), ("", "somebody")])
def test_the_demo_keeps_answers_that_people_gave_in_it(run, tmp_path, monkeypatch, by, who):
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / ".audiosim-demo").touch()
    url = f"sqlite:///{folder / 'campaign.db'}"
    with closing(DatabaseStore(url, "demo")) as log:
        campaign = Campaign(Collection.load(DEMO), "uniform", "CG@5", log)
        campaign.tell(Judgment(*campaign.ask(1)[0], grade=50.0, assessor=by))
    monkeypatch.chdir(folder)
    for named, shown in ((folder, folder / "campaign.db"), (Path(), Path("campaign.db"))):
        said = f"audiosim: {shown} has answers of {who}, expected a new folder, or this one deleted\n"
        assert run("demo", named)[::2] == (1, said)
    assert len(judgments_in(url, Collection.load(DEMO))) == 1


@pytest.mark.parametrize(("typed", "told"), [(["evaluate", "a.run", "b.qrels"], True), (["demo", "a", "b"], False)])
def test_who_names_runs_and_judgments_one_by_one_is_told_of_the_folder(run, typed, told):
    code, _, err = run(*typed)
    assert code == 2
    assert "unexpected extra argument" in err
    assert ("COLLECTION; --judgments FILE names others" in " ".join(err.replace("│", "").split())) is told


@pytest.mark.slow
def test_a_reader_that_stops_early_is_no_error(tmp_path):
    command = f"{sys.executable} -m audiosim predict {DEMO} --format csv | head -n 1"
    ended = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=tmp_path, env=os.environ)
    assert ended.stdout.startswith("query,document")
    assert ended.stderr == LACKING


@pytest.mark.slow
def test_a_server_that_is_not_there_is_one_line(run):
    code, _, err = run("estimate", DEMO, "--model", "remote:http://127.0.0.1:9")
    assert code == 1
    assert err.startswith("audiosim: ")
    assert "http://127.0.0.1:9" in err
    assert len(err.splitlines()) == 1


@pytest.fixture(scope="module")
def trained_file(tmp_path_factory):
    """A model trained on the demo by the command, and the command's output."""
    folder = tmp_path_factory.mktemp("trained")
    command = ["audiosim", "train", DEMO, "--judgments", TRUTH, "-o", folder / "mine.json"]
    options = ["--features", "fSYS,fART,sGEN", "--report", folder / "mine.html", "--date", "2024-01-05"]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as said, redirect_stderr(io.StringIO()):
        patch.setattr(sys, "argv", list(map(str, [*command, *options])))
        with pytest.raises(SystemExit, check=lambda ended: not ended.code):
            cli.main()
    return folder / "mine.json", said.getvalue()


@pytest.mark.slow
def test_train_writes_a_model_a_report_and_says_how_good_it_is(trained_file):
    path, said = trained_file
    fields = json.loads(path.read_text(encoding="utf-8"))
    assert (fields["name"], fields["terms"]) == ("mine", ["fSYS", "fART", "sGEN"])
    assert fields["training"]["date"] == "2024-01-05"
    for words in ("Coefficients", "Contribution of each term", "10 folds by query", "uniform", "historical, shipped"):
        assert words in said
    page = path.with_suffix(".html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.count("<svg") == 4
    assert "http" not in page
    assert sorted(file.name for file in path.parent.iterdir()) == ["mine.html", "mine.json"]


@pytest.mark.slow
def test_estimate_uses_a_trained_model_and_falls_back_where_it_must(run, trained_file):
    path, _ = trained_file
    result = parsed(run("estimate", DEMO, "--model", path, "--format", "json"))
    assert (result["model"], result["judged"]) == ("mine", 0)
    rows = parsed(run("predict", DEMO, "--model", path, "--format", "json"))
    assert {row["model"] for row in rows} <= {"mine", "historical-fine"}


@pytest.mark.slow
def test_a_model_of_judgments_is_trained_and_estimates_with_another_trained_one_behind_it(run, trained_file, tmp_path):
    out, _ = trained_file
    options = ["--features", "judgment", "--fallback", out, "-o", tmp_path / "jud.json", "--format", "json"]
    fields = parsed(run("train", DEMO, "--judgments", TRUTH, *options))
    assert fields["fallback"]["name"] == "mine"
    result = parsed(run("estimate", DEMO, "--model", tmp_path / "jud.json", "--format", "json"))
    assert result["model"] == "jud"


@pytest.mark.slow
def test_train_gives_json_for_programs_and_csv_with_a_row_per_term(run, tmp_path):
    command = [
        "train",
        DEMO,
        "--judgments",
        TRUTH,
        "--features",
        "fSYS,fART",
        "--folds",
        "2",
        "-o",
        tmp_path / "m.json",
    ]
    fields = parsed(run(*command, "--format", "json"))
    assert fields == json.loads((tmp_path / "m.json").read_text())
    code, out, _ = run(*command, "--format", "csv", "--name", "other")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert [row["term"] for row in rows] == ["fSYS", "fART"]
    assert float(rows[0]["coefficient"]) == pytest.approx(fields["coefficients"][0])
    assert json.loads((tmp_path / "m.json").read_text())["name"] == "other"


@pytest.mark.slow
def test_train_says_what_it_leaves_out(run, tmp_path):
    options = ["--features", "OV,fSYS,aART", "--eliminate", "0.05", "-o", tmp_path / "m.json"]
    code, _, err = run("train", DEMO, "--judgments", TRUTH, *options)
    assert code == 0
    assert any(re.match(r"note: OV is [.\d]+ everywhere: left out", note) for note in err.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scale", "named", "levels", "fallback"),
    [
        ("fine", "fine", list(range(5, 100, 10)), "historical-fine"),
        ("broad", "broad", [0, 1, 2], "historical-broad"),
        ("0,1,2", "custom", [0, 1, 2], "m-shares"),
    ],
)
def test_train_reads_the_grades_of_the_scale_asked_for(run, tmp_path, scale, named, levels, fallback):
    lines = [line.split() for line in Path(TRUTH).read_text().splitlines()]
    coarse = "grade" if named == "custom" else "broad"
    rows = [f"{q},{d},{g},{min(int(g) // 34, 2)}" for q, _, d, g in lines]
    (tmp_path / "both.csv").write_text("\n".join([f"query,document,fine,{coarse}", *rows]) + "\n")
    options = ["--features", "fSYS,fART", "--scale", scale, "--folds", "0", "-o", tmp_path / "m.json"]
    fields = parsed(run("train", DEMO, "--judgments", tmp_path / "both.csv", *options, "--format", "json"))
    found = fields["fallback"] if isinstance(fields["fallback"], str) else fields["fallback"]["name"]
    assert (fields["scale"], fields["levels"], found) == (named, levels, fallback)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "audiosim: demo: no retrieved pair is judged, expected judgments in its folder, or --judgments"),
        (["--scale", "broad"], "audiosim: demo: no retrieved pair is judged"),
        (["--judgments", TRUTH, "--folds", "25"], "audiosim: 24 queries with judgments are too few for 25 folds"),
        ([*QUICK, "-o", "nowhere/m.json"], "audiosim: nowhere/m.json: cannot be written: "),
        ([*QUICK, "--report", "nowhere/m.html"], "audiosim: nowhere/m.html: cannot be written: "),
    ],
)
def test_what_cannot_be_trained_is_one_line_and_leaves_no_file(run, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("train", DEMO, "-o", "m.json", *arguments)
    assert (code, out) == (1, "")
    last = [line for line in err.splitlines() if not line.startswith("note: ")]
    assert len(last) == 1
    assert last[0].startswith(message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command", ["evaluate", "fits", "judges", "reliability", "simulate", "study sample", "train -o m.json", "worth"]
)
def test_a_command_that_lacks_judgments_ends_with_what_to_type(run, command):
    code, _, err = run(*command.split(), DEMO)
    assert code == 1
    assert err.endswith(f", expected judgments in its folder, or --judgments {Path(TRUTH)}\n")


@pytest.mark.parametrize("scale", ["1,0", "rough"])
def test_a_scale_that_is_none_is_wrong_usage(run, tmp_path, scale):
    code, out, err = run("train", DEMO, "-o", tmp_path / "m.json", "--judgments", TRUTH, "--scale", scale)
    assert (code, out, "Invalid value for --scale" in err) == (2, "", True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_evaluate_gives_systems_and_pairs_by_measure(run):
    measures = ["--measure", "CG@5", "--measure", "nDCG@5"]
    found = parsed(run("evaluate", DEMO, "--judgments", TRUTH, *measures, "--test", "sign", "--format", "json"))
    assert list(found) == ["CG@5", "nDCG@5"]
    assert [len(found[name][rows]) for name in found for rows in ("systems", "pairs")] == [10, 45, 10, 45]
    code, out, _ = run("evaluate", DEMO, "--judgments", TRUTH, "--format", "csv")
    assert code == 0
    assert len(out.splitlines()) == 11


@pytest.mark.slow
@pytest.mark.parametrize("command", ["evaluate", "reliability"])
def test_unjudged_documents_stop_an_evaluation_unless_told_otherwise(run, command, tmp_path):
    code, out, err = run(command, DEMO)
    assert (code, out, err) == (
        1,
        "",
        f"audiosim: demo: nothing is judged, expected judgments in its folder, or --judgments {TRUTH}\n",
    )
    some = tmp_path / "some.tsv"
    some.write_text("".join(Path(TRUTH).read_text(encoding="utf-8").splitlines(keepends=True)[:9]), encoding="utf-8")
    code, out, err = run(command, DEMO, "--judgments", str(some))
    assert (code, out) == (1, "")
    assert err.endswith("; choose --unjudged zero or --unjudged skip, or let estimate predict them\n")
    zero = run(command, DEMO, "--unjudged", "zero")  # all scores 0: systems have ranks but no components of variance
    assert zero[0] == (0 if command == "evaluate" else 1)
    assert len(zero[2].splitlines()) == zero[0]


@pytest.mark.slow
def test_reliability_gives_shares_coefficients_and_queries(run):
    (study,) = parsed(run("reliability", DEMO, "--judgments", TRUTH, "--format", "json")).values()
    assert study["system"] + study["query"] + study["residual"] == pytest.approx(1)
    assert 0 < study["dependability"] < study["generalizability"] < 1
    code, out, _ = run("reliability", DEMO, "--judgments", TRUTH)
    assert (code, "…" in out) == (0, False)


@pytest.mark.slow
def test_evaluate_has_friedman_s_test_users_scales_and_fits(run, few):
    call = ("evaluate", DEMO, "--judgments", TRUTH)
    (found,) = parsed(run(*call, "--test", "friedman", "--users", "15", "--format", "json")).values()
    assert found["friedman"]["freedom"] == 9
    assert sum(found["systems"][0]["users_probabilities"]) == pytest.approx(1)
    code, out, _ = run(*call, "--test", "friedman", "--users", "15")
    assert code == 0
    assert "Tukey's HSD" in out
    assert "of 15 users" in out
    code, out, _ = run(*call, "--scale", "binary-40", "--measure", "AP@5", "--format", "csv")
    assert "satisfied" in out.splitlines()[0]
    fitted = ("fits", few, "--judgments", TRUTH)
    (fit,) = parsed(run(*fitted, "--format", "json")).values()
    assert set(fit) == {"queries", "trials", "normal", "truncated normal", "beta", "empirical"}
    assert "Mean omega" in run(*fitted)[1]
    code, _, err = run(*call, "--scale", "graded")
    assert (code, "unknown scale 'graded'" in " ".join(err.replace("│", " ").split())) == (2, True)


@pytest.mark.slow
def test_reliability_has_split_halves_growth_and_assessors(run, tmp_path):
    call = ("reliability", DEMO, "--judgments", TRUTH)
    (halves,) = parsed(run(*call, "--split-half", "--trials", "3", "--format", "json")).values()
    assert (halves["test"], halves["comparisons"], len(halves["rates"])) == ("t", 135, 32)
    assert "135 comparisons" in run(*call, "--split-half", "--trials", "3")[1]
    (study,) = parsed(run(*call, "--while-judging", "--format", "json")).values()
    assert [row["queries"] for row in study["growth"]] == list(range(2, 25))
    assert "24 queries" in run(*call, "--while-judging")[1]
    lines = [line.split() for line in Path(TRUTH).read_text().splitlines()]
    rows = [
        f"{query},{document},{max(0, int(grade) - worse)},{who}"
        for query, _, document, grade in lines
        for who, worse in (("ann", 0), ("bob", 20))
    ]
    (tmp_path / "two.csv").write_text("\n".join(["query,document,fine,assessor", *rows]))
    two = ("reliability", DEMO, "--judgments", tmp_path / "two.csv", "--assessors")
    (study,) = parsed(run(*two, "--format", "json")).values()
    assert (study["queries"], study["assessors"]) == (24, 2)
    assert "2 assessors of each of 24 queries" in run(*two)[1]
    code, _, err = run(*call, "--assessors", "--split-half")
    said = "audiosim: --assessors and --split-half cannot be combined: each is a study of its own"
    assert (code, err.splitlines()[-1]) == (1, said)


@pytest.mark.slow
def test_a_study_is_sampled_and_read_again_once_people_have_answered(run, tmp_path):
    path = tmp_path / "answers.tsv"
    call = ("study", "sample", DEMO, "--judgments", TRUTH, "-o", path, "--scale", "graded-4", "--wanted", "2")
    found = parsed(run(*call, "--format", "json"))
    assert found["examples"] >= 20
    assert {row["scale"] for row in found["bins"]} == {"fine", "graded-4"}
    code, out, err = run(*call)
    assert "fill its column" in out
    assert "unused" not in err  # its lists are made of all judged documents
    header, *lines = path.read_text().splitlines()
    path.write_text("\n".join([header, *(f"a{line}" for line in lines)]) + "\n")
    prior = ("--prior", DEMO, "--measure", "CG@5", "--format", "json")
    code, _, err = run("satisfaction", path, "--scale", "graded-4", *prior)
    assert code == 1  # the demo has no judgments at first
    assert "nothing is judged, expected judgments in its folder" in err
    (answered,) = parsed(run("satisfaction", path, "--scale", "graded-4", "--format", "json")).values()
    assert (answered["scale"], answered["answers"]) == ("graded-4", len(lines))


@pytest.mark.slow
def test_results_by_the_query_s_own_artist_are_said_or_dropped(run, tmp_path):
    (tmp_path / "runs.trec").write_text("q Q0 q 1 3 S\nq Q0 b 2 2 S\nq Q0 c 3 1 S\nq Q0 b 1 2 T\nq Q0 c 2 1 T\n")
    said = "1 result is the query's own recording, 0 results are by its artist"
    assert said in run("predict", tmp_path, "--model", "uniform", "--format", "json")[2]
    dropped = run("predict", tmp_path, "--model", "uniform", "--same-artist", "drop", "--format", "json")
    assert [row["document"] for row in parsed(dropped)] == ["b", "c"]
    assert f"{said}, such as document q for query q in system S: left out" in dropped[2]
    assert "artist" not in run("predict", tmp_path, "--model", "uniform", "--same-artist", "keep")[2]


@pytest.mark.slow
def test_a_comparison_and_a_plan_leave_out_results_by_the_query_s_own_artist(run, tmp_path):
    (tmp_path / "runs.trec").write_text("q Q0 q 1 3 S\nq Q0 b 2 2 S\nq Q0 c 3 1 S\nq Q0 c 1 2 T\nq Q0 b 2 1 T\n")
    (tmp_path / "judgments.tsv").write_text("q b 70\nq c 20\nq q 90\n")
    for choice, difference in (("keep", 0.9 / 3), ("drop", 0)):  # CG@3: only the query's own recording differs
        found = parsed(
            run("compare", tmp_path, "S", "T", "--model", "uniform", "--same-artist", choice, "--format", "json")
        )
        assert found["expectation"] == pytest.approx(difference)
    said = run("plan", tmp_path, "--model", "uniform", "--same-artist", "drop", "--format", "json")[2]
    assert "such as document q for query q in system S: left out" in said


@pytest.mark.slow
def test_differences_may_be_normal_wherever_a_confidence_is_stated(run):
    for call in (("estimate", DEMO), ("compare", DEMO, "rhythm", "harmony")):
        t, normal = (
            parsed(run(*call, "--model", "mout", "--distribution", which, "--format", "json"))["confidence"]
            for which in ("t", "normal")
        )
        assert t < normal  # Student's t has the heavier tails
    played = (
        "simulate",
        DEMO,
        "--judgments",
        TRUTH,
        "--model",
        "mout",
        "--stopping-rule",
        "judgments=1",
        "--format",
        "json",
    )
    t, normal = (parsed(run(*played, "--distribution", which))["confidence"] for which in ("t", "normal"))
    assert t < normal


def test_satisfaction_learns_from_answers(run, tmp_path):
    lines = ["answer\tquery\tA1\tB1\tbroad_A1\tbroad_B1"]
    lines += [
        f"{answer}\tq\ta\tb\t{a}\t{b}" for answer, a, b in (("a", 2, 0), ("b", 0, 1), ("good", 2, 2), ("bad", 0, 0))
    ]
    (tmp_path / "answers.tsv").write_text("\n".join(lines) + "\n")
    (found,) = parsed(run("satisfaction", tmp_path / "answers.tsv", "--measure", "CG@1", "--format", "json")).values()
    assert found["answers"] == 4
    assert [row["lists"] for row in found["bins"]][::9] == [2, 2]
    assert run("satisfaction", tmp_path / "answers.tsv", "--measure", "CG@1")[0] == 0


@pytest.mark.slow
def test_report_writes_one_page_for_judged_and_for_half_judged_collections(run, tmp_path):
    unused = "note: CG@5 leaves 1,104 of 1,704 judgments unused: no system has their documents in its first 5 results\n"
    written = f"note: the report is in {tmp_path / 'page.html'}: open it in a browser\n"
    for judgments, said in (("none", ""), (TRUTH, unused)):
        assert run("report", DEMO, "--judgments", judgments, "-o", tmp_path / "page.html") == (0, "", said + written)
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert page.startswith("<!doctype html>")
        assert "timbre-full" in page


def test_beside_what_all_commands_share_a_command_has_few_options():
    group = typer.main.get_command(cli.app)
    context = group.make_context("audiosim", [], resilient_parsing=True)
    several = {"ideal", "by_query", "complete", "resamples", "distribution"}  # of several, in their functions' words
    read = {one.name for one in options.of_collection()}
    shared = {*options.SHARED, *several, *read, "form", "plot", "report", "output"}
    most, counted = {"serve": 15, "simulate": 14, "train": 14}, 0
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        for one in getattr(command, "commands", {name: command}).values():
            own = {each.name for each in one.params if each.param_type_name == "option"} - shared
            assert len(own) <= most.get(name, 8), (name, one.name, own)
            counted += len(own)
    assert counted > 100


def test_a_difference_without_spread_has_no_infinite_effect_and_no_p_of_0(run, tmp_path):
    """System A is one grade better on each of 20 queries."""
    queries = [f"q{number}" for number in range(20)]
    (tmp_path / "runs").mkdir()
    for name in "AB":
        lines = [f"{query} Q0 {name}{query} 1 1 {name}\n" for query in queries]
        (tmp_path / "runs" / f"{name}.trec").write_text("".join(lines), "utf-8")
    grades = [f"{query} 0 A{query} 2\n{query} 0 B{query} 1\n" for query in queries]
    (tmp_path / "judgments.qrels").write_text("".join(grades), "utf-8")
    code, out, _ = run("evaluate", tmp_path)
    assert code == 0
    row = out.strip().splitlines()[-1].split("  ")
    assert [cell.strip() for cell in row if cell][-3:] == ["no spread", "<.0001", "<.0001"]


def test_a_command_that_reads_a_log_says_which_model_was_chosen_there(run, tmp_path):
    folder, url = tmp_path / "demo", f"sqlite:///{tmp_path / 'log.db'}"
    shutil.copytree(DEMO, folder, ignore=shutil.ignore_patterns("sounds"))
    command = ("estimate", folder, "--judgments", url)
    with closing(DatabaseStore(url, "demo")) as store:
        campaign = Campaign(Collection.load(folder), model="mout-fine", store=store)
        assert "the campaign's model" not in run(*command)[2]
        campaign.model_choices.make({"model": "mout-fine", "version": ""})
        stated = campaign.confidence
    said = "note: the campaign's model is mout-fine: --model FILE, its name or its file, gives its numbers\n"
    assert said in run(*command)[2]
    assert parsed(run(*command, "--model", "mout-fine", "--format", "json"))["confidence"] == pytest.approx(stated)
