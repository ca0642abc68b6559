"""The search for sizes is held against costs whose minimum and bend are known, and the limit of threads against the
libraries themselves."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from audiosim.stats.size_search import SMALLEST, least_cost, relative_errors
from audiosim.stats.threads import one_thread

COUNTS, TRUE = np.array([2000.0, 40.0, 9.0]), np.array([0.6, 0.05, 2.0])


def of_normals(at):
    """The cost of independent normal samples of these counts and root mean squares: n (x + s^2 exp(-2 x) / 2)."""
    share = TRUE**2 * np.exp(-2 * at)
    return float(COUNTS @ (at + share / 2)), COUNTS * (1 - share)


@pytest.mark.parametrize("start", [[0.5, 0.1, 1.0], [0.01, 3.0, 0.02], [5.0, 5.0, 5.0]])
def test_the_least_cost_and_its_bend_are_those_of_the_closed_form(start):
    best, curvature = least_cost(of_normals, np.log(start), np.log(50.0), 2049)
    np.testing.assert_allclose(np.exp(best), TRUE, rtol=1e-6)
    # Its second derivative at the minimum is 2 n; differences over .001 leave about (2 x .001)^2 / 6 of it.
    np.testing.assert_allclose(curvature, np.diag(2 * COUNTS), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(relative_errors(curvature, best), (2 * COUNTS) ** -0.5, rtol=1e-5)


def test_a_search_turns_back_where_there_is_no_inverse():
    met = []

    def narrow(at):
        if at.max() > np.log(3.0):
            met.append(at)
            raise np.linalg.LinAlgError("no inverse")
        return of_normals(at)

    best, _ = least_cost(narrow, np.log([0.01, 0.01, 0.01]), np.log(50.0), 2049)
    np.testing.assert_allclose(np.exp(best), TRUE, rtol=1e-6)
    assert met


def test_a_size_that_had_better_be_nothing_is_the_smallest_and_its_error_infinite():
    # Cost that rises with the variance ever so slowly, as of an effect that is not there.
    def rising(at):
        value, slopes = of_normals(at[:3])
        return value + 1e-3 * np.exp(2 * at[3]), np.append(slopes, 2e-3 * np.exp(2 * at[3]))

    best, curvature = least_cost(rising, np.log([0.5, 0.1, 1.0, 0.3]), np.log(50.0), 2049)
    assert np.exp(best[3]) == pytest.approx(SMALLEST, rel=1e-9)
    np.testing.assert_allclose(np.exp(best[:3]), TRUE, rtol=1e-6)
    errors = relative_errors(curvature, best)
    assert errors[3] == np.inf
    np.testing.assert_allclose(errors[:3], (2 * COUNTS) ** -0.5, rtol=1e-5)


def test_a_size_that_nothing_depends_on_stays_where_it_began():
    def indifferent(at):
        value, slopes = of_normals(at[:3])
        return value, np.append(slopes, 0.0)

    best, curvature = least_cost(indifferent, np.log([0.5, 0.1, 1.0, 0.3]), np.log(50.0), 2049)
    assert np.exp(best[3]) == pytest.approx(0.3)
    assert relative_errors(curvature, best)[3] == np.inf


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
    with one_thread():  # it can be had again
        assert set(threads()) == {1}
