"""The fully judged part of a collection."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from audiosim.collection.check import complete_part
from audiosim.collection.collection import Collection
from audiosim.collection.values import BINARY, Judgment, Run
from audiosim.errors import InputError


def collection_of(holes, size=(4, 5)):
    """Systems that retrieve, for each query, one own and one common document; some own ones are not judged."""
    systems, queries = size
    runs = tuple(Run(f"S{s}", {f"q{q}": ("all", f"own {s}", "deep") for q in range(queries)}) for s in range(systems))
    pairs = [(f"q{q}", f"own {s}") for s, q in product(range(systems), range(queries)) if (s, q) not in holes]
    judged = [*pairs, *((f"q{q}", "all") for q in range(queries))]
    return Collection("c", "c", BINARY, 2, runs, judgments=tuple(Judgment(*pair, 1.0) for pair in judged))


def test_one_bad_query_and_one_bad_system_are_left_out_and_counted(caplog):
    with caplog.at_level("INFO", "audiosim.notes"):
        part = complete_part(collection_of({(0, 1), (1, 1), (2, 1), (3, 1), (3, 0), (3, 2), (3, 4)}), 2)
    assert caplog.messages == ["complete down to rank 2: 3 of 4 systems and 4 of 5 queries; without S3"]
    assert [run.system for run in part.runs] == ["S0", "S1", "S2"]
    assert {query for run in part.runs for query in run.rankings} == {"q0", "q2", "q3", "q4"}
    assert {judgment.query for judgment in part.judgments} == {"q0", "q2", "q3", "q4"}


def test_what_is_complete_stays_as_it_is(caplog):
    whole = collection_of(set())
    with caplog.at_level("INFO", "audiosim.notes"):
        assert complete_part(whole, 2).runs == whole.runs
    assert caplog.messages == ["complete down to rank 2: 4 of 4 systems and 5 of 5 queries"]


def test_nothing_complete_is_an_error():
    with pytest.raises(InputError, match=r"^c: no system is judged down to rank 3 for any query$"):
        complete_part(collection_of(set()), 3)
    with pytest.raises(InputError, match="no system is judged"):
        complete_part(replace(collection_of(set()), judgments=()), 1)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_left_has_no_hole_and_all_of_what_could_stay(seed):
    rng = np.random.default_rng(seed)
    holes = {(s, q) for s, q in product(range(4), range(5)) if rng.random() < 0.2}
    part = complete_part(collection_of(holes), 2)
    judged = {judgment.pair for judgment in part.judgments}
    for run in part.runs:
        assert all((query, one) in judged for query, documents in run.rankings.items() for one in documents[:2])
    kept_systems = {int(run.system[1:]) for run in part.runs}
    kept_queries = {int(query[1:]) for run in part.runs for query in run.rankings}
    assert not holes & set(product(kept_systems, kept_queries))
