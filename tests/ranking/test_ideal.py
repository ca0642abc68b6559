"""Expected gain of the ideal ranking, compared with brute force over all possible grades."""

from itertools import product
from math import log2, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audiosim.joint.posterior import Belief
from audiosim.measures.lists import exponential_gain, linear_gain
from audiosim.ranking.ratio import expected_ideal

LINEAR = (linear_gain, lambda grade: grade)
EXPONENTIAL = (exponential_gain, lambda grade: 2**grade - 1)


def belief_of(levels, probabilities, grades, maximum):
    count = len(grades)
    probabilities = np.array(probabilities, dtype=float).reshape(count, len(levels))
    return Belief.independent(
        np.array(levels, dtype=float), probabilities, np.array(grades, dtype=float), maximum, ("drawn",)
    )


def by_brute_force(levels, probabilities, grades, maximum, discounts, gain):
    """The discounted sum over the best documents of one query, averaged over every assignment of grades."""
    cells = [
        list(zip(levels, row, strict=True)) if np.isnan(grade) else [(grade, 1.0)]
        for grade, row in zip(grades, probabilities, strict=True)
    ]
    total = 0.0
    for cell in product(*cells):
        best = sorted((gain(grade) / gain(maximum) for grade, _ in cell), reverse=True)
        chance = prod(chance for _, chance in cell)
        total += chance * sum(discount * value for discount, value in zip(discounts, best, strict=False))
    return total


@st.composite
def queries(draw):
    """Levels, and for some queries of up to four documents the level probabilities and the grades, NaN if unjudged.

    Then the queries and the grades of judged documents beside these.

    Judged grades need not be levels of the model: models may know the scale only in steps of ten.
    """
    levels = sorted(draw(st.lists(st.integers(0, 8), min_size=2, max_size=4, unique=True)))
    maximum = levels[-1] + draw(st.integers(0, 2))
    shares = st.lists(st.integers(0, 5), min_size=len(levels), max_size=len(levels)).filter(any)
    grade = st.one_of(st.just(np.nan), st.integers(0, 2 * maximum).map(lambda half: half / 2))
    documents = st.lists(st.tuples(shares, grade), min_size=1, max_size=4)
    of_queries = draw(st.lists(documents, min_size=1, max_size=3))
    more = st.tuples(st.integers(0, len(of_queries) - 1), st.integers(0, 2 * maximum).map(lambda half: half / 2))
    return levels, float(maximum), of_queries, draw(st.lists(more, max_size=4))


@pytest.mark.slow
@given(queries(), st.integers(1, 6), st.sampled_from([LINEAR, EXPONENTIAL]), st.randoms(use_true_random=False))
def test_the_expected_ideal_is_that_over_every_assignment_of_grades(drawn, cutoff, gain, random):
    levels, maximum, documents, more = drawn
    discounts = [1 / log2(rank + 1) for rank in range(1, cutoff + 1)]
    rows = [(code, shares, grade) for code, of_query in enumerate(documents) for shares, grade in of_query]
    random.shuffle(rows)
    query = np.array([code for code, _, _ in rows])
    probabilities = np.array([np.array(shares) / sum(shares) for _, shares, _ in rows])
    grades = np.array([grade for _, _, grade in rows])
    belief = belief_of(levels, probabilities, grades, maximum)
    beyond = np.array([code for code, _ in more], dtype=np.int64), np.array([grade for _, grade in more])
    found = expected_ideal(belief, gain[0], np.arange(len(rows)), query, np.array(discounts), beyond)
    beside = np.full((len(more), len(levels)), np.nan)
    query, grades = np.append(query, beyond[0]), np.append(grades, beyond[1])
    probabilities = np.concatenate([probabilities, beside])
    expected = [
        by_brute_force(levels, probabilities[query == code], grades[query == code], maximum, discounts, gain[1])
        for code in range(len(documents))
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("cutoff", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("gain", [LINEAR, EXPONENTIAL], ids=["linear", "exponential"])
def test_unlike_documents_judged_and_not_are_put_in_every_order(cutoff, gain):
    # Levels 1, 2, 5: not evenly spaced, the lowest above 0; two equal documents, one judged 5 and one 2.
    probabilities = np.array([[0.2, 0.5, 0.3], [0.6, 0.4, 0.0], [0.6, 0.4, 0.0], [0.1, 0.1, 0.8], [1 / 3] * 3])
    grades = np.array([np.nan, np.nan, np.nan, 5.0, 2.0])
    discounts = np.array([0.8**rank for rank in range(cutoff)])
    belief = belief_of([1.0, 2.0, 5.0], probabilities, grades, 5.0)
    found = expected_ideal(belief, gain[0], np.arange(5), np.zeros(5, dtype=np.int64), discounts)
    expected = by_brute_force([1, 2, 5], probabilities, grades, 5.0, discounts, gain[1])
    assert found == pytest.approx([expected], rel=1e-13)


def test_only_the_pairs_that_are_asked_for_are_read():
    probabilities = np.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
    belief = belief_of([0.0, 1.0], probabilities, [np.nan, np.nan, np.nan], 1.0)
    found = expected_ideal(belief, linear_gain, np.array([2]), np.array([0]), np.array([1.0, 0.5]))
    assert found == pytest.approx([0.8])


def test_the_best_of_many_like_documents_is_the_expected_highest_of_a_sample():
    # The highest of n uniform draws from 0, 1/m, ..., 1: sum over t >= 1 of 1 - (t / (m + 1))^n, over m.
    n, m = 40, 100
    belief = belief_of(np.arange(m + 1.0), np.full((n, m + 1), 1 / (m + 1)), np.full(n, np.nan), float(m))
    found = expected_ideal(belief, linear_gain, np.arange(n), np.zeros(n, dtype=np.int64), np.ones(1))
    assert found == pytest.approx([np.sum(1 - (np.arange(1, m + 1) / (m + 1)) ** n) / m], rel=1e-12)
