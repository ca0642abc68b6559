"""The check of a collection: the command, the function, and other commands' messages about the same mistakes."""

import json
import shutil

import numpy as np
import pytest

import audiosim
from audiosim import package_files
from audiosim.sound.index import extract

DEMO = package_files.folder("fixtures") / "demo"
KEYS = ["scale", "cutoff", "queries", "runs", "judged", "documents", "problems"]


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(DEMO, tmp_path / "demo")


def cut_off(folder):
    """One run without the second half of its lines."""
    path = folder / "runs" / "rhythm.trec"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[: len(lines) // 2]), encoding="utf-8")


def test_a_whole_collection_is_shown_as_it_was_read(run, folder):
    code, out, err = run("check", folder, "--judgments", folder / "truth.qrels", "--format", "json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert set(KEYS) <= set(found)
    assert found["scale"] == {"name": "fine", "levels": list(range(101))}
    assert (found["cutoff"], found["queries"], found["judged"], found["pool"]) == (5, 24, 600, 600)
    assert found["problems"] == []
    # Counted by hand in documents.tsv: 72 recordings, one without an artist and one without a genre.
    assert found["documents"] == {
        "documents": 72, "described": 72, "artist": 71, "genre": 71, "files": 72, "missing": 0, "indexed": None,
    }  # fmt: skip
    rows = {row["system"]: row for row in found["runs"]}
    assert len(rows) == 10
    assert {(row["queries"], row["others"], row["depth"], row["judged"]) for row in rows.values()} == {(24, 0, 5, 1)}
    # The share of its results that no other system has, counted in another way.
    results = {name: {(q, d) for q, d in results_of(folder, name)} for name in rows}
    for name, row in rows.items():
        others = set().union(*(found for other, found in results.items() if other != name))
        assert row["alone"] == pytest.approx(len(results[name] - others) / len(results[name]))


def test_evidence_that_was_found_is_named_with_what_it_is_known_of(run, folder):
    (folder / "evidence").mkdir()
    (folder / "evidence" / "tags.tsv").write_text("document\tmood\nd001\t1\nd002\t2\nnone\t3\n", encoding="utf-8")
    vectors = {"document": np.array(["d001", "d002", "d003"]), "vector": np.eye(3)}
    np.savez(folder / "evidence" / "clap.npz", **vectors)
    code, out, _ = run("check", folder)
    assert code == 0
    assert "Evidence   clap, 3 numbers for 3 of 72 documents; tags, a number for 2 of 72 documents\n" in out


def results_of(folder, system):
    for line in (folder / "runs" / f"{system}.trec").read_text("utf-8").splitlines():
        query, _, document, _, _, _ = line.split()
        yield query, document


def test_the_table_has_a_row_for_each_system_and_a_line_for_each_problem(run, folder):
    cut_off(folder)
    shutil.copy(folder / "runs" / "harmony.trec", folder / "runs" / "melody.trec")
    (folder / "runs" / "melody.trec").write_text(
        (folder / "runs" / "melody.trec").read_text("utf-8").replace("harmony", "melody")
    )
    next((folder / "sounds").iterdir()).unlink()
    code, out, _ = run("check", folder)
    assert code == 1
    assert "wrong? system rhythm answers 12 of the 24 queries\n" in out
    assert "wrong? systems harmony and melody have the same results: one run under two names?\n" in out
    assert "wrong? documents.tsv: 1 of 72 sound files are not there: sounds/" in out
    assert len([line for line in out.splitlines() if "%" in line and not line.startswith("Judged")]) == 11


def test_the_function_is_the_command(run, folder):
    found = audiosim.check(folder)
    assert found.to_dict() == json.loads(run("check", folder, "--format", "json")[1])
    assert list(found.to_frame().columns) == ["queries", "others", "depth", "alone", "same_as", "judged"]
    counts = "Demo: synthesised music: 10 systems, 24 queries, 0 of 600 pairs judged"
    noted = f" ({len(found.notes)} note{'s' * (len(found.notes) != 1)}, in `notes`)" * bool(found.notes)
    assert repr(found) == f"{counts}; nothing looks wrong{noted}"
    assert audiosim.check(audiosim.Collection.load(folder)).documents.files == 0  # their folder is not stated


@pytest.mark.slow
def test_recordings_in_the_index_are_counted_and_an_index_of_others_is_a_problem(folder):
    sounds = sorted((folder / "sounds").iterdir())
    extract(sounds[:3], into=folder / "sounds.index")
    found = audiosim.check(folder)
    assert (found.documents.indexed, found.problems) == (3, ())
    shutil.rmtree(folder / "sounds.index")
    other = folder / "other.wav"
    shutil.copy(sounds[0], other.with_suffix(sounds[0].suffix))
    extract([other.with_suffix(sounds[0].suffix)], into=folder / "sounds.index")
    assert audiosim.check(folder).problems == (
        "sounds.index: none of the documents is in it; it names recordings such as other, the runs documents such as "
        "d001: give documents.tsv a column path with the files, and index that: audiosim extract documents.tsv",
    )


@pytest.mark.parametrize(
    "command", ["estimate", "predict", "next", "plan", "worth", "evaluate", "reliability", "report"]
)
def test_every_command_refuses_a_run_that_is_cut_off(run, folder, command):
    cut_off(folder)
    code, out, err = run(command, folder)
    assert (code, out) == (1, "")
    assert "system rhythm answers 12 of the 24 queries, expected 90 % of them; --partial" in err
    assert len(err.splitlines()) == 1


def test_a_run_that_is_cut_off_is_taken_and_said_where_told(run, folder):
    cut_off(folder)
    code, _, err = run("estimate", folder, "--partial", "--model", "uniform")
    assert code == 0
    assert "note: system rhythm answers 12 of the 24 queries\n" in err


def test_a_scale_is_said_once_on_any_command(run, folder):
    (folder / "collection.toml").unlink()
    lines = (folder / "truth.qrels").read_text("utf-8").splitlines()
    graded = [" ".join([*line.split()[:3], str(int(float(line.split()[3])) // 34)]) for line in lines]
    (folder / "judgments.qrels").write_text("\n".join(graded) + "\n")
    code, out, err = run("evaluate", folder, "--measure", "CG@5", "--format", "json")
    assert "note: scale not given, grades 0 1 2: taken as broad, 0 1 2\n" in err
    best = json.loads(out)["CG@5"]["systems"][0]["mean"]
    code, out, err = run("evaluate", folder, "--scale", "0-4", "--format", "json")
    assert code == 0
    assert "scale" not in err
    assert json.loads(out)["CG@5"]["systems"][0]["mean"] == pytest.approx(best / 2)  # with 4 levels, not 2
    code, _, err = run("evaluate", folder, "--scale", "loud")
    assert code == 2
    assert "unknown scale 'loud'" in err


def test_what_each_machine_s_grades_were_taken_for_is_said_and_one_that_says_nothing_is_a_problem(tiny):
    pairs = [(query, documents[0]) for query, documents in tiny.runs[0].rankings.items()]
    some = dict(zip(pairs, range(len(pairs)), strict=True))
    own = tiny.runs[0].system
    known = tiny.with_judge("gpt", some, own).with_judge("dull", dict.fromkeys(pairs, 2.0))
    found = audiosim.check(known)
    gpt, dull = found.judges
    assert (gpt.judge, gpt.maker, gpt.graded, gpt.low, gpt.high) == ("gpt", own, len(pairs), 0, len(pairs) - 1)
    assert (
        f"judge gpt grades {len(pairs)} of {found.pool} pairs from 0 to {len(pairs) - 1}, made by {own}" in found.notes
    )
    assert dull.levels == 1
    assert "judge dull gives every pair the grade 2, which carries no information" in found.problems
    assert found.to_dict()["judges"][0]["judge"] == "gpt"


def test_judgments_of_documents_that_no_system_returned_are_counted(run, folder):
    shutil.copy(folder / "truth.qrels", folder / "judgments.qrels")
    judged = {tuple(line.split()[:3:2]) for line in (folder / "judgments.qrels").read_text("utf-8").splitlines()}
    retrieved = {pair for path in (folder / "runs").iterdir() for pair in results_of(folder, path.stem)}
    counts = f"{len(judged - retrieved):,} of {len(judged):,} judged pairs"
    said = f"{counts}: no system has the document in its first 5 results"
    code, out, _ = run("check", folder)
    assert (code, f"note: {said}\n" in out) == (0, True)
    assert said in audiosim.check(folder).notes
