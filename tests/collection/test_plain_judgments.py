"""Judgments read as columns equal those read line by line."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.check import inspect
from audiosim.collection.collection import Collection
from audiosim.collection.kinds import read_judgments
from audiosim.collection.values import CodedJudgments, Judgment, Run, as_scale
from audiosim.errors import FormatError
from audiosim.measures.scores import scores
from audiosim.tables import large
from audiosim.tables.table import Words

BLANK = "\n"  # a blank line makes audiosim read the file line by line


@pytest.fixture(autouse=True)
def _large(monkeypatch):
    """Files of any size are read by Arrow where they are plain."""
    monkeypatch.setattr(large, "LARGE", 0)


def outcome(path, text, scale):
    """Everything that results from a file: its judgments, notes, or error."""
    path.write_text(text)
    said = []
    try:
        return *read_judgments(path, scale, said.append), said
    except FormatError as error:
        return str(error), said


@pytest.mark.parametrize("scale", [None, "0-3", "fine"])
@pytest.mark.parametrize(
    "grades", [[0, 1, 2, 3], [-1, -2, 0, 3], [-1, -1], [-2, 2, -2], [0, 55, 101], [0.5, 2.5, 7], [1, 2, -3]]
)
@pytest.mark.parametrize("form", ["{} 0 {} {:g}", "{}\t{}\t{:g}"])
def test_both_readers_give_the_same(tmp_path, grades, form, scale):
    rng = np.random.default_rng(1)
    pairs = sorted({(f"q{rng.integers(9)}", f"document-{rng.integers(40)}") for _ in range(60)}, key=hash)
    lines = [form.format(*pair, grades[place % len(grades)]) for place, pair in enumerate(pairs)]
    text = "\n".join(lines) + "\n"
    scale = None if scale is None else as_scale(scale)
    found, expected = (outcome(tmp_path / "judgments", whole, scale) for whole in (text, text + BLANK))
    assert found == expected
    if len(found) == 3:
        assert isinstance(found[1], CodedJudgments)


@pytest.mark.parametrize("spoilt", ["q1 0 d1 1", "q9 0 d9", "q9 0 d9 high", "q9 0 d9 nan", "q9 0 dé 1", "q9  0 d9 2"])
def test_what_is_not_plain_is_left_to_the_reader_of_lines(tmp_path, spoilt):
    text = f"q1 0 d1 1\nq1 0 d2 0\n{spoilt}\n"
    found, expected = (outcome(tmp_path / "judgments", whole, None) for whole in (text, text + BLANK))
    assert found == expected


@pytest.mark.parametrize("first", ["query,document 0 x 1", '{"query": 0 x 1', "query\tdocument\tgrade"])
def test_a_first_line_of_another_form_is_recognised(tmp_path, first):
    found, expected = (outcome(tmp_path / "judgments", f"{first}\n{end}", None) for end in ("", BLANK))
    assert found == expected


def test_they_stand_for_a_tuple(tmp_path):
    path = tmp_path / "judgments"
    path.write_text("b 0 x 1\na 0 x 0\na 0 y 2\n")
    _, found = read_judgments(path)
    expected = (Judgment("b", "x", 1.0), Judgment("a", "x", 0.0), Judgment("a", "y", 2.0))
    more = (Judgment("c", "x", 1.0),)
    assert isinstance(found, CodedJudgments)
    assert (found, expected, hash(found)) == (expected, found, hash(expected))
    assert (found + more, more + found, found[1], found[:2]) == (
        expected + more,
        more + expected,
        *found[1:2],
        expected[:2],
    )
    assert pickle.loads(pickle.dumps(found)) == expected
    assert found != expected[:2]


def test_scores_and_mistakes_do_not_depend_on_the_reader():
    rng = np.random.default_rng(2)
    queries, documents = [f"q{number}" for number in range(30)], [f"d{number}" for number in range(50)]
    runs = tuple(
        Run(system, {query: tuple(rng.permutation(documents)[:8].tolist()) for query in queries}) for system in "ABC"
    )
    code = np.arange(30 * 50)
    coded = CodedJudgments(
        Words(tuple(queries), (code // 50).astype(np.int32)),
        Words(tuple(documents), (code % 50).astype(np.int32)),
        np.where(rng.random(1500) < 0.3, 0.0, rng.integers(1, 101, 1500).astype(float)),
    )
    one = Collection("c", "c", as_scale("fine"), 5, runs, judgments=coded)
    other = replace(one, judgments=tuple(coded))
    for measure in ("nDCG@5", "CG@5"):
        assert np.array_equal(scores(one, measure).values, scores(other, measure).values)
    assert inspect(one) == inspect(other)
    assert inspect(one).problems  # many zeros
    assert one.grades() == other.grades()
