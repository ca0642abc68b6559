"""The divergences are compared with numpy's determinants, pair by pair, and with an integral of the densities."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from audiosim.sound import jensen_shannon
from audiosim.sound.gaussians import from_rows, to_rows
from audiosim.sound.jensen_shannon import _halves, jensen_shannon_divergence


def pair(m, s, n, t):
    """From the definition."""
    merged = (s + t) / 2 + np.outer(m - n, m - n) / 4
    first, second, both = (np.linalg.slogdet(matrix)[1] for matrix in (s, t, merged))
    return (both - (first + second) / 2) / 2


def all_pairs(rows, d):
    known = list(zip(*from_rows(rows, d), strict=True))
    return np.array([[pair(*one, *other) for other in known] for one in known])


@pytest.mark.parametrize(("d", "decades", "spread"), [(1, 1, 1), (3, 0.2, 0.1), (20, 1, 3), (20, 2, 100)])
def test_they_match_determinants_pair_by_pair(random_gaussians, d, decades, spread):
    rows = to_rows(*random_gaussians(np.random.default_rng(1), 30, d, decades, spread))
    expected, off_diagonal = all_pairs(rows, d), ~np.eye(30, dtype=bool)
    computed = jensen_shannon_divergence(rows, None, d)
    np.testing.assert_allclose(computed[off_diagonal], expected[off_diagonal], rtol=1e-4)
    assert np.array_equal(computed, computed.T)
    assert not computed.diagonal().any()
    np.testing.assert_allclose(jensen_shannon_divergence(rows[:4], rows[9:], d), computed[:4, 9:], rtol=1e-12)


@pytest.mark.parametrize("step", [1e-3, 1e-2])
def test_near_duplicates_keep_their_digits(random_gaussians, step):
    rng = np.random.default_rng(2)
    means, covariances = (np.repeat(part, 10, axis=0) for part in random_gaussians(rng, 3, 20))
    means = means + step * (np.linalg.cholesky(covariances) @ rng.standard_normal((30, 20, 1)))[:, :, 0]
    rows = to_rows(means, covariances * (1 + step * rng.standard_normal((30, 1, 1))))
    expected, off_diagonal = all_pairs(rows, 20), ~np.eye(30, dtype=bool)
    np.testing.assert_allclose(
        jensen_shannon_divergence(rows, None, 20)[off_diagonal], expected[off_diagonal], rtol=1e-4
    )


def test_a_copy_is_at_exactly_zero(random_gaussians):
    rows = to_rows(*random_gaussians(np.random.default_rng(3), 5, 20))
    assert not jensen_shannon_divergence(rows, rows.copy(), 20).diagonal().any()


def test_the_size_of_the_blocks_does_not_matter(random_gaussians, monkeypatch):
    rows = to_rows(*random_gaussians(np.random.default_rng(4), 23, 6))
    whole = jensen_shannon_divergence(rows, None, 6)
    monkeypatch.setattr(jensen_shannon, "COLUMNS", 5)
    assert np.array_equal(jensen_shannon_divergence(rows, None, 6), whole)


def test_it_is_at_least_the_jensen_shannon_divergence_of_the_densities():
    means, deviations = np.array([[0.0], [2.0]]), np.array([1.0, 1.5])

    def integrand(x):
        p, q = (norm.pdf(x, means[i, 0], deviations[i]) for i in (0, 1))
        middle = (p + q) / 2
        return (p * np.log(p / middle) + q * np.log(q / middle)) / 2

    true = quad(integrand, -12, 14)[0]
    computed = jensen_shannon_divergence(to_rows(means, deviations[:, None, None] ** 2), None, 1)[0, 1]
    assert true < computed < 1.3 * true


def test_there_may_be_none(random_gaussians):
    rows = to_rows(*random_gaussians(np.random.default_rng(5), 3, 4))
    assert jensen_shannon_divergence(rows[:0], rows, 4).shape == (0, 3)
    assert jensen_shannon_divergence(rows[:0], None, 4).shape == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("d", "decades", "spread"), [(1, 1, 1), (7, 0.2, 0.1), (20, 1, 3), (31, 2, 100)])
def test_compiled_loops_find_the_same(random_gaussians, monkeypatch, d, decades, spread):
    rows = to_rows(*random_gaussians(np.random.default_rng(7), 150, d, decades, spread))
    expected, off_diagonal = jensen_shannon_divergence(rows, None, d), ~np.eye(150, dtype=bool)
    monkeypatch.setattr(jensen_shannon, "MANY", 1)
    found = jensen_shannon_divergence(rows, None, d)
    np.testing.assert_allclose(found[off_diagonal], expected[off_diagonal], rtol=1e-10)
    assert np.array_equal(found, found.T)
    assert not found.diagonal().any()
    np.testing.assert_allclose(found[:9, :9], all_pairs(rows[:9], d), rtol=1e-4, atol=1e-12)
    np.testing.assert_array_equal(jensen_shannon_divergence(rows[:4], rows[9:], d), found[:4, 9:])


@pytest.mark.slow
@pytest.mark.parametrize("many", [1, 10**9])
def test_means_may_be_very_far_apart(random_gaussians, monkeypatch, many):
    monkeypatch.setattr(jensen_shannon, "MANY", many)
    means, covariances = random_gaussians(np.random.default_rng(8), 6, 4)
    rows = to_rows(means * 10.0 ** np.arange(0, 18, 3)[:, None], covariances)
    known = list(zip(*from_rows(rows, 4), strict=True))
    expected = np.array([[far_pair(*one, *other) for other in known] for one in known])
    np.testing.assert_allclose(jensen_shannon_divergence(rows, None, 4), expected, rtol=1e-4, atol=1e-6)


def far_pair(m, s, n, t):
    """From the definition, by the matrix determinant lemma for a rank-one update."""
    middle, v = (s + t) / 2, (m - n) / 2
    first, second, both = (np.linalg.slogdet(matrix)[1] for matrix in (s, t, middle))
    return (both + np.log1p(v @ np.linalg.solve(middle, v)) - (first + second) / 2) / 2


ELIMINATIONS = {"arrays": lambda: jensen_shannon._log_determinants, "loops": jensen_shannon._by_loops}


def bordered(means, upper, sign=1):
    """Bordered triangles of Gaussians with these means and upper triangles of covariances."""
    rows = np.concatenate([2 * means, 2 * upper, np.zeros((len(means), 1))], axis=1)
    return _halves(rows, means.shape[1], sign)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ELIMINATIONS)
def test_determinants_of_mixtures_are_those_of_numpy(kind):
    rng = np.random.default_rng(9)
    roots, means = rng.standard_normal((70, 9, 20)), rng.standard_normal((70, 9))
    covariances = roots @ np.swapaxes(roots, 1, 2)
    upper = covariances[:, *np.triu_indices(9)]
    mine, theirs = bordered(means[:3], upper[:3]), bordered(means[1:], upper[1:], -1)
    found = ELIMINATIONS[kind]()(mine, np.ascontiguousarray(theirs.T), 10)
    off_diagonal = means[:3, None] - means[None, 1:]
    whole = covariances[:3, None] + covariances[None, 1:] + off_diagonal[..., :, None] * off_diagonal[..., None, :]
    np.testing.assert_allclose(found, np.linalg.slogdet(whole)[1], rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ELIMINATIONS)
def test_the_determinant_of_what_is_not_positive_definite_is_unknown(kind):
    mine, theirs = bordered(np.zeros((1, 2)), np.array([[-1.0, 0, -1]])), bordered(np.zeros((1, 2)), np.zeros((1, 3)))
    assert np.isnan(ELIMINATIONS[kind]()(mine, np.ascontiguousarray(theirs.T), 3)).all()


WITHOUT = """
import sys
class Blocker:
    def find_spec(self, name, *_):
        if name.split(".")[0] == "numba":
            raise ImportError("blocked")
