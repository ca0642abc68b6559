"""Collections from a program's data: equal for every form of runs and judgments, and equal to those from files.

Objects of ranx are tested in tests/measures/test_peers.py, because importing ranx takes ten seconds.
"""

import ir_measures
import pandas as pd
import pytest

from audiosim.collection.arguments import as_collection
from audiosim.collection.collection import Collection
from audiosim.collection.kinds import read_judgments
from audiosim.collection.values import Document, Judgment, Run, as_scale
from audiosim.errors import InputError

# Two systems, two queries; equal scores are ordered by document, greatest first, as trec_eval orders them.
SCORED = {
    "A": {"q1": {"d1": 3.0, "d2": 2.0, "d3": 2.0}, "q2": {"d4": 1.0}},
    "B": {"q1": {"d2": 0.5, "d4": 0.9}, "q2": {"d1": 7.0, "d4": 8.0}},
}
RANKED = {"A": {"q1": ("d1", "d3", "d2"), "q2": ("d4",)}, "B": {"q1": ("d4", "d2"), "q2": ("d4", "d1")}}
QRELS = {"q1": {"d1": 2, "d2": 0}, "q2": {"d4": 1}}
ROWS = [(s, q, d, score) for s, queries in SCORED.items() for q, some in queries.items() for d, score in some.items()]
JUDGED = [(q, d, grade) for q, some in QRELS.items() for d, grade in some.items()]
FRAME = pd.DataFrame(ROWS, columns=["system", "query", "document", "score"])
GRADES = pd.DataFrame(JUDGED, columns=["query", "document", "grade"])


def scored_docs() -> dict[str, list[object]]:
    return {
        system: [ir_measures.ScoredDoc(q, d, score) for q, some in run.items() for d, score in some.items()]
        for system, run in SCORED.items()
    }


RUNS = {
    "frame": FRAME,
    "frame of PyTerrier's names": FRAME.rename(columns={"system": "name", "query": "qid", "document": "docno"}),
    "frame by system": {system: rows.drop(columns="system") for system, rows in FRAME.groupby("system")},
    "scores": SCORED,
    "lists": {system: {query: list(documents) for query, documents in run.items()} for system, run in RANKED.items()},
    "ScoredDocs": scored_docs(),
    "our own": [Run(system, run) for system, run in RANKED.items()],
}
JUDGMENTS = {
    "frame": GRADES,
    "frame of ranx's names": GRADES.rename(columns={"query": "q_id", "document": "doc_id", "grade": "score"}),
    "dict": QRELS,
    "qrels": [ir_measures.Qrel(*row) for row in JUDGED],
    "our own": [Judgment(*row) for row in JUDGED],
}


@pytest.mark.parametrize("form", RUNS)
def test_runs_are_the_same_whatever_form_they_have(form):
    runs = Collection.from_runs(RUNS[form]).runs
    assert {run.system: dict(run.rankings) for run in runs} == RANKED


@pytest.mark.parametrize("form", JUDGMENTS)
def test_judgments_are_the_same_whatever_form_they_have(form):
    collection = Collection.from_frames(FRAME, JUDGMENTS[form], scale="broad")
    assert collection.grades() == {("q1", "d1"): 2, ("q1", "d2"): 0, ("q2", "d4"): 1}


def test_a_polars_frame_is_read_as_one_of_pandas():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({name: FRAME[name].to_list() for name in FRAME.columns})
    assert {run.system: dict(run.rankings) for run in Collection.from_frames(frame).runs} == RANKED


def test_a_rank_orders_where_there_is_no_score_and_the_rows_where_there_is_neither():
    ranks = pd.DataFrame({"system": "A", "query": 1, "document": ["a", "b", "c"], "rank": [2, 3, 1]})
    assert Collection.from_frames(ranks).runs[0].rankings == {"1": ("c", "a", "b")}
    assert Collection.from_frames(ranks.drop(columns="rank")).runs[0].rankings == {"1": ("a", "b", "c")}


def test_a_collection_in_memory_is_the_one_in_files(tmp_path):
    documents = pd.DataFrame(
        {"document": ["d1", "d4"], "artist": ["Bach", None], "genre": ["baroque", "rock"], "year": [1720, None]}
    )
    made = Collection.from_frames(
        FRAME, GRADES, documents, systems={"A": "one", "B": "one"}, queries={"q1": "d9"}, scale="broad", name="mine"
    )
    assert made.documents["d1"] == Document("d1", "Bach", "baroque", more={"year": "1720.0"})
    assert made.documents["d4"] == Document("d4", None, "rock")
    made.save(tmp_path / "mine")
    read = Collection.load(tmp_path / "mine")
    for part in ("runs", "judgments", "documents", "teams", "query_documents", "scale", "cutoff"):
        assert getattr(read, part) == getattr(made, part), part


def test_missing_grades_are_no_judgments():
    grades = pd.DataFrame({"query": ["q1", "q2"], "document": ["d1", "d4"], "grade": [2, None]})
    assert Collection.from_frames(FRAME, grades, scale="broad").grades() == {("q1", "d1"): 2}


