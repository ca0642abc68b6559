from pathlib import Path

import numpy as np
import pytest

from audiosim.collection.grading import artificial_binary, artificial_graded
from audiosim.collection.values import BROAD, FINE
from audiosim.errors import FormatError, InputError
from audiosim.people.answers import Answers, read_answers

HEADER = "answer\tquery\tA1\tA2\tB1\tB2\tbroad_A1\tbroad_A2\tbroad_B1\tbroad_B2"
LINE = "a\tq\td1\td2\td3\td1\t2\t1\t0\t2"
BOTH = HEADER + "\tfine_A1\tfine_A2\tfine_B1\tfine_B2"


@pytest.fixture
def write(tmp_path):
    def written(*lines) -> Path:
        path = tmp_path / "answers.tsv"
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    return written


def test_answers_and_grades_are_read_in_the_order_of_the_ranks(write):
    answers = read_answers(write(HEADER, LINE, "good\tq\td1\td2\td3\td4\t0\t0\t1\t2"))
    assert answers.choices == ("a", "good")
    assert answers.grades.tolist() == [[[2, 1], [0, 2]], [[0, 0], [1, 2]]]
    assert (answers.scale, answers.cutoff) == (BROAD, 2)
    assert answers.said("a", "b").tolist() == [True, False]


def test_columns_stand_in_any_order_and_others_are_left_unread(write):
    header, line = HEADER.split("\t"), LINE.split("\t")
    answers = read_answers(write("\t".join(["worker", *header[::-1]]), "\t".join(["w7", *line[::-1]])))
    assert answers.grades.tolist() == [[[2, 1], [0, 2]]]


def test_the_scale_is_picked_where_there_are_several(write):
    path = write(BOTH, LINE + "\t90\t50\t10\t80")
    assert read_answers(path, "fine").grades.tolist() == [[[90, 50], [10, 80]]]
    assert read_answers(path, "broad").scale == BROAD
    with pytest.raises(InputError, match="has grades on scales fine, broad: choose one, such as `scale='fine'`"):
        read_answers(path)


def test_a_scale_without_grades_is_refused(write):
    with pytest.raises(InputError, match="answers.tsv has no grades on the fine scale, only broad"):
        read_answers(write(HEADER, LINE), "fine")
    with pytest.raises(InputError, match="unknown scale 'coarse', expected fine, broad, binary"):
        read_answers(write(HEADER, LINE), "coarse")


@pytest.mark.parametrize(
    ("lines", "where", "message"),
    [
        ([], 1, "the file is empty, expected a header with answer, query and the documents"),
        ([HEADER], 1, "the file ends after its header, expected answers below it"),
        (
            [HEADER.replace("broad_", "rough_")],
            1,
            "no grades: expected one of the columns fine_A1, broad_A1, binary_A1",
        ),
        ([HEADER.replace("\tB2", "")], 1, "expected columns A1, A2, ... and as many B1, B2, ... in the header"),
        ([HEADER.replace("\tA2", "")], 1, "expected columns A1, A2, ... and as many B1, B2, ... in the header"),
        ([HEADER.replace("\tbroad_B2", "")], 1, "expected a column broad_B2 in the header"),
        ([HEADER, LINE, LINE + "\t0"], 3, "expected 10 columns as in the header, found 11"),
        ([HEADER, LINE, "", LINE.replace("a\t", "A\t", 1)], 4, "unknown answer 'A', expected a, b, good, bad"),
        ([HEADER, LINE.replace("\tq\t", "\t\t")], 2, "the query is empty, expected an identifier"),
        ([HEADER, LINE.replace("d2", "d1")], 2, "list A names a document twice"),
        ([HEADER, LINE.replace("\t0\t2", "\t0\tx")], 2, "expected a finite number for broad_B2, found 'x'"),
        ([HEADER, LINE.replace("\t0\t2", "\t0\t3")], 2, "grade 3 in broad_B2 is not on the broad scale (0 1 2)"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(write, lines, where, message):
    path = write(*lines)
    with pytest.raises(FormatError) as caught:
        read_answers(path)
    assert str(caught.value).startswith(f"{path}:{where}: {message}")


def test_answers_check_their_shape_and_values():
    grades = np.zeros((2, 2, 5))
    with pytest.raises(InputError, match=r"grades of 1 answers must be \(answers, 2, cutoff\), got \(2, 2, 5\)"):
        Answers(("a",), grades, BROAD)
    with pytest.raises(InputError, match="unknown answer 'c', expected a, b, good, bad"):
        Answers(("a", "c"), grades, BROAD)
    with pytest.raises(InputError, match="grade 7 is not on the broad scale"):
        Answers(("a", "b"), grades + 7, BROAD)


def test_fine_grades_are_read_as_artificial_levels():
    # Urbano (2013), section 3.1.2: with three levels 34 and 67 are the thresholds.
    answers = Answers(("a",), np.array([[[33.0, 34], [66, 67]]]), FINE)
    assert answers.read_as(artificial_graded(3)).grades.tolist() == [[[0, 1], [1, 2]]]
    assert answers.read_as(artificial_binary(40)).grades.tolist() == [[[0, 0], [1, 1]]]
    with pytest.raises(InputError, match="expected grades on the fine scale, got broad"):
        Answers(("a",), np.zeros((1, 2, 2)), BROAD).read_as(artificial_graded(3))
