from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.grading import artificial_binary, regrade
from audiosim.collection.values import SCALES, Judgment, Run
from audiosim.errors import InputError
from audiosim.measures.measure import MEASURES, parse_measure, score
from audiosim.measures.scores import Scores, indiscriminate_in_words, judged_runs, scores


@pytest.fixture
def judged(tiny, tiny_truth):
    return replace(tiny, judgments=tuple(tiny_truth))


def test_scores_are_those_of_each_ranking_alone(judged):
    # Grades by hand from the tiny collection: q1 a 90, b 60, c 20, d 10; q2 b 30, e 70, f 0.
    rankings = {"A": ([90, 60], [30, 70]), "B": ([90, 20], [70, 30]), "C": ([10, 90], [70, 0])}
    documents = ([90, 60, 20, 10], [70, 30, 0])
    for name in MEASURES:
        measure = parse_measure(f"{name}@2")
        found = scores(judged, measure)
        assert (found.systems, found.queries, found.measure) == (("A", "B", "C"), ("q1", "q2"), measure)
        expected = [
            [
                score(measure, judged.scale, np.array(r, dtype=float), np.array(d, dtype=float))
                for r, d in zip(rs, documents, strict=True)
            ]
            for rs in rankings.values()
        ]
        np.testing.assert_allclose(found.values, expected, rtol=1e-13)


def test_scores_turn_into_means_an_order_and_a_table(judged):
    found = scores(judged, "CG@2")
    np.testing.assert_allclose(found.means, [250 / 400, 210 / 400, 170 / 400])
    assert found.order.tolist() == [0, 1, 2]
    frame = found.to_frame()
    assert frame.loc["B", "q2"] == pytest.approx(0.5)
    assert (frame.index.name, frame.columns.name) == ("system", "query")


def test_grades_of_several_assessors_count_as_their_mean(judged):
    second = replace(judged, judgments=(*judged.judgments, Judgment("q1", "a", 70.0, "other")))
    assert scores(second, "CG@1").values[0, 0] == pytest.approx(0.8)


def test_a_system_without_documents_for_a_query_gains_nothing_there(judged):
    runs = (*judged.runs, Run("D", {"q2": ("e",)}), Run("E", {"q1": ()}))
    found = scores(replace(judged, runs=runs), "CG@2")
    assert found.values[3:].tolist() == [[0, 0.35], [0, 0]]


def test_documents_without_judgment_are_an_error_that_counts_them_and_names_the_first(judged):
    partly = replace(judged, judgments=judged.judgments[2:])
    with pytest.raises(InputError) as error:
        scores(partly, "CG@2")
    expected = "tiny: 2 retrieved pairs are not judged, the first is document a for query q1"
    assert (
        str(error.value) == f'{expected}; choose `unjudged="zero"` or `unjudged="skip"`, or let estimate predict them'
    )


def test_without_judgments_the_error_says_what_to_give(judged):
    with pytest.raises(
        InputError, match=r"^tiny: nothing is judged, expected judgments in its folder, or `judgments=FILE`$"
    ):
        scores(replace(judged, judgments=()), "CG@2")


def test_documents_without_judgment_gain_nothing_on_request(judged):
    partly = replace(judged, judgments=judged.judgments[2:])
    assert scores(partly, "CG@2", "zero").values[:, 0].tolist() == pytest.approx([0, 0.1, 0.05])


def test_documents_without_judgment_are_skipped_on_request_and_those_below_move_up(judged):
    # Condensed lists: without a and b, A has nothing for q1, B has c, C has d at rank 1.
    partly = replace(judged, judgments=judged.judgments[2:])
    assert scores(partly, "CG@1", "skip").values[:, 0].tolist() == pytest.approx([0, 0.2, 0.1])
    assert scores(partly, "RR@1", "skip").values[:, 0].tolist() == [0, 1, 1]


@pytest.mark.parametrize("unjudged", ["zero", "skip"])
def test_without_judgments_every_score_is_0(tiny, unjudged):
    for name in MEASURES:
        assert not scores(tiny, parse_measure(f"{name}@2"), unjudged).values.any()


def test_an_unknown_choice_and_scores_of_another_shape_are_refused(judged):
    with pytest.raises(InputError, match="unknown choice 'ignore' for unjudged documents, expected error, zero, skip"):
        judged_runs(judged, 2, "ignore")
    with pytest.raises(InputError, match=r"scores must be \(1, 2\) to match systems and queries, got \(2, 1\)"):
        Scores(parse_measure("CG@5"), ("A",), ("q1", "q2"), np.zeros((2, 1)))


def test_cg_of_mirex_2011_is_plain_arithmetic(mirex2011):
    grades = mirex2011.grades()
    found = scores(mirex2011, "CG@5")
    assert found.values.shape == (18, 100)
    for system, row in zip(mirex2011.runs, found.values, strict=True):
        for query, value in zip(found.queries, row, strict=True):
            retrieved = [grades[query, document] for document in system.rankings[query][:5]]
            assert value == pytest.approx(sum(retrieved) / 500, abs=1e-12)


def test_all_measures_of_mirex_2011_are_0_to_1_and_a_minimum_of_40_is_the_artificial_binary_scale(mirex2011):
    runs = judged_runs(mirex2011, 5)
    binary = judged_runs(regrade(mirex2011, artificial_binary(40)), 5)
    for name in MEASURES:
        values = runs.scores(parse_measure(f"{name}@5")).values
        assert values.min() >= 0
        assert values.max() <= 1 + 1e-12
    for name in ("P", "AP", "RR"):
        by_minimum = runs.scores(parse_measure(f"{name}(min=40)@5")).values
        np.testing.assert_allclose(by_minimum, binary.scores(f"{name}@5").values, rtol=1e-13)
    np.testing.assert_allclose(binary.scores("GAP@5").values, binary.scores("AP@5").values, rtol=1e-13)
    np.testing.assert_allclose(binary.scores("CG@5").values, binary.scores("P@5").values, rtol=1e-13)


@pytest.mark.parametrize(
    ("scale", "grades", "measure", "said"),
    [
        ("broad", [1, 2, 2, 0] + [1] * 6, "AP@1", "9 of 10 judged pairs; AP(min=2)@1 counts grades from 2 on"),
        ("fine", [1] * 10, "RR@1", "10 of 10 judged pairs; RR(min=40)@1 counts grades from 40 on"),
        ("broad", [1, 2, 0, 0] + [1] * 6, "AP@1", ""),
        ("broad", [1] * 10, "P(min=1)@1", ""),
        ("broad", [1] * 10, "AP(rel=1)@1", ""),
        ("broad", [1] * 10, "CG@1", ""),
        ("binary", [1] * 10, "AP@1", ""),
    ],
)
def test_a_measure_to_which_nearly_every_pair_is_relevant_says_so(scale, grades, measure, said):
    ranking = tuple(map(str, range(len(grades))))
    judged = tuple(Judgment("q", document, grade) for document, grade in zip(ranking, grades, strict=True))
    collection = Collection("c", "c", SCALES[scale], 1, (Run("S", {"q": ranking}),), judgments=judged)
    found = indiscriminate_in_words(collection, parse_measure(measure))
    assert found == (f"{measure} counts every grade above 0 as relevant, {said}" if said else "")
