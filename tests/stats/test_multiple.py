import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from audiosim.errors import InputError
from audiosim.stats.tests import benjamini_hochberg, holm

PROBABILITIES = st.lists(st.floats(0, 1) | st.sampled_from([0.01, 0.02, 0.5]), min_size=1, max_size=20)


@pytest.mark.parametrize(("adjust", "name"), [(holm, "holm"), (benjamini_hochberg, "bh")])
def test_adjusted_p_values_are_those_of_r(adjust, name, r):
    values = list(r["adjusted", "p"].values())
    np.testing.assert_allclose(adjust(values), list(r["adjusted", name].values()), rtol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize(("adjust", "name"), [(holm, "holm"), (benjamini_hochberg, "fdr_bh")])
def test_adjusted_p_values_are_those_of_statsmodels(adjust, name):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    rng = np.random.default_rng(0)
    for size in (1, 2, 30, 1000):
        values = np.round(rng.random(size) ** 3, 3)
        np.testing.assert_allclose(adjust(values), multitest.multipletests(values, method=name)[1], rtol=1e-12)


@pytest.mark.slow
@given(PROBABILITIES)
def test_rejecting_adjusted_p_values_is_stepping_through_the_sorted_ones(values):
    # The procedures as stated by their authors, at 0.05: Holm stops at the first p above 0.05 / (m - i),
    # Benjamini and Hochberg reject up to the last p not above 0.05 i / m.
    ordered, m = sorted(values), len(values)
    # Exactly at a bound, rounding decides.
    assume(all(abs(p * m / j - 0.05) > 1e-9 for p in ordered for j in range(1, m + 1)))
    assume(all(abs(p * j - 0.05) > 1e-9 for p in ordered for j in range(1, m + 1)))
    stop = next((i for i, p in enumerate(ordered) if p * (m - i) > 0.05), m)
    last = max((i + 1 for i, p in enumerate(ordered) if p * m / (i + 1) <= 0.05), default=0)
    assert np.sum(holm(values) <= 0.05) == stop
    assert np.sum(benjamini_hochberg(values) <= 0.05) == last


def test_the_published_example_has_four_discoveries_of_which_three_pass_holm():
    # Benjamini & Hochberg (1995), section 3.2: fifteen p-values, four found at 0.05, three by Hochberg and Bonferroni.
    published = "0.0001 0.0004 0.0019 0.0095 0.0201 0.0278 0.0298 0.0344 0.0459 0.3240 0.4262 0.5719 0.6528 0.7590 1"
    values = np.array(published.split(), dtype=float)
    assert np.sum(benjamini_hochberg(values) <= 0.05) == 4
    assert np.sum(holm(values) <= 0.05) == 3


def test_no_p_values_are_adjusted_to_none():
    assert holm([]).size == benjamini_hochberg([]).size == 0


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[0.1]], r"p-values must be \(m,\), got \(1, 1\)"),
        (0.1, r"p-values must be \(m,\), got \(\)"),
        ([0.1, 1.2], "p-value 1 must be from 0 to 1, got 1.2"),
        ([np.nan], "p-value 0 must be from 0 to 1, got nan"),
    ],
)
def test_what_is_no_p_value_is_refused(adjust, values, message):
    with pytest.raises(InputError, match=message):
        adjust(values)
