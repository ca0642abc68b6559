"""Machines that judge: their tables are read, and an error in one is one line with its place."""

import gzip
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.evidence import JudgeSettings, MachineJudge
from audiosim.collection.kinds import read_judges
from audiosim.errors import InputError


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "judges").mkdir()
    (tmp_path / "runs.trec").write_text("q1 Q0 d1 1 2 a\nq1 Q0 d2 2 1 a\nq1 Q0 d3 1 1 b\n")
    (tmp_path / "systems.tsv").write_text("system\tteam\na\tOne\nb\tTwo\n")
    return tmp_path


def put(folder, text, name="gpt.tsv"):
    (folder / "judges" / name).write_text(text)


GOOD = "query\tdocument\tgrade\nq1\td1\t3\nq1\td3\t-0.5\nq1\td2\t\n"


def test_no_folder_is_no_judge(tmp_path):
    assert read_judges(tmp_path) == ()


def test_a_table_is_a_judge_called_after_it_and_an_empty_grade_is_unknown(folder):
    put(folder, GOOD)
    (folder / "judges" / "clap_2.tsv.gz").write_bytes(gzip.compress(GOOD.replace("grade", "score").encode()))
    (folder / "judges" / ".hidden").write_text("nothing of ours")
    found = Collection.load(folder).judges
    assert [judge.name for judge in found] == ["clap_2", "gpt"]
    for judge in found:
        assert (judge.keys, judge.values.tolist()) == ((("q1", "d1"), ("q1", "d3")), [3, -0.5])
        assert judge.settings == JudgeSettings()


def test_collection_toml_says_who_made_a_judge_and_where_its_table_lies(folder):
    put(folder, GOOD)
    (folder / "elsewhere.tsv").write_text(GOOD)
    (folder / "collection.toml").write_text(
        '[judges.gpt]\nmaker = "ACME, Inc."\nversion = "4 \\"turbo\\""\nprompt = "How similar?"\n'
        'may_favour = "Two"\n[judges.old]\nfile = "elsewhere.tsv"\nmaker = "a"\n'
    )
    found = Collection.load(folder)
    assert [(judge.name, judge.settings.maker) for judge in found.judges] == [("gpt", "ACME, Inc."), ("old", "a")]
    assert found.judges[0].settings == JudgeSettings("machine", "ACME, Inc.", '4 "turbo"', "How similar?", "Two")
    assert "judge gpt covers 2 of 3 retrieved pairs" in found.readings[2].line
    found.save(folder / "copy")
    again = Collection.load(folder / "copy").judges
    assert [(judge.name, judge.keys, replace(judge.settings, file="")) for judge in again] == [
        (judge.name, judge.keys, replace(judge.settings, file="")) for judge in found.judges
    ]
    for one, other in zip(again, found.judges, strict=True):
        np.testing.assert_array_equal(one.values, other.values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"gpt.tsv:1: the file is empty, expected a header with query, document and grade"),
        ("query\tgrade\nq1\t1\n", r"gpt.tsv:1: expected a column document in the header, found query, grade"),
        ("query\tdocument\nq1\td1\n", r"gpt.tsv:1: expected a column grade in the header, found query, document"),
        ("query\tdocument\tgrade\nq1\td1\n", r"gpt.tsv:2: expected 3 columns as in the header, found 2"),
        ("query\tdocument\tgrade\nq1\td1\tgood\n", r"gpt.tsv:2: .*good"),
        ("query\tdocument\tgrade\nq1\td1\tnan\n", r"gpt.tsv:2: .*nan"),
        ("query\tdocument\tgrade\n\td1\t1\n", r"gpt.tsv:2: the query is empty"),
        (
            "query\tdocument\tgrade\nq1\td1\t1\nq1\td1\t2\n",
            r"gpt.tsv:3: query q1, document d1 is on line 2 already, expected it once",
        ),
        ("query\tdocument\tgrade\nq1\td1\t\n", r"gpt.tsv:1: no pair has a grade, expected some"),
        (
            "query\tdocument\tgrade\nQ1\td1\t1\n",
            r"judge gpt: the collection knows none of its 1 pairs, such as query Q",
        ),
    ],
)
def test_what_is_wrong_with_a_table_is_one_line(folder, text, message):
    put(folder, text)
    with pytest.raises(InputError, match=message):
        Collection.load(folder)


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("judges = 3", r"collection.toml:1: judges: expected tables such as \[judges.NAME\], found 3"),
        ('[judges.gpt]\nkind = "person"', r"collection.toml:1: judges: gpt: kind: expected machine, found 'person'"),
        ("[judges.gpt]\nmaker = 3", r"collection.toml:1: judges: gpt: maker: expected text, found 3"),
        (
            '[judges.gpt]\nmakr = "a"',
            r"gpt: unknown key makr, expected kind, maker, .*, file; did you mean maker",
        ),
        ('[judges.gpt]\nmay_favour = "Three"', r"judge gpt: expected a team or a system in may_favour, got 'Three'"),
        ("[judges.other]", r"other.tsv: no such file, expected the grades of judge other named in collection.toml"),
    ],
)
def test_what_is_wrong_with_the_settings_is_one_line(folder, toml, message):
    put(folder, GOOD)
    (folder / "collection.toml").write_text(toml)
    with pytest.raises(InputError, match=message):
        Collection.load(folder)


