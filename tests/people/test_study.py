from itertools import product

import numpy as np
import pytest

from audiosim.collection.grading import artificial_binary, artificial_graded
from audiosim.collection.values import BROAD, FINE, Pair
from audiosim.errors import InputError
from audiosim.measures.measure import parse_measure
from audiosim.people.answers import read_answers
from audiosim.people.examples import ScaledMeasure, balanced_examples

CG, DCG, P = (parse_measure(name) for name in ("CG@5", "DCG@5", "P(min=40)@5"))


def judged(queries=20, documents=30, seed=1):
    """Documents graded at random on Broad and Fine, in place of a campaign's judgments."""
    rng = np.random.default_rng(seed)
    pairs = [Pair(f"q{query}", f"d{query}-{document}") for query, document in product(range(queries), range(documents))]
    fine = rng.integers(0, 101, len(pairs))
    return {
        "fine": dict(zip(pairs, fine.astype(float).tolist(), strict=True)),
        "broad": dict(zip(pairs, np.digitize(fine, [35, 70]).astype(float).tolist(), strict=True)),
    }


CRITERIA = [
    ScaledMeasure(CG, FINE),
    ScaledMeasure(parse_measure("Q@5"), FINE, artificial_graded(4)),
    ScaledMeasure(DCG, BROAD),
    ScaledMeasure(parse_measure("DCG(gain=exponential)@3"), BROAD),
]


@pytest.fixture(scope="module")
def found():
    return balanced_examples(judged(), CRITERIA, np.random.default_rng(7), wanted=30)


@pytest.mark.slow
def test_every_bin_of_every_criterion_gets_its_examples(found):
    assert found.counts.min() >= 30
    # Far fewer than one by one: an example counts for all criteria.
    assert len(found.examples) < 30 * 10 * len(CRITERIA) / 2


