"""The search for sizes is compared with costs whose minimum and bend are known, and the limit of threads with the
libraries themselves."""

from dataclasses import dataclass

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from audiosim.stats.normal.variance_components import SMALLEST, least_cost, relative_errors
from audiosim.stats.threads import one_thread

COUNTS, TRUE = np.array([2000.0, 40.0, 9.0]), np.array([0.6, 0.05, 2.0])
MISSED = 1.5e-7 * (2 * COUNTS) ** -0.5  # the search ends about 1e-7 standard errors from the minimum


@dataclass(frozen=True, eq=False)
class OfNormals:
    """The cost of independent normal samples with these counts and root mean squares: n (x + s^2 exp(-2 x) / 2).

    In addition, w exp(2 x) / 2 for any further size, as for a missing effect.
    """

    at: np.ndarray
    weight: float = 0.0

    @property
    def shares(self):
        return TRUE**2 * np.exp(-2 * self.at[:3])

    @property
    def beyond(self):
        return self.weight * np.exp(2 * self.at[3:])

    @property
    def value(self):
        return float(COUNTS @ (self.at[:3] + self.shares / 2) + self.beyond.sum() / 2)

    @property
    def slopes(self):
        return np.append(COUNTS * (1 - self.shares), self.beyond)

    @property
    def curvature(self):
        return np.diag(np.append(2 * COUNTS * self.shares, 2 * self.beyond))

    @property
    def about(self):
        """The mean of the expected and the observed information, like average information."""
        return np.diag(np.append(COUNTS * (1 + self.shares), 0 * self.beyond))


@pytest.mark.parametrize("start", [[0.5, 0.1, 1.0], [0.01, 3.0, 0.02], [5.0, 5.0, 5.0]])
def test_the_least_cost_is_that_of_the_closed_form(start):
    found = least_cost(OfNormals, np.log(start), np.log(50.0))
    np.testing.assert_array_less(np.abs(found.at - np.log(TRUE)), MISSED)
    np.testing.assert_allclose(relative_errors(found.curvature, found.at), (2 * COUNTS) ** -0.5, rtol=1e-7)


def test_a_search_stays_between_its_bounds():
    found = least_cost(OfNormals, np.log([0.5, 0.1, 1.0]), np.log(1.0))
    np.testing.assert_allclose(np.exp(found.at), np.minimum(TRUE, 1.0), rtol=1e-8)


def test_a_search_turns_back_where_there_is_no_inverse():
    last, refused = [np.log([0.01, 0.01, 0.01])], []

    def narrow(at):
        if np.abs(at - last[-1]).max() > 0.3:
            refused.append(at)
            raise np.linalg.LinAlgError("no inverse")
        last.append(at)
        return OfNormals(at)

    found = least_cost(narrow, last[0], np.log(50.0))
    np.testing.assert_array_less(np.abs(found.at - np.log(TRUE)), MISSED)
    assert refused


def test_a_size_that_had_better_be_nothing_is_the_smallest_and_its_error_infinite():
    # The cost increases very slowly with the variance.
    found = least_cost(lambda at: OfNormals(at, 1e-3), np.log([0.5, 0.1, 1.0, 0.3]), np.log(50.0))
    assert np.exp(found.at[3]) == pytest.approx(SMALLEST, rel=1e-9)
    np.testing.assert_array_less(np.abs(found.at[:3] - np.log(TRUE)), MISSED)
    errors = relative_errors(found.curvature, found.at)
    assert errors[3] == np.inf
    np.testing.assert_allclose(errors[:3], (2 * COUNTS) ** -0.5, rtol=1e-7)


def test_a_size_that_nothing_depends_on_stays_where_it_began():
    found = least_cost(OfNormals, np.log([0.5, 0.1, 1.0, 0.3]), np.log(50.0))
    assert np.exp(found.at[3]) == pytest.approx(0.3)
    assert relative_errors(found.curvature, found.at)[3] == np.inf


def threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_matrix_products_are_on_one_thread_inside_and_on_as_many_as_before_after_it():
    before = threads()
    assert before
    with one_thread():
        assert set(threads()) == {1}
    assert threads() == before
    with pytest.raises(KeyboardInterrupt), one_thread():
        raise KeyboardInterrupt
    assert threads() == before
    with one_thread():  # it can be taken again
        assert set(threads()) == {1}
