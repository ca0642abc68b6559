"""Contract of peers, as checks that name violations in words.

With any budget, including none and all, a peer returns a StatedRanking of the systems of its task: finite scores and
differences, half widths of 0 or more, confidences from 1/2 to 1, with NaN for all values that it does not state. It
never exceeds the grader's budget. The same draws give the same statement, and the task is not modified.
"""

import numpy as np

from audiosim.collection.pool import Pool
from audiosim.errors import InputError
from audiosim.measures.measure import Measure
from peers.comparison import ask_peer
from peers.statement import StatedRanking
from peers.task import Grader, Peer, Task

SHARES = (0.0, 0.05, 0.3, 1.0)  # shares of the pool that are judged


def check_peer(peer: Peer, name: str, measure: Measure, pool: Pool, rng: np.random.Generator) -> None:
    """Check a peer against its contract; an InputError names the violation.

    name     its installed name
    measure  a weighted sum of gains, such as CG@5
    pool     at least two systems; grades are drawn for its pairs
    rng      generator for the grades and for the peer's draws
    """
    size = len(pool.pairs)
    task = Task(measure, pool, tuple(rng.permutation(size).tolist()))
    gains, seed = rng.choice(pool.scale.levels, size) / pool.scale.maximum, int(rng.integers(2**32))
    weights = task.weights.toarray()
    for share in SHARES:
        said = [_said(name, peer, task, Grader(gains.copy(), round(share * size)), seed) for _ in range(2)]
        _check_equal(name, *said)
        if not np.array_equal(task.weights.toarray(), weights):
            raise InputError(f"peer {name} changes the weights of its task")


def _said(name: str, peer: Peer, task: Task, grader: Grader, seed: int) -> StatedRanking:
    return ask_peer(name, peer, task, grader, np.random.default_rng(seed))


def _check_equal(name: str, first: StatedRanking, second: StatedRanking) -> None:
    for field in ("scores", "half", "differences", "half_differences", "confidence"):
        if not np.array_equal(getattr(first, field), getattr(second, field), equal_nan=True):
            raise InputError(f"peer {name}: the same draws give different {field}")
