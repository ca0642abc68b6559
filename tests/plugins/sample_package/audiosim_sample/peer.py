"""A method of ranking systems: by their judged documents at rank 1."""

import numpy as np

from audiosim.peers.statement import StatedRanking, order_alone
from audiosim.peers.task import Grader, Task


def firsts(task: Task, grader: Grader, rng: np.random.Generator) -> StatedRanking:
    """Mean gain of each system's judged documents at rank 1; 1/2 without any."""
    first = task.pool.ranks.toarray() == 1
    places = rng.permutation(np.flatnonzero(first.any(axis=0)))[: grader.budget]
    gains = grader(places)
    counts = first[:, places].sum(axis=1)
    return order_alone(np.where(counts, first[:, places] @ gains / np.maximum(counts, 1), 0.5))
