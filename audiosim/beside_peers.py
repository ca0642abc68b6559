"""Comparison of audiosim with other methods, as a Python function."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from audiosim.collection.arguments import as_collection, judgments_second
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.functions import start_loop
from audiosim.joint.estimators import JOINT
from audiosim.measures.measure import Measure
from audiosim.peers.honesty import Honesty, compare_methods, usual_budgets
from audiosim.peers.task import Peer
from audiosim.plugins import find_measure, find_peers, make_estimator
from audiosim.ranking import Selection
from audiosim.report.screen import progress
from audiosim.simulation import Trial, draw_parts


@judgments_second
def honesty(
    collection: object,
    model: str | None = None,
    measure: str | Measure = "CG",
    *,
    peers: str | Mapping[str, Peer] = "all",
    budgets: Sequence[int] | None = None,
    repeats: int = 8,
    queries: int | None = None,
    seed: int = 0,
    jobs: int = 1,
    keep: Path | None = None,
    judgments: object = None,
    scheduler: str | None = None,
) -> Honesty:
    """Compare audiosim and other methods with the truth, on random parts of a judged collection; `simulate --peers`.

    peers    names joined by commas, `all` for all that are installed, or functions by name
    budgets  numbers of judged pairs; None: 50, 100, 200 and 400, as far as the parts are large enough
    repeats  number of parts
    keep     folder for results, from which an interrupted run continues
    scheduler  address of a Dask cluster that plays instead of processes here
    """
    collection = as_collection(collection, judgments)
    measure = find_measure(measure, collection.cutoff) if isinstance(measure, str) else measure
    chosen = find_peers(peers)[0] if isinstance(peers, str) else peers
    parts = draw_parts(collection, repeats, np.random.default_rng(seed), queries, held_out="queries")
    trial = Trial(collection, partial(_begun, model or JOINT, measure, seed))
    budgets = usual_budgets(collection, parts, measure.cutoff) if budgets is None else budgets
    with progress("comparing") as show:
        return compare_methods(trial, parts, chosen, budgets, seed, jobs, keep, show, scheduler)


def _begun(model: str, measure: Measure, seed: int, part: Collection, _: object) -> Selection:
    pool = build_pool(part, measure.cutoff)
    return start_loop(
        pool, make_estimator(pool, model), measure, batch=20, selection_rule=None, seed=seed, distribution="t"
    )
