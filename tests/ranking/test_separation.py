"""Judgments that would tell systems apart: the prediction, compared with simulated judgments."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import t as student

from audiosim.collection.pool import build_pool
from audiosim.collection.values import Judgment
from audiosim.joint.estimators import make_estimator, taught_by
from audiosim.measures.measure import parse_measure
from audiosim.ranking.about import THESE
from audiosim.ranking.expected import expected_scores, rank, rank_belief
from audiosim.ranking.separation import PROBABLY, judgments_to_separate, two_systems_of_pool, verdicts_of_pool
from audiosim.ranking.verdicts import Verdicts

DRAWS = 4000
ERROR = 3 * np.sqrt(PROBABLY * (1 - PROBABLY) / DRAWS)


@pytest.fixture(scope="module")
def judged(demo):
    """The demo with a third of its pairs judged: expected scores, estimator, grades and belief."""
    pool = build_pool(demo, 5)
    rng = np.random.default_rng(0)
    chosen = sorted(rng.permutation(len(pool.pairs))[: len(pool.pairs) // 3].tolist())
    known = {pool.pairs[place]: float(rng.choice([10.0, 40.0, 70.0])) for place in chosen}
    judged = [Judgment(*pair, grade) for pair, grade in known.items()]
    estimator = taught_by(pool, make_estimator(pool, "joint"), judged)
    grades = pool.spread(known)
    return expected_scores(parse_measure("CG@5"), pool), estimator, grades, estimator.predict(grades)


def told_apart(expected, belief, ranking, pair, critical, count):
    """Share of simulated worlds in which two systems are told apart once a number of the pairs is judged."""
    better, worse = (int(of[pair]) for of in ranking.scores.pairs)
    difference = np.zeros((1, len(ranking.systems)))
    difference[0, [better, worse]] = 1, -1
    weights = sparse.csr_array(difference @ expected.slopes(belief).toarray())
    gains = expected.gains(belief)
    column = np.asarray(gains.across(weights)).reshape(-1)
    worth = np.where(belief.judged, -1, column**2 / np.where(gains.variance > 0, gains.variance, 1))
    places = np.argsort(-worth, kind="stable")[:count]
    rng = np.random.default_rng(count)
    ways = rng.multivariate_normal(gains.mean[places], gains.among(places), DRAWS)
    # Scores follow Student's t: in each world, changes are scaled by a draw of chi squared.
    ways = gains.mean[places] + (ways - gains.mean[places]) / np.sqrt(
        rng.chisquare(ranking.scores.freedom, (DRAWS, 1)) / ranking.scores.freedom
    )
    left = gains.condition_all(places, ways[0]).project(weights).covariance[0, 0]
    gained = np.linalg.solve(gains.among(places), column[places])
    means = gains.project(weights).mean[0] + (ways - gains.mean[places]) @ gained
    return float(np.mean(np.abs(means) > critical * np.sqrt(left)))


@pytest.mark.slow
def test_so_many_judgments_tell_two_systems_apart_in_four_of_five_worlds(judged):
    expected, estimator, _, belief = judged
    ranking = rank(expected, estimator.name, expected.scores(belief), int(belief.judged.sum()), correlated=True)
    seen = 0
    for pair in range(0, len(ranking.scores.pairs[0]), 3):
        count = judgments_to_separate(expected, belief, ranking, pair, 2.5)
        if count is None or count < 2:
            continue
        seen += 1
        assert told_apart(expected, belief, ranking, pair, 2.5, count) >= PROBABLY - ERROR
        assert told_apart(expected, belief, ranking, pair, 2.5, count - 1) < PROBABLY + ERROR
    assert seen >= 3


@pytest.mark.slow
def test_verdicts_name_the_two_systems_that_are_nearest_to_being_told_apart(judged):
    expected, estimator, grades, _ = judged
    verdicts = verdicts_of_pool(expected, estimator, grades, k=4)
    ranking, nearest = verdicts.ranking, verdicts.nearest
    open_ = [
        (difference / np.sqrt(variance), ranking.systems[a], ranking.systems[b])
        for a, b, difference, variance in zip(*ranking.scores.pairs, *ranking.scores.differences, strict=True)
        if not verdicts.better[a, b]
    ]
    assert (nearest.a, nearest.b) == max(open_)[1:]
    said = verdicts.to_dict()
    assert said["nearest"] == {"a": nearest.a, "b": nearest.b, "judgments": nearest.judgments}
    assert said["sentence"].endswith(
        f". To separate {nearest.a} and {nearest.b} alone would probably take {nearest.judgments} more judgments."
    )
    assert sum(row["top"] for row in said["systems"]) == pytest.approx(said["top_k"]) == 4


@pytest.mark.slow
def test_two_systems_that_are_not_told_apart_are_told_what_would(judged):
    expected, estimator, grades, belief = judged
    ranking = rank_belief(expected, estimator, belief)
    close = int(np.argmin(ranking.scores.confidences))
    a, b = (ranking.systems[of[close]] for of in ranking.scores.pairs)
    found = two_systems_of_pool(expected, estimator, grades, (b, a), 0.95, about=THESE)
    critical = student.ppf(0.95, ranking.scores.freedom)
    assert found.more == judgments_to_separate(expected, belief, ranking, close, critical)
    assert found.sentence.endswith(f"To tell would probably take {found.more} more judgments.")
    assert found.expectation == pytest.approx(-float(ranking.scores.differences[0][close]))


@pytest.mark.slow
def test_nothing_is_looked_ahead_where_variances_are_not_to_be_believed_or_all_is_judged(judged, demo):
    expected, estimator, grades, belief = judged
    whole = np.where(np.isnan(grades), 50.0, grades)
    assert verdicts_of_pool(expected, estimator, whole).nearest is None
    pool = expected.pool
    assert verdicts_of_pool(expected, make_estimator(pool, "mout"), grades).nearest is None
    drawn = expected_scores(parse_measure("AP(min=40)@5"), pool, draws=20)
    assert verdicts_of_pool(drawn, estimator, grades).nearest is None
    assert Verdicts(rank_belief(expected, estimator, belief)).to_dict()["nearest"] is None
