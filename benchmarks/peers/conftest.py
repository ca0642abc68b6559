"""Tasks for methods: small, fully judged synthetic collections."""

import os
import sys
from pathlib import Path

# Before numpy is imported: one thread for matrix products, as in the other tests.
for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.append(str(Path(__file__).resolve().parents[1]))  # last, because benchmarks/service.py is not the service

import numpy as np
import pytest
from synthetic import Design, synthetic_collection

from audiosim import package_files
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.measures.measure import parse_measure
from peers.task import Task


@pytest.fixture(scope="session")
def collection():
    """7 systems of 4 teams, 9 queries, 3 documents each."""
    return synthetic_collection(np.random.default_rng(2), Design(7, 4, 9, 3, 15))


@pytest.fixture(scope="session")
def task(collection):
    pool = build_pool(collection)
    return Task(parse_measure("CG@3"), pool, tuple(np.random.default_rng(4).permutation(len(pool.pairs)).tolist()))


@pytest.fixture(scope="session")
def gains(collection, task):
    return task.pool.spread(collection.grades()) / task.pool.scale.maximum


@pytest.fixture(scope="session")
def demo_pool():
    """The pool of the collection that comes with audiosim, without its judgments."""
    return build_pool(Collection.load(package_files.folder("fixtures") / "demo"))
