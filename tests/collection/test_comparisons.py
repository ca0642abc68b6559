"""comparisons.tsv: answers about which of two documents is more relevant."""

import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.kinds import read_comparisons
from audiosim.collection.values import PairedComparison
from audiosim.collection.written import comparison_lines
from audiosim.errors import FormatError, InputError
from audiosim.tables.text import write_text

HEADER = "query\tdocument_a\tdocument_b\tanswer\tassessor\tseconds\n"
ROWS = [
    PairedComparison("q1", "d1", "d2", "a", "ann", 12.5),
    PairedComparison("q1", "d2", "d1", "=", "bob", None),
    PairedComparison("q2", "d 3", "d1", "b", "", 7.0),
]


def table(tmp_path, text):
    (tmp_path / "comparisons.tsv").write_text(text)
    return tmp_path / "comparisons.tsv"


def test_comparisons_are_read_as_they_stand(tmp_path):
    text = HEADER + "q1\td1\td2\ta\tann\t12.5\nq1\td2\td1\t=\tbob\t\nq2\td 3\td1\tb\t\t7\n"
    assert read_comparisons(table(tmp_path, text)) == tuple(ROWS)
    assert read_comparisons(table(tmp_path, "answer\tquery\tdocument_b\tdocument_a\nb\tq\tx\ty\n")) == (
        PairedComparison("q", "y", "x", "b"),
    )


def test_what_is_written_is_read_again(tmp_path):
    write_text(tmp_path / "comparisons.tsv", comparison_lines(ROWS))
    assert read_comparisons(tmp_path / "comparisons.tsv") == tuple(ROWS)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("query\tdocument_a\tanswer\n", r":1: expected a column document_b in the header"),
        (HEADER + "q1\td1\td2\tc\t\t\n", r":2: expected a, b or = as answer, got 'c'$"),
        (HEADER + "q1\td1\td1\ta\t\t\n", r":2: expected two documents to compare, got d1 twice$"),
        (HEADER + "q1\t\td1\ta\t\t\n", r":2: the document_a is empty, expected an identifier$"),
        (HEADER + "q1\td1\td2\ta\t\tsoon\n", r":2: expected a finite number for seconds, found 'soon'$"),
        (HEADER + "q1\td1\td2\ta\t\t-3\n", r":2: expected seconds from 0 to 1000000, got -3$"),
        ("query\tdocument_a\tdocument_b\tanswer\tgrade\n", r":1: unknown column grade, expected query, "),
    ],
)
def test_a_bad_line_is_one_complaint_with_its_place(tmp_path, text, problem):
    with pytest.raises(FormatError, match=problem):
        read_comparisons(table(tmp_path, text))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "runs.trec").write_text("q1 Q0 d1 1 2 A\nq1 Q0 d2 2 1 A\nq1 Q0 d2 1 1 B\n")
    table(tmp_path, HEADER + "q1\td1\td2\ta\tann\t\nq1\td2\td9\tb\tann\t\n")
    return tmp_path


def test_a_collection_has_its_comparisons_and_saves_them(folder, tmp_path_factory):
    collection = Collection.load(folder)
    assert collection.comparisons == (
        PairedComparison("q1", "d1", "d2", "a", "ann"),
        PairedComparison("q1", "d2", "d9", "b", "ann"),
    )
    assert repr(collection).endswith("0 judged, 2 comparisons")
    reading = collection.readings[-1].line
    assert reading.endswith("comparisons.tsv: 1 of 2 comparisons are of two retrieved documents")
    elsewhere = tmp_path_factory.mktemp("copy")
    collection.save(elsewhere)
    assert Collection.load(elsewhere).comparisons == collection.comparisons


def test_no_judgments_means_no_comparisons_either(folder):
    assert Collection.load(folder, "none").comparisons == ()


def test_comparisons_of_nothing_that_was_retrieved_are_an_error(folder):
    table(folder, HEADER + "Q1\td1\td2\ta\t\t\n")
    with pytest.raises(
        InputError, match=r"0 of 1 comparison is of two retrieved documents, expected some; .* q1 for Q1\?"
    ):
        Collection.load(folder)
