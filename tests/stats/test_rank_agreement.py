import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from audiosim.stats.ranks import rank_agreement

SCORES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=12)


@pytest.mark.slow
@given(SCORES)
def test_agreement_is_what_its_definitions_say_pair_by_pair(pairs):
    one, other = np.array(pairs, dtype=float).T
    found = rank_agreement(one, other)
    right, signs, squares = [], [], []
    for a in range(len(one)):
        for b in range(a + 1, len(one)):
            first, second = one[a] - one[b], other[a] - other[b]
            signs.append(np.sign(first) * np.sign(second))
            right.append(1 if first == second == 0 else 0.5 if 0 in (first, second) else float(signs[-1] > 0))
            squares.append((first - second) ** 2)
    assert (found.accuracy, found.tau) == (pytest.approx(np.mean(right)), pytest.approx(np.mean(signs)))
    assert found.rmse_differences == pytest.approx(np.sqrt(np.mean(squares)))


def test_without_ties_tau_and_rho_are_those_of_scipy():
    rng = np.random.default_rng(3)
    one, other = rng.normal(size=(2, 18))
    found = rank_agreement(one, other)
    assert found.tau == pytest.approx(stats.kendalltau(one, other).statistic)
    assert found.rho == pytest.approx(stats.spearmanr(one, other).statistic)


def test_a_single_system_agrees_with_itself():
    found = rank_agreement(np.array([0.3]), np.array([0.9]))
    assert (found.accuracy, found.tau, found.rho, found.rmse_differences) == (1, 1, 1, 0)
