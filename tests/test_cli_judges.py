"""`audiosim judges`: reports on people, the ranking without each person, and setting a person aside."""

import json
import re
from contextlib import closing
from itertools import product

import pytest
from typer.testing import CliRunner

from audiosim import judge_effect
from audiosim.campaign import DatabaseStore, judgments_in
from audiosim.campaign.event import Event
from audiosim.cli import app
from audiosim.collection.collection import Collection

FOLDER = {
    "runs.trec": "".join(
        f"{q} Q0 {s}{q}{r} {r} {9 - r} {s}\n" for s in "AB" for q in ("q1", "q2", "q3") for r in (1, 2)
    ),
    "judgments.csv": "query,document,grade,assessor\n"
    + "".join(
        f"{q},{s}{q}{r},{grade},{name}\n"
        for q in ("q1", "q2", "q3")
        for s in "AB"
        for r in (1, 2)
        for name, grade in (("ann", 60 if s == "A" else 40), ("bob", 0 if s == "A" else 100))
    ),
    "collection.toml": 'scale = "fine"\ncutoff = 2\n',
}


@pytest.fixture
def folder(tmp_path):
    """Two systems: ann prefers A, and bob, more strongly, B."""
    made = tmp_path / "two"
    made.mkdir()
    for name, text in FOLDER.items():
        (made / name).write_text(text, encoding="utf-8")
    return made


def run(*arguments, verb="judges", measure=("--measure", "CG@2")):
    return CliRunner().invoke(app, [verb, *map(str, arguments), *measure, "--format", "json"])


def turn(verb, *arguments):
    return run(*arguments, verb=verb, measure=())


@pytest.mark.slow
def test_the_effect_is_shown_and_nothing_written_until_it_is_asked_for(folder, tmp_path):
    url = f"sqlite:///{tmp_path / 'campaign.db'}"
    with closing(DatabaseStore(url, "two")) as store:
        store.append_all([Event("pause", "2026-11-22T12:00:00Z", "me")], 0)
    effect = folder, "Bob", "--judgments", url
    shown = json.loads(run(*effect, verb="judge-effect").stdout)
    assert (shown["judge"], shown["turned"], shown["best_without"]) == ("bob", 1, "A")
    assert [(row["system"], row["score"], row["score_without"]) for row in shown["systems"]] == [
        ("B", pytest.approx(0.7), pytest.approx(0.4)),
        ("A", pytest.approx(0.3), pytest.approx(0.6)),
    ]
    done = json.loads(turn("set-aside", *effect, "--reason", "why").stdout)
    assert done == {"judge": "bob", "aside": True, "line": 2}
    assert {one.assessor for one in judgments_in(url, Collection.load(folder))} == {"ann"}
    assert json.loads(run(*effect, verb="judge-effect").stdout) == shown
    back = CliRunner().invoke(app, ["take-back", str(folder), "bob", "--judgments", url])
    assert back.stdout == "bob counts again: line 3 of the log.\n"
    assert {one.assessor for one in judgments_in(url, Collection.load(folder))} == {"ann", "bob"}


@pytest.mark.slow
def test_in_files_collection_toml_sets_aside(folder):
    shown = run(folder, "bob", verb="judge-effect")
    assert json.loads(shown.stdout)["best_without"] == "A"
    said = judge_effect(folder, "bob").sentence
    assert re.search(r" moves most, by [+\N{MINUS SIGN}]0\.300; confidence on .* from \S+ to \S+\.$", said)
    with (folder / "collection.toml").open("a", encoding="utf-8") as file:
        file.write('set_aside = ["bob"]\n')
    found = Collection.load(folder)
    assert {one.assessor for one in found.judgments} == {"ann"}
    assert "12 judgments by bob left out: they are in set_aside of collection.toml" in found.guesses
    assert run(folder, "bob", verb="judge-effect").stdout == shown.stdout
    assert [row["judge"] for row in json.loads(run(folder).stdout)] == ["ann"]


@pytest.mark.slow
def test_the_table_has_a_line_for_the_ranking_without_each(folder):
    rows = {row["judge"]: row["without"] for row in json.loads(run(folder).stdout)}
    assert (rows["ann"]["turned"], rows["bob"]["turned"], rows["bob"]["best_without"]) == (0, 1, "A")
    told = CliRunner().invoke(app, ["judges", str(folder), "--measure", "CG@2"]).stdout
    assert "CG@2, on these queries: confidence 1.000; without each person in turn:" in told