@pytest.mark.parametrize("scale", [None, "broad", [1.0, 2.0, 3.0]])
@pytest.mark.parametrize("beside", [False, True])
def test_odd_grades_of_qrels_mean_in_memory_what_they_mean_in_files(tmp_path, scale, beside):
    (tmp_path / "judgments.qrels").write_text("q1 0 d1 2\nq1 0 d2 -2\nq2 0 d4 -1\nq2 0 d5 1\n", encoding="utf-8")
    grades = {"q1": {"d1": 2, "d2": -2}, "q2": {"d4": -1, "d5": 1}}
    said = []
    _, expected = read_judgments(tmp_path / "judgments.qrels", None if scale is None else as_scale(scale), said.append)
    empty = Collection.from_frames(FRAME, scale=scale or "broad")
    found = as_collection(empty, grades) if beside else Collection.from_frames(FRAME, grades, scale=scale)
    assert found.judgments == expected
    odd = [line.partition(": ")[2] for line in said if "grade of" in line]
    assert odd == ["1 grade of -1: taken as unjudged, left out", "1 grade of -2: taken as junk, the lowest grade"]
    assert [line for line in found.guesses if "grade of" in line] == odd


@pytest.mark.parametrize("missing", [None, float("nan"), ""])
def test_rows_without_a_grade_are_counted_where_a_notebook_shows_it(missing, caplog):
    """The logger's level is that which Python prints without being asked to."""
    grades = GRADES.assign(grade=GRADES["grade"].astype(object))
    grades.loc[1, "grade"] = missing
    collection = Collection.from_frames(FRAME, grades)
    assert len(collection.judgments) == len(GRADES) - 1
    said = "judgments: no grade in 1 row, left out as unjudged"
    assert said in collection.guesses
    assert [(one.levelname, one.getMessage()) for one in caplog.records] == [("WARNING", said)]


def test_judgments_without_any_grade_are_said_and_without_a_column_of_grades_refused():
    unjudged = Collection.from_frames(FRAME, GRADES.assign(grade=None))
    assert "judgments: no grade in 3 rows, so nothing is judged" in unjudged.guesses
    with pytest.raises(InputError, match=r"^judgments: expected a column grade \(or relevance, rel, .*, stars$"):
        Collection.from_frames(FRAME, GRADES.rename(columns={"grade": "stars"}))


def test_assessors_and_times_of_a_frame_are_kept():
    grades = GRADES.assign(assessor=["ann", "bob", None], time="2026-01-01T00:00:00Z")
    judgments = Collection.from_frames(FRAME, grades, scale="broad").judgments
    assert [one.assessor for one in judgments] == ["ann", "bob", ""]
    assert judgments[0].time == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ("runs.trec", "expected runs: a data frame, .*; got the text 'runs.trec'"),
        (3, "expected a data frame, .*; got int"),
        (FRAME.drop(columns="document"), "expected a column document, found system, query, score"),
        (FRAME.rename(columns={"query": "Query"}), "expected a column query, found .*; did you mean query"),
        (
            FRAME.assign(document=1.5),
            "runs: row 0: expected a text or a whole number as identifier of a document, found 1.5",
        ),
        (FRAME.assign(score=None), "runs: row 0: expected a finite number for score, found none"),
        ({"A": {"q1": "d1"}}, r"run of A: \$\.q1: expected document -> score, or documents, best first, found 'd1'"),
        (
            {"A": {"q1": ["d1", "d1"]}},
            r"\$\.q1\.d1: document d1 is twice in the ranking of system A for query q1, expected each",
        ),
        ({}, "the runs are empty, expected the results of at least one system"),
        (FRAME.iloc[:0], "the runs are empty, expected the results of at least one system"),
        ({**SCORED, "C": {}}, "run of C is empty, expected the results of a system for at least one query"),
        ({**RANKED, "C": {"q1": [], "q2": []}}, "run of C is empty, expected the results of a system for at least"),
        ({"A": FRAME.drop(columns="system").iloc[:0]}, "run of A is empty, expected the results of a system for at"),
    ],
)
@pytest.mark.parametrize("judgments", [None, QRELS], ids=["unjudged", "judged"])
def test_what_is_no_run_is_refused_in_one_line(runs, message, judgments):
    with pytest.raises(InputError, match=message):
        Collection.from_frames(runs, judgments)


def test_a_system_may_retrieve_nothing_for_some_query():
    runs = {**RANKED, "C": {"q1": ["d1"], "q2": []}}
    assert dict(Collection.from_runs(runs, QRELS).runs[-1].rankings) == {"q1": ("d1",)}


@pytest.mark.parametrize(
    ("judgments", "message"),
    [
        (GRADES.rename(columns={"grade": "grad"}), "judgments: unknown column grad, did you mean grade"),
        ({"q1": ["d1"]}, r"judgments: \$\.q1: expected document -> grade, found \['d1'\]"),
        ([("q1", "d1", 2)], r"judgments: row 0: expected a data frame, a dict .*; got \('q1', 'd1', 2\)"),
        ({"q1": {"d1": "high"}}, r"judgments: \$\.q1\.d1: expected a finite number for grade, found 'high'"),
        (7, "expected a data frame, .*; got int"),
        ({"q1": {"d1": 2, "d2": -3}}, "-3"),
        ([Judgment("q1", "d1", 2), ("q1", "d2", 1)], "expected judgments only, got tuple at place 1 of the list"),
    ],
)
def test_what_is_no_judgment_is_refused_in_one_line(judgments, message):
    with pytest.raises(InputError, match=message):
        Collection.from_frames(FRAME, judgments)
