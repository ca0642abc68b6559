"""Work by Ray, chosen by the user through joblib; skipped if Ray is not installed."""

import os

import numpy as np
import pytest

from audiosim.workers import each_in_turn


def product(number):
    """The working process, and numbers with a last digit that depends on the order of summation."""
    rng = np.random.default_rng(number)
    return os.getpid(), (rng.random((80, 300)) @ rng.random((300, 80))).tobytes()


def quietly(done, of):
    """No progress."""


@pytest.mark.slow
def test_ray_does_the_work_with_the_same_digits(monkeypatch):
    ray = pytest.importorskip("ray")
    import joblib
    from ray.util.joblib import register_ray

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    register_ray()
    here = list(each_in_turn(product, 6, 1, quietly))
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        with joblib.parallel_config("ray", n_jobs=2):
            there = list(each_in_turn(product, 6, 1, quietly))
    finally:
        ray.shutdown()
    assert [numbers for _, numbers in there] == [numbers for _, numbers in here]
    assert os.getpid() not in {process for process, _ in there}
