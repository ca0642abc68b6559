"""The pool of a collection's runs, compared with loops over the runs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import BINARY, Run
from audiosim.errors import InputError


def collection_of(*rankings, cutoff=3):
    runs = tuple(Run("ABCDEF"[i], ranking) for i, ranking in enumerate(rankings))
    return Collection("made", "made up", BINARY, cutoff, runs)


def by_loops(collection, cutoff):
    """The pairs in the order of their first occurrence in the runs, and a table of ranks, 0 where not retrieved."""
    pairs, cells = [], {}
    for a, run in enumerate(collection.runs):
        for query, documents in run.rankings.items():
            for rank, document in enumerate(documents, start=1):
                if rank <= cutoff:
                    if (query, document) not in pairs:
                        pairs.append((query, document))
                    cells[a, pairs.index((query, document))] = rank
    table = np.zeros((len(collection.runs), len(pairs)), dtype=int)
    for cell, rank in cells.items():
        table[cell] = rank
    return pairs, table


documents = st.lists(st.sampled_from("abcde"), unique=True, max_size=5).map(tuple)
rankings = st.lists(st.tuples(st.sampled_from("pqr"), documents), unique_by=lambda item: item[0], max_size=3).map(dict)


@pytest.mark.slow
@given(st.lists(rankings, min_size=1, max_size=5), st.integers(1, 6))
def test_pairs_and_ranks_are_those_of_the_runs(drawn, cutoff):
    collection = collection_of(*drawn)
    pairs, table = by_loops(collection, cutoff)
    if not pairs:
        with pytest.raises(InputError, match="collection made: no run retrieves anything"):
            build_pool(collection, cutoff)
        return
    pool = build_pool(collection, cutoff)
    assert list(pool.pairs) == pairs
    assert pool.positions == {pair: place for place, pair in enumerate(pairs)}
    np.testing.assert_array_equal(pool.ranks.toarray(), table)
    np.testing.assert_array_equal(pool.retrieved.toarray(), table > 0)
    assert pool.ranks.has_sorted_indices
    assert [pool.queries[code] for code in pool.query] == [query for query, _ in pairs]


def test_runs_and_rankings_without_documents_leave_their_rows_empty():
    pool = build_pool(collection_of({}, {"q": (), "p": ("b", "a")}, {"p": ()}, {"p": ("a", "c", "b", "d")}, {}))
    assert pool.pairs == (("p", "b"), ("p", "a"), ("p", "c"))
    assert pool.ranks.toarray().tolist() == [[0, 0, 0], [1, 2, 0], [0, 0, 0], [3, 1, 2], [0, 0, 0]]
    assert pool.queries == ("q", "p")


@pytest.mark.parametrize("drawn", [[{}], [{"q": ()}], [{}, {"p": (), "q": ()}]])
def test_runs_that_retrieve_nothing_at_all_have_no_pool(drawn):
    with pytest.raises(InputError, match="collection made: no run retrieves anything"):
        build_pool(collection_of(*drawn))
