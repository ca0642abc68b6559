"""A method of ranking systems: by the judged documents that they put first."""

import numpy as np

from audiosim.peers.statement import StatedRanking, order_alone
from audiosim.peers.task import Grader, Task


def firsts(task: Task, grader: Grader, rng: np.random.Generator) -> StatedRanking:
    """Mean gain of what each system put first and somebody judged; 1/2 where nothing was."""
    first = task.pool.ranks.toarray() == 1
    places = rng.permutation(np.flatnonzero(first.any(axis=0)))[: grader.budget]
    gains = grader(places)
    counts = first[:, places].sum(axis=1)
    return order_alone(np.where(counts, first[:, places] @ gains / np.maximum(counts, 1), 0.5))
