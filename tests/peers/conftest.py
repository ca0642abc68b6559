"""Tasks for methods: small, fully judged synthetic collections."""

import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.measures.measure import parse_measure
from audiosim.peers.task import Task
from audiosim.simulation import Design, synthetic_collection


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
