"""Grades completed from the belief: their sums equal the scores of the ranking."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim.corpus.judgments import qrels_lines
from audiosim.corpus.pool import build_pool
from audiosim.expected.estimation import estimate
from audiosim.relevance.completion import completed_judgments, drawn_completions, expected_grades
from audiosim.relevance.estimators import built_in
from audiosim.relevance.relearning import after_grades


def believed(collection):
    pool, grades = build_pool(collection, 5), collection.grades()
    return pool, after_grades(pool, built_in(pool, "joint"), grades).predict(pool.spread(grades))


@pytest.fixture(scope="module")
def partly(demo):
    return replace(demo, judgments=demo.judgments[::4])


# The scores by plain arithmetic from the lines of the file.
@pytest.mark.parametrize("judged", [0, pytest.param(150, marks=pytest.mark.slow)])
def test_scores_of_the_expected_grades_are_those_of_the_ranking(demo, judged):
    collection = replace(demo, judgments=demo.judgments[:judged])
    pool, belief = believed(collection)
    grades = {}
    for line in qrels_lines(completed_judgments(pool.pairs, expected_grades(belief))):
        query, zero, document, grade = line.split(" ")
        assert zero == "0"
        grades[query, document] = float(grade)
    ranking = estimate(collection)
    for run in demo.runs:
        rows = [[grades[query, document] for document in top[:5]] for query, top in run.rankings.items()]
        score = np.mean(rows) / 100
        assert ranking.scores.mean[ranking.systems.index(run.system)] == pytest.approx(score, abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("grade", [0.0, 100.0])
def test_expected_grades_stay_on_the_scale_where_a_normal_mean_does_not(demo, grade):
    said = tuple(replace(one, grade=grade) for one in demo.judgments[:100])
    _, belief = believed(replace(demo, judgments=said))
    mean = belief.gains.mean * 100
    beyond = (mean < 0) | (mean > 100)
    assert beyond.any()
    grades = expected_grades(belief)
    assert set(grades[beyond]) == {grade}
    np.testing.assert_array_equal(grades[~beyond & ~belief.judged], mean[~beyond & ~belief.judged])


@pytest.mark.slow
def test_drawn_files_vary_as_the_ranking_is_unsure(partly):
    pool, belief = believed(partly)
    rng, scores = np.random.default_rng(0), []
    for grades in drawn_completions(belief, pool.scale, 400, rng):
        judged = belief.judged
        assert grades[judged].tolist() == belief.grades[judged].tolist()
        assert set(grades[~judged]) <= set(pool.scale.levels)
        scores.append(np.asarray(pool.retrieved @ grades) / 100 / 5 / len(pool.queries))
    ranking = estimate(partly)
    np.testing.assert_allclose(np.mean(scores, axis=0), ranking.scores.mean, atol=0.01)
    # Levels show only a part of the variation of gains, and have heavier tails: equal up to a fifth.
    np.testing.assert_allclose(np.std(scores, axis=0), np.sqrt(ranking.scores.variance), rtol=0.2)