@pytest.mark.slow
def test_the_counts_are_those_of_a_loop_over_the_examples(found):
    for row, criterion in enumerate(CRITERIA):
        counts = [0] * 10
        for example in found.examples:
            of = found.grades[criterion.scale.name]
            a, b = (
                round(float(criterion.score(np.array([of[Pair(example.query, d)] for d in listed]))), 3)
                for listed in (example.a, example.b)
            )
            counts[min(int(round(abs(a - b), 3) * 1000 + 1e-6) // 100, 9)] += 1
        assert found.counts[row].tolist() == counts


@pytest.mark.slow
def test_examples_are_all_different_and_made_of_judged_documents_none_twice_in_a_list(found):
    assert len({(e.query, frozenset([e.a, e.b])) for e in found.examples}) == len(found.examples)
    for example in found.examples:
        for listed in (example.a, example.b):
            assert len(set(listed)) == 5
            assert all(Pair(example.query, document) in found.grades["fine"] for document in listed)
        assert example.a != example.b


def test_neither_list_is_the_better_one_more_often(found):
    grades = found.grades["fine"]
    totals = [[sum(grades[Pair(e.query, d)] for d in listed) for listed in (e.a, e.b)] for e in found.examples]
    share = np.mean([a > b for a, b in totals])
    assert abs(share - 0.5) < 4 * 0.5 / np.sqrt(len(totals))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_examples_and_another_others():
    once, again, other = (
        balanced_examples(judged(), CRITERIA[:1], np.random.default_rng(s), wanted=5) for s in (3, 3, 4)
    )
    assert once.examples == again.examples
    assert once.examples != other.examples


def test_progress_rises_to_all():
    calls = []
    found = balanced_examples(
        judged(),
        [ScaledMeasure(P, FINE)],
        np.random.default_rng(3),
        wanted=10,
        progress=lambda done, total: calls.append((done, total)),
    )
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert calls[-1] == (100, 100)
    assert {total for _, total in calls} == {100}
    assert len(calls) == len(found.examples)


def test_bins_that_no_lists_can_fall_in_are_said_to_be_impossible():
    # Urbano (2013), section 3.2.1: differences of P@5 are multiples of .2, and none of RR@5 is in [.4, .5).
    criteria = [ScaledMeasure(P, FINE), ScaledMeasure(parse_measure("RR@5"), FINE, artificial_binary(40))]
    found = balanced_examples(judged(), criteria, np.random.default_rng(3), wanted=10)
    rows = [row for row in found.rows() if row["examples"] < 10]
    short = [(row["measure"], row["scale"], row["low"], row["examples"], row["outcome"]) for row in rows]
    assert short == [
        *(("P(min=40)@5", "fine", low, 0, "impossible") for low in (0.1, 0.3, 0.5, 0.7)),
        ("RR@5", "binary-40", 0.4, 0, "impossible"),
    ]


@pytest.mark.slow
def test_bins_that_the_judgments_cannot_fill_are_said_to_be_not_found():
    grades = {"fine": {Pair("q", f"d{grade}"): float(grade) for grade in (10, 20, 30, 40, 50, 60)}}
    found = balanced_examples(grades, [ScaledMeasure(CG, FINE)], np.random.default_rng(3), wanted=300, tries=5000)
    # Two lists of 5 of the 6 differ by at most one document, so their scores by at most (60 - 10) / 5 / 100.
    rows = found.to_frame().set_index("low")
    assert rows.loc[0.0, "outcome"] == "filled"
    assert rows.loc[0.1, "outcome"] == "filled"
    assert set(rows.loc[0.2:, "outcome"]) == {"not found"}
    assert rows.loc[0.2:, "examples"].sum() == 0


def test_all_there_is_is_found_where_there_is_little():
    grades = {"broad": {Pair("q", "x"): 2.0, Pair("q", "y"): 0.0, Pair("q", "z"): 1.0}}
    criterion = ScaledMeasure(parse_measure("CG@1"), BROAD)
    found = balanced_examples(grades, [criterion], np.random.default_rng(3), cutoff=1, wanted=3, tries=2000)
    assert {frozenset(example.a + example.b) for example in found.examples} == {
        frozenset(pair) for pair in ("xy", "yz", "xz")
    }
    assert found.counts[0].tolist() == [0, 0, 0, 0, 0, 2, 0, 0, 0, 1]
    outcomes = [row["outcome"] for row in found.rows()]
    assert [place for place, outcome in enumerate(outcomes) if outcome == "impossible"] == [1, 2, 3, 4, 6, 7, 8]
    assert outcomes[0] == outcomes[5] == outcomes[9] == "not found"


def test_a_pair_without_a_grade_on_every_scale_is_left_out():
    grades = judged(queries=2)
    grades["broad"] = {pair: grade for pair, grade in grades["broad"].items() if pair.query == "q0"}
    found = balanced_examples(grades, CRITERIA[:1], np.random.default_rng(3), wanted=1)
    assert {example.query for example in found.examples} == {"q0"}


def test_the_lines_become_answers_once_the_answer_is_filled_in(found, tmp_path):
    header, *lines = found.lines()
    assert all(line.startswith("\tq") for line in lines)
    path = tmp_path / "answers.tsv"
    path.write_text("\n".join([header, *("good" + line for line in lines)]))
    for scale in ("fine", "broad"):
        answers = read_answers(path, scale)
        example = found.examples[-1]
        expected = [[found.grades[scale][Pair(example.query, d)] for d in listed] for listed in (example.a, example.b)]
        assert answers.grades[-1].tolist() == expected
        assert len(answers.choices) == len(found.examples)


@pytest.mark.parametrize(
    ("grades", "criteria", "options", "message"),
    [
        (judged(), [], {}, "expected at least one measure to balance the examples by"),
        ({"broad": {}}, [ScaledMeasure(CG, FINE)], {}, "there are no grades on the fine scale, only on broad"),
        (
            {"fine": {Pair("q", "d"): 3.0}},
            [ScaledMeasure(CG, FINE)],
            {},
            "no query has 5 documents with a grade on the scale fine",
        ),
        (
            {"fine": {Pair("q", "d"): 101.0}},
            [ScaledMeasure(CG, FINE)],
            {},
            "grade 101 of q and d is not on the fine scale",
        ),
        (judged(), [ScaledMeasure(CG, FINE)], {"cutoff": 4}, "CG@5 needs longer lists than 4 documents"),
        (judged(), [ScaledMeasure(CG, FINE)], {"wanted": 0}, "at least 1 example wanted and 1 try, got 0 and 20000"),
        (judged(), [ScaledMeasure(CG, FINE)], {"tries": 0}, "at least 1 example wanted and 1 try, got 200 and 0"),
    ],
)
def test_what_cannot_be_built_from_is_refused(grades, criteria, options, message):
    with pytest.raises(InputError, match=message):
        balanced_examples(grades, criteria, np.random.default_rng(1), **options)