def test_other_files_and_names_that_are_taken_are_refused(folder):
    put(folder, GOOD, "gpt.csv")
    with pytest.raises(InputError, match=r"gpt.csv: expected the grades of a judge in a file NAME.tsv"):
        Collection.load(folder)
    (folder / "judges" / "gpt.csv").unlink()
    put(folder, GOOD, "genre.tsv")
    with pytest.raises(InputError, match=r"genre.tsv: judge 'genre': expected a name of letters"):
        Collection.load(folder)
    (folder / "judges" / "genre.tsv").rename(folder / "judges" / "gpt.tsv")
    (folder / "evidence").mkdir()
    (folder / "evidence" / "gpt.csv").write_text("document,gpt\nd1,1\nd2,2\n")
    with pytest.raises(InputError, match=r"has two judges, pieces of evidence or aspects called gpt"):
        Collection.load(folder)


def test_a_folder_to_write_to_must_not_hold_other_judges(folder, tiny):
    put(folder, GOOD)
    with pytest.raises(InputError, match=r"gpt.tsv: would become part of the new collection: move or delete it"):
        tiny.with_judge(
            "other", dict.fromkeys([(run, doc[0]) for run, doc in tiny.runs[0].rankings.items()], 1.0)
        ).save(folder)


def test_grades_in_memory_come_as_dicts_of_pairs_of_queries_or_as_frames():
    runs = {"A": {"q1": ["d1", "d2"]}, "B": {"q1": ["d2", "d3"]}}
    rows = [("q1", "d1", 2.0), ("q1", "d2", 0.5)]
    pairs = {(query, document): grade for query, document, grade in rows}
    nested = {"q1": {"d1": 2, "d2": 0.5}}
    frame = pd.DataFrame(rows, columns=["qid", "docno", "label"])
    for given in (pairs, nested, frame):
        (judge,) = Collection.from_frames(runs, judges={"gpt": given}, scale="broad", cutoff=2).judges
        assert (judge.name, judge.keys, judge.values.tolist()) == ("gpt", (("q1", "d1"), ("q1", "d2")), [2, 0.5])
    with pytest.raises(
        InputError, match=r"row 0: expected a data frame or a dict of pairs and grades; got \('q1', 'd1', 2.0\)"
    ):
        Collection.from_frames(runs, judges={"gpt": rows}, scale="broad", cutoff=2)


def test_a_judge_may_come_anew_and_must_have_grades_of_known_pairs(tiny):
    pair = next((query, documents[0]) for query, documents in tiny.runs[0].rankings.items())
    known = tiny.with_judge("gpt", {pair: 1.0}).with_judge("gpt", {pair: 3.0}, maker=tiny.runs[0].system)
    assert [(judge.values.tolist(), judge.settings.maker) for judge in known.judges] == [([3.0], tiny.runs[0].system)]
    with pytest.raises(InputError, match="judge gpt: the collection knows none of its 1 pairs"):
        tiny.with_judge("gpt", {("nowhere", "nothing"): 1.0})
    with pytest.raises(InputError, match=r"judge gpt: row 0, query .*, has a number that is not finite"):
        MachineJudge("gpt", "pair", (pair,), np.array([np.inf]))
    with pytest.raises(InputError, match=r"judge gpt: row 1, query .*, occurs twice, expected it once"):
        MachineJudge("gpt", "pair", (pair, pair), np.ones(2))
    with pytest.raises(InputError, match=r"judge gpt: expected a number for each of 1 pairs, got an array of \(2,\)"):
        MachineJudge("gpt", "pair", (pair,), np.ones(2))
