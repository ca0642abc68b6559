"""Rankings as codes equal the mappings that they encode."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audiosim.collection.values import Results, Retrieved, Run, coded, on_one_table, retrieved_by
from audiosim.errors import InputError

NAMES = st.sampled_from([f"d{i}" for i in range(12)])
RANKINGS = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3", "q4"]), st.lists(NAMES, unique=True, max_size=8).map(tuple), max_size=4
)


@pytest.mark.slow
@given(RANKINGS)
def test_coded_rankings_are_the_mapping(rankings):
    found = coded(rankings)
    assert dict(found) == rankings
    assert found == rankings
    assert list(found) == list(rankings)
    assert found.lengths.tolist() == [len(documents) for documents in rankings.values()]
    assert dict(pickle.loads(pickle.dumps(found))) == rankings
    with pytest.raises(KeyError):
        found["q9"]


@pytest.mark.slow
@given(st.lists(RANKINGS, min_size=1, max_size=4), st.integers(1, 9) | st.none())
def test_results_are_those_of_all_runs_down_to_the_cutoff(runs, cutoff):
    found = Results.of([Run(str(place), coded(run) if place % 2 else run) for place, run in enumerate(runs)], cutoff)
    expected = [
        (system, query, document, rank)
        for system, run in enumerate(runs)
        for query, documents in run.items()
        for rank, document in enumerate(documents[:cutoff], start=1)
    ]
    place, query, document, rank = (
        column.tolist() for column in (found.system, found.query, found.document, found.rank)
    )
    named = zip(place, (found.queries[q] for q in query), (found.names[d] for d in document), rank, strict=True)
    assert list(named) == expected
    assert found.queries == tuple(dict.fromkeys(query for run in runs for query in run))
    pairs = {(query, document) for _, query, document, _ in expected}
    assert len(set(found.keys.tolist())) == len(pairs)
    assert set(found.documents) == {document for _, document in pairs}
    assert found.finders.tolist() == [
        sum(document in run.get(query, ())[:cutoff] for run in runs) for _, query, document, _ in expected
    ]


@pytest.mark.slow
@pytest.mark.parametrize("largest", [0, 2**20], ids=["sorted", "marked"])
@given(runs=st.lists(RANKINGS, min_size=1, max_size=4))
def test_retrieved_pairs_are_those_of_any_run(largest, runs):
    systems = [Run(str(place), coded(run) if place % 2 else run) for place, run in enumerate(runs)]
    found = Retrieved.of(systems, largest)
    expected = {query: {one for run in runs for one in run.get(query, ())} for run in runs for query in run}
    named = {(found.queries[key // len(found.names)], found.names[key % len(found.names)]) for key in found.keys}
    assert named == {(query, one) for query, some in expected.items() for one in some}
    assert retrieved_by(systems) == expected
    assert found.queries == tuple(dict.fromkeys(query for run in runs for query in run))
    assert found.documents == set().union(*expected.values())
    assert len(found.keys) == sum(map(len, expected.values()))


def test_tables_of_names_become_one():
    first, second = on_one_table([coded({"q1": ("a", "b")}), coded({"q1": ("b", "c")})])
    assert first.names is second.names
    assert (dict(first), dict(second)) == ({"q1": ("a", "b")}, {"q1": ("b", "c")})


def test_a_document_twice_in_coded_rankings_is_refused():
    twice = coded({"q1": ("a", "b"), "q2": ("b", "c", "b")})
    assert twice.repeated == "q2"
    with pytest.raises(InputError, match="system A retrieves a document twice for query q2"):
        Run("A", twice)
