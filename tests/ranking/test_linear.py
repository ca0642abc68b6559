"""Expected scores of measures that are linear in the gains, compared with all possible grades."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.errors import InputError
from audiosim.measures.measure import GAIN, MEASURES, Definition, Measure, parse_measure
from audiosim.ranking.expected import expected_scores
from audiosim.ranking.linear import LinearScores
from audiosim.stats.normal.block_normal import BlockNormal

LINEAR = [
    "CG@2",
    "CG(gain=exponential)@2",
    "CG(form=original)@2",
    "CG(gain=exponential,form=original)@2",
    "DCG@2",
    "DCG(gain=exponential)@2",
    "DCG(base=3)@2",
    "DCG(base=1.5,form=original)@2",
    "DCG(form=original)@2",
    "nDCG(ideal=user)@2",
    "nDCG(base=3,gain=exponential,ideal=user)@2",
    "RBP(ideal=user)@2",
    "RBP(p=0.5,gain=exponential,ideal=user)@2",
    "RBP(form=original)@2",
    "RBP(p=0.95,gain=exponential,form=original)@2",
]


# The enumeration cancels numbers of the size of a squared score, 2^10 at most: 1e-11 of that is far above rounding.
@pytest.mark.slow
@pytest.mark.parametrize("judged", [{}, {0: 1.0, 5: 2.0}], ids=["none judged", "two judged"])
@pytest.mark.parametrize("written", LINEAR)
def test_moments_equal_those_over_every_possible_assignment_of_grades(doubt, definitions, written, judged):
    doubt, measure = doubt.judged(judged), parse_measure(written)
    mean, covariance = doubt.moments(definitions[measure.name], measure)
    found = LinearScores(measure, doubt.pool).scores(doubt.belief)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-11, atol=1e-14 * mean.max() ** 2)


def test_a_linear_measure_is_one_whose_moments_are_a_projection():
    def is_linear(written):
        measure = parse_measure(written)
        return measure.rank_weights is not None and not measure.relative

    assert all(map(is_linear, LINEAR))
    others = [name for name in MEASURES if name not in {"CG", "DCG"}]
    assert not any(is_linear(f"{name}@2") for name in others)
    assert not any(is_linear(written) for written in ("nDCG(form=original)@2", "Q(ideal=user)@2"))


def falling(measure):
    """A discount that audiosim does not have: 1 and 2/3 at cutoff 2."""
    return 1 - np.arange(measure.cutoff) / (measure.cutoff + 1)


def fallen(measure, scale, grades, judged):
    """The same sum as a score of an own measure, in gain units."""
    width = min(measure.cutoff, grades.shape[-1])
    return np.asarray(np.nan_to_num(grades)[..., :width] @ falling(measure)[:width])


OWN = {
    "FALL": (Definition("FALL", (GAIN,), rank_weights=falling), 3 / 5),
    "BARE": (Definition("BARE", rank_weights=falling), 3 / 5),
    "SUM": (Definition("SUM", score=fallen, rank_weights=falling), None),
}


@pytest.mark.parametrize("judged", [{}, {0: 1.0, 5: 2.0}], ids=["none judged", "two judged"])
@pytest.mark.parametrize("written", ["FALL@2", "FALL(gain=exponential)@2", "BARE@2", "SUM@2"])
def test_a_measure_of_one_s_own_with_weights_of_ranks_is_expected_exactly(doubt, written, judged):
    doubt = doubt.judged(judged)
    definition, _ = OWN[written.partition("@")[0].partition("(")[0]]
    measure = Measure(definition, 2, (("gain", "exponential"),) if "exponential" in written else ())
    gain = (lambda grade: 2**grade - 1) if "exponential" in written else float
    share = OWN[measure.name][1]

    def by_definition(measure, scale, grades, judged):
        total = sum(weight * gain(grade) for weight, grade in zip((1, 2 / 3), grades, strict=False))
        return total if share is None else total * share / gain(scale.maximum)

    mean, covariance = doubt.moments(by_definition, measure)
    expected = expected_scores(measure, doubt.pool)
    assert expected.draws is None
    found = expected.scores(doubt.belief)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-11, atol=1e-14 * mean.max() ** 2)


@pytest.mark.parametrize("written", LINEAR)
def test_correlated_gains_are_projected_with_their_covariance(doubt, definitions, written):
    # The weights are found from the definition itself, one document at a time: W is linear in the gains.
    measure, pool = parse_measure(written), doubt.pool
    scale = replace(pool.scale, levels=(0.0, *pool.scale.levels[-1:]))
    definition, count = definitions[measure.name], len(pool.queries)
    dense = np.zeros((len(doubt.runs), len(pool.pairs)))
    for a, run in enumerate(doubt.runs):
        for query, documents in run.rankings.items():
            for place, document in enumerate(documents):
                alone = [scale.maximum * (i == place) for i in range(len(documents))]
                dense[a, pool.positions[query, document]] = definition(measure, scale, alone, alone) / count
    rng = np.random.default_rng(4)
    factor = rng.normal(size=(len(pool.pairs), 3))
    n, covariance = len(pool.pairs), factor @ factor.T + 0.1 * np.eye(len(pool.pairs))
    block = (np.arange(n),), (covariance,), (np.empty((n, 0)),), np.empty((0, 0))
    gains = BlockNormal(rng.random(n), *block)
    found = gains.project(LinearScores(measure, pool).weights)
    np.testing.assert_allclose(found.mean, dense @ gains.mean, rtol=1e-12)
    np.testing.assert_allclose(found.covariance, dense @ covariance @ dense.T, rtol=1e-11, atol=1e-14)


def regraded(belief, index, grade):
    """The belief in which one pair has another grade; NaN: none."""
    grades = belief.grades.copy()
    grades[index] = grade
    return belief.revise(grades)


@pytest.mark.parametrize("written", ["CG@2", "DCG(gain=exponential)@2", "RBP(ideal=user)@2"])
def test_one_more_judgment_or_one_less_gives_the_moments_from_scratch(doubt, written):
    expected = LinearScores(parse_measure(written), doubt.pool)
    before, scores = doubt.belief, expected.scores(doubt.belief)
    for index, grade in [(0, 1.0), (4, 1.0), (0, 2.0), (4, np.nan), (6, 2.0), (0, np.nan), (6, np.nan)]:
        after = regraded(before, index, grade)
        scores, before = expected.after(scores, before, after, index), after
        fresh = expected.scores(after)
        np.testing.assert_allclose(scores.mean, fresh.mean, rtol=1e-12)
        np.testing.assert_allclose(scores.covariance, fresh.covariance, rtol=0, atol=1e-14)


@pytest.mark.parametrize("written", ["CG@2", "DCG(base=3)@2", "RBP(form=original)@2"])
def test_slopes_are_differences_of_the_scores_over_differences_of_a_gain(doubt, written):
    expected = LinearScores(parse_measure(written), doubt.pool)
    slopes = expected.slopes(doubt.belief).toarray()
    for index in range(len(doubt.pool.pairs)):
        low, high = (expected.scores(doubt.belief.condition(index, grade)).mean for grade in (1.0, 2.0))
        np.testing.assert_allclose(slopes[:, index], (high - low) * doubt.pool.scale.maximum, rtol=1e-11, atol=1e-15)


def test_the_discount_of_a_pair_is_1_at_the_first_rank(doubt):
    # Systems A to D by hand: the ranks at which they retrieved a and b for q1, and b and e for q2.
    discounted = LinearScores(parse_measure("DCG@2"), doubt.pool).discounted(doubt.belief).toarray()
    second = 1 / np.log2(3)
    places = [doubt.pool.positions[pair] for pair in [("q1", "a"), ("q1", "b"), ("q2", "b"), ("q2", "e")]]
    by_hand = [[1, second, 1, second], [1, 0, second, 1], [second, 0, 0, 1], [0, 0, 0, 0]]
    np.testing.assert_allclose(discounted[:, places], by_hand, rtol=1e-14)


def test_variances_are_those_of_the_gains_and_0_where_judged(doubt):
    doubt = doubt.judged({3: 2.0})
    levels, probabilities = np.array(doubt.pool.scale.levels), doubt.belief.probabilities
    gains = (2**levels - 1) / (2 ** levels[-1] - 1)
    by_hand = [row @ (gains - row @ gains) ** 2 for row in probabilities]
    by_hand[3] = 0.0
    found = LinearScores(parse_measure("CG(gain=exponential)@2"), doubt.pool).gains(doubt.belief).variance
    np.testing.assert_allclose(found, by_hand, rtol=1e-10)


def test_a_measure_needs_the_pool_of_its_own_cutoff(tiny):
    with pytest.raises(InputError, match="a measure at 3 needs the pool of the top 3, this one is of the top 2"):
        _ = LinearScores(parse_measure("CG@3"), build_pool(tiny)).weights