sys.meta_path.insert(0, Blocker())
"""
# prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN): memory that can be written can never become executable.
HARDENED = "import ctypes, sys\nif ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):\n    sys.exit(77)\n"
# Stands for an installation and a home that are both read-only.
UNWRITABLE = "from numba.core.caching import CacheImpl\nCacheImpl._locator_classes = []\n"
COMPARE = """
import numpy as np
from audiosim.sound.gaussians import to_rows
from audiosim.sound.jensen_shannon import _by_loops, jensen_shannon_divergence
rows = to_rows(np.arange(12.0).reshape(4, 3), np.stack([np.eye(3)] * 4))
found, expected = (jensen_shannon_divergence(rows, None, 3, many) for many in (True, False))
assert np.allclose(found, expected, rtol=1e-12), found
print(_by_loops() is not None)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("before", "by_loops"), [(WITHOUT, False), (HARDENED, False), (UNWRITABLE, True)])
def test_where_loops_cannot_be_compiled_arrays_find_the_same_and_where_they_cannot_be_kept_they_are_compiled(
    before, by_loops
):
    pytest.importorskip("numba")
    if before == HARDENED and sys.platform != "linux":
        pytest.skip("memory is protected so on Linux")
    ended = subprocess.run([sys.executable, "-c", before + COMPARE], capture_output=True, text=True)
    if ended.returncode == 77:
        pytest.skip("the kernel cannot forbid executable memory")
    assert (ended.returncode, ended.stdout) == (0, f"{by_loops}\n"), ended.stderr
