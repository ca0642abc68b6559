"""Damaged files of every format: each is described or fails with one line, and none affects the others."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from audiosim.sound.describe import Described, Failure, describe_all, listed
from audiosim.sound.parameters import STANDARD_FRAMES

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def mutants():
    """The script that makes thousands of them."""
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "benchmarks/mutants.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def originals(mutants):
    return mutants.encoded(sorted((ROOT / "fixtures").rglob("*.ogg"))[:3])


@pytest.mark.slow
def test_whole_files_of_every_format_are_described(mutants, originals, tmp_path):
    for suffix, (data, *_) in originals.items():
        (tmp_path / f"x.{suffix}").write_bytes(data)
    outcomes = list(describe_all(listed({suffix: tmp_path / f"x.{suffix}" for suffix in originals}), STANDARD_FRAMES))
    assert [mutants.judge(outcome) for outcome in outcomes] == ["described"] * len(originals)


@pytest.mark.slow
def test_each_kind_of_damage_changes_the_file(mutants, originals):
    rng = np.random.default_rng(0)
    for damage in mutants.KINDS.values():
        data = originals["flac"][0]
        assert sum(damage(data, originals["wav"][1], rng) != data for _ in range(5)) >= 4


@pytest.mark.slow
def test_a_hundred_damaged_files_are_described_or_fail_in_one_line(mutants, originals, tmp_path):
    files = listed(mutants.write_mutants(tmp_path, originals, count=108, seed=1))
    outcomes = list(describe_all(files, STANDARD_FRAMES, n_jobs=2, limit_s=60.0))
    assert len(outcomes) == 108
    for file, outcome in zip(files, outcomes, strict=True):
        if isinstance(outcome, Failure):
            assert outcome.path == file.path
            assert outcome.error.isprintable(), file.identifier
            assert "took more than" not in outcome.error, file.identifier
        else:
            covariance = np.zeros((31, 31))
            covariance[np.triu_indices(31)] = outcome.row[31:-1]
            covariance += np.triu(covariance, 1).T
            assert np.isfinite(outcome.row).all(), file.identifier
            np.linalg.cholesky(covariance)  # raises if it is not positive definite
    assert {type(outcome) for outcome in outcomes} == {Described, Failure}
