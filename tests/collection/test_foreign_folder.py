"""Folders from elsewhere, with file names that audiosim does not know."""

import gzip

import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.values import Judgment
from audiosim.errors import FormatError, InputError
from audiosim.evaluation.check import check

RUNS = {name: f"q1 Q0 d1 1 0.9 {name}\nq1 Q0 d2 2 -1e-3 {name}\n" for name in ("A", "B")}
QRELS = "q1 0 d1 2\nq1 0 d2 0\n\n"


def _written(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return folder


@pytest.mark.parametrize(
    "files",
    [
        {"input.a": RUNS["A"], "input.b.gz": RUNS["B"], "qrels.txt": QRELS, "notes": "six words are not a run\n"},
        {"sent in/a": RUNS["A"], "sent in/b": RUNS["B"], "2019.qrels": QRELS, "paper.pdf": "\x00%PDF"},
        {"run.txt": RUNS["A"] + RUNS["B"], "old/run": RUNS["A"], "judgements.txt": QRELS},
    ],
)
def test_runs_and_judgments_are_known_by_their_contents_where_nothing_has_our_names(tmp_path, files):
    collection = Collection.load(_written(tmp_path, files))
    assert {run.system: run.rankings["q1"] for run in collection.runs} == dict.fromkeys("AB", ("d1", "d2"))
    assert collection.judgments == (Judgment("q1", "d1", 2), Judgment("q1", "d2", 0))
    assert "by their contents, runs are" in collection.guesses[0]


def test_what_could_be_two_things_is_asked_for(tmp_path):
    folder = _written(tmp_path, {"a": RUNS["A"], "one.qrels": QRELS, "two": QRELS})
    with pytest.raises(
        InputError, match=r": one.qrels, two all look like judgments, expected one of them; `judgments=FILE`"
    ):
        Collection.load(folder)
    assert len(Collection.load(folder, judgments=folder / "two").judgments) == 2
    assert Collection.load(folder, judgments="none").judgments == ()
    several = _written(tmp_path / "many", {"x/runs.trec": RUNS["A"], "y/runs.trec": RUNS["B"]})
    with pytest.raises(InputError, match=r"has runs in .*x and .*y, expected one collection$"):
        Collection.load(several)


def test_names_of_ours_come_first_and_other_files_are_left_alone(tmp_path):
    folder = _written(tmp_path, {"runs/a": RUNS["A"], "b": RUNS["B"], "truth": QRELS})
    collection = Collection.load(folder)
    assert [run.system for run in collection.runs] == ["A"]
    assert collection.judgments == ()
    said = "truth looks like judgments and is not read, as it is not called judgments; `judgments=FILE` reads it"
    assert [note for note in check(collection).notes if "truth" in note] == [said]
    read = Collection.load(folder, judgments=folder / "truth")
    assert (len(read.judgments), [one for one in read.readings if one.unread]) == (2, [])


@pytest.mark.parametrize("layout", ["runs/a", "a"])
def test_a_spreadsheet_is_told_to_be_saved_as_csv(tmp_path, layout):
    folder = _written(tmp_path, {layout: RUNS["A"], "ratings.xlsx": "PK\x03\x04", "old.ods": "PK\x03\x04"})
    said = [note for note in check(Collection.load(folder)).notes if " is a spreadsheet " in note]
    sheets = "old.ods", "ratings.xlsx"
    assert said == [f"{name} is a spreadsheet and is not read: save its table as CSV" for name in sheets]
    with pytest.raises(InputError, match=r"ratings.xlsx: is not a folder, .*; save a spreadsheet's tables as CSV$"):
        Collection.load(folder / "ratings.xlsx")


@pytest.mark.parametrize("odd", ["q1 Q0 d2 second -1 B\n", "q1 Q0 d2 2 B\n", "# sent in by B\n"])
def test_one_odd_line_of_a_run_is_complained_about_not_a_reason_to_leave_the_run_out(tmp_path, odd):
    folder = _written(tmp_path, {"a": RUNS["A"], "b": RUNS["B"] + odd})
    with pytest.raises(FormatError, match=r"b:3: "):
        Collection.load(folder)


def test_files_that_were_not_read_are_named(tmp_path):
    files = {
        "a": RUNS["A"],
        "adhoc": "q1 0 d1 0.5\nq1 0 d2 1\n",
        "grades": "q1 d1 2\n",
        "documents.tsv": "document\tartist\nd1\tx\n",
    }
    collection = Collection.load(_written(tmp_path, files | {f"note{number}": "a note\n" for number in range(4)}))
    assert [judgment.grade for judgment in collection.judgments] == [0.5, 1]
    assert collection.guesses[0].endswith("; not read: grades, note0, note1 and 2 more")