@pytest.mark.slow
def test_the_pairs_on_which_people_differ_most_are_listed(folder):
    lines = (folder / "judgments.csv").read_text(encoding="utf-8").splitlines()
    agreed = [line for line in lines if ",bob" not in line]
    agreed += [line.replace(",ann", ",bob") for line in agreed[1:]]
    agreed[1] = "q1,Aq11,0,ann"
    (folder / "judgments.csv").write_text("\n".join(agreed) + "\n", encoding="utf-8")
    rows = json.loads(turn("disagreements", folder, "-n", 3).stdout)
    assert len(rows) == 3
    assert (rows[0]["query"], rows[0]["document"], rows[0]["grades"]) == ("q1", "Aq11", {"ann": 0, "bob": 60})
    assert rows[0]["chance"] < rows[1]["chance"]
    told = CliRunner().invoke(app, ["disagreements", str(folder), "-n", "1"]).stdout
    assert "ann 0, bob 60" in told


@pytest.mark.parametrize("verb", ["set-aside", "take-back"])
def test_without_a_campaign_collection_toml_is_named(folder, verb):
    done = turn(verb, folder, "ann")
    assert done.exit_code == 2
    said = " ".join(done.stderr.replace("│", " ").split())
    assert "--judgments: expected the database of a campaign; for judgments in files, collection.toml says it" in said
    assert 'set_aside = ["ann"]' in said


def test_a_set_aside_that_is_no_list_of_names_is_refused(folder):
    (folder / "collection.toml").write_text('set_aside = "bob"\n', encoding="utf-8")
    done = run(folder)
    assert done.exit_code == 1
    assert "collection.toml:1: set_aside: expected a list of names, found 'bob'" in f"{done.stderr}{done.exception}"


@pytest.mark.slow
def test_a_ranking_is_by_one_aspect_or_by_their_mean(folder):
    rows = FOLDER["judgments.csv"].splitlines()[1:]
    named = [row.replace("bob", "ann") + (",form" if "ann" in row else ",sound") for row in rows]
    (folder / "judgments.csv").write_text("\n".join(["query,document,grade,assessor,aspect", *named]) + "\n")
    scores = {}
    for command, wanted in product(("evaluate", "estimate"), ("form", "sound", "mean")):
        arguments = [command, str(folder), "--measure", "CG@2", "--format", "json", "--aspect", wanted]
        found = json.loads(CliRunner().invoke(app, arguments).stdout)
        rows = found["CG@2"]["systems"] if command == "evaluate" else found["systems"]
        scores[command, wanted] = {
            row["system"]: round(row["mean" if command == "evaluate" else "expectation"], 3) for row in rows
        }
    by_aspect = {"form": {"A": 0.6, "B": 0.4}, "sound": {"A": 0, "B": 1}, "mean": {"A": 0.3, "B": 0.7}}
    assert scores == {(command, aspect): by_aspect[aspect] for command, aspect in scores}
    wrong = CliRunner().invoke(app, ["estimate", str(folder), "--aspect", "forn"])
    assert wrong.exit_code == 2
    assert "unknown aspect 'forn', expected form, sound, mean" in " ".join(wrong.output.replace("│", "").split())
    # Without a grade for the form of one pair, only that pair is left to judge for form, and none for sound.
    left = next(row for row in named if row.endswith(",form"))
    rest = [row for row in named if row != left]
    (folder / "judgments.csv").write_text("\n".join(["query,document,grade,assessor,aspect", *rest]) + "\n")
    for aspect, wanted in (("form", [left.split(",")[:2]]), ("sound", [])):
        options = [str(folder), "--measure", "CG@2", "--format", "json", "--aspect", aspect]
        asked = json.loads(CliRunner().invoke(app, ["next", *options]).stdout)
        assert [[row["query"], row["document"]] for row in asked] == wanted
        planned = json.loads(CliRunner().invoke(app, ["plan", *options, "--campaigns", "2"]).stdout)
        assert planned["judged"] == 12 - len(wanted)
