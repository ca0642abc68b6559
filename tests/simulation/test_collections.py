from collections import defaultdict
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2, norm

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import BINARY, BROAD, FINE, Scale
from audiosim.errors import InputError
from benchmarks.synthetic import Design, Effects, synthetic_collection

THOUSAND = Scale("thousand", tuple(float(level) for level in range(1001)))
NOTHING = Effects(0, 0, 0, 0, 0, 0, 0, mean=0.5, same_genre=0)
SIZE = 0.05  # of the only effect: 10 times this fits between the mean and either end of the scale
ROUNDING = 0.0005  # half a level


def drawn(design, effects, seed=0, scale=THOUSAND):
    return synthetic_collection(np.random.default_rng(seed), design, effects, scale)


def rows_of(collection):
    """One row per pair: query, document, genre of the query, genre, artist, systems and relevance."""
    systems = defaultdict(set)
    for run in collection.runs:
        for query, documents in run.rankings.items():
            for document in documents:
                systems[query, document].add(run.system)
    for (query, document), grade in collection.grades().items():
        found = collection.documents[document]
        own = collection.documents[query].genre
        yield query, document, own, found.genre, found.artist, systems[query, document], grade / 1000


def assert_deviation(values, size):
    """The sample deviation of normal draws agrees with their distribution, by the chi-square interval of 99.9 %."""
    count = len(values)
    low, high = chi2.ppf([0.0005, 0.9995], count - 1)
    assert low < (count - 1) * np.var(values, ddof=1) / size**2 < high
    assert abs(np.mean(values) - 0.5) < norm.ppf(0.9995) * size / np.sqrt(count)


KEYS = {
    "query": lambda query, document, own, genre, artist: query,
    "query_genre": lambda query, document, own, genre, artist: (query, genre),
    "query_artist": lambda query, document, own, genre, artist: (query, artist),
    "genres": lambda query, document, own, genre, artist: (own, genre),
    "rest": lambda query, document, own, genre, artist: (query, document),
}


@pytest.mark.parametrize("effect", KEYS)
def test_what_pairs_share_has_the_deviation_that_was_asked_for(effect):
    collection = drawn(Design(4, 4, 400, 5, 40), replace(NOTHING, **{effect: SIZE}))
    groups = defaultdict(list)
    for *found, _, relevance in rows_of(collection):
        groups[KEYS[effect](*found)].append(relevance)
    assert all(max(of) == min(of) for of in groups.values())
    assert len(groups) >= 64
    assert_deviation([of[0] for of in groups.values()], SIZE)


@pytest.mark.parametrize(("effect", "systems", "teams"), [("system", 150, 50), ("team", 150, 150), ("team", 120, 60)])
def test_what_a_team_or_a_system_retrieves_has_the_deviation_that_was_asked_for(effect, systems, teams):
    # Relevance is the mean over the teams that retrieved the document: numpy solves this linear system for the effects.
    collection = drawn(Design(systems, teams, 6, 5, 100), replace(NOTHING, **{effect: SIZE}))
    of_unit = {run.system: collection.teams[run.system] if effect == "team" else run.system for run in collection.runs}
    units = sorted(set(of_unit.values()))
    assert len(units) == (teams if effect == "team" else systems)
    shares, relevances = [], []
    for *_, having, relevance in rows_of(collection):
        shares.append([sum(of_unit[system] == unit for system in sorted(having)) / len(having) for unit in units])
        relevances.append(relevance)
    effects, _, rank, _ = np.linalg.lstsq(np.array(shares), np.array(relevances), rcond=None)
    assert rank == len(units)
    assert np.abs(np.array(shares) @ effects - relevances).max() < 2 * ROUNDING
    assert_deviation(effects, SIZE)


def test_documents_of_the_query_s_genre_are_more_relevant_by_what_was_asked_for():
    rows = list(rows_of(drawn(Design(5, 3, 40, 5, 30), replace(NOTHING, mean=0.3, same_genre=0.25))))
    assert {relevance for _, _, own, genre, *_, relevance in rows if own == genre} == {0.55}
    assert {relevance for _, _, own, genre, *_, relevance in rows if own != genre} == {0.3}


@pytest.mark.slow
def test_effects_add_up():
    effects = Effects(0.03, 0.02, 0.03, 0.04, 0.05, 0.02, 0.06, mean=0.5, same_genre=0)
    values = [row[-1] for row in rows_of(drawn(Design(60, 60, 600, 2, 60), effects))]
    # A document retrieved by m teams has the mean of m effects, with a variance between 0 and the full one.
    alone = 0.03**2 + 0.02**2 + 0.03**2 + 0.04**2 + 0.06**2
    assert 0.9 * alone < np.var(values) < 1.1 * (alone + 0.05**2 + 0.02**2)


@pytest.mark.parametrize("scale", [FINE, BROAD, BINARY, Scale("odd", (0.0, 1.0, 5.0, 6.0))])
@pytest.mark.parametrize("mean", [-1.0, 0.0, 0.2, 0.4, 0.51, 0.76, 0.9, 1.0, 2.0])
def test_grades_are_the_levels_nearest_to_the_relevance(scale, mean):
    collection = drawn(Design(2, 2, 3, 2, 5), replace(NOTHING, mean=mean), scale=scale)
    nearest = min(scale.levels, key=lambda level: abs(level - mean * scale.maximum))
    assert {judgment.grade for judgment in collection.judgments} == {nearest}


def test_what_is_retrieved_does_not_depend_on_the_effects():
    design = Design(7, 3, 12, 4, 20)
    plain, wild = (drawn(design, effects, 3, scale) for effects, scale in ((NOTHING, BROAD), (Effects(query=1), FINE)))
    assert [run.rankings for run in plain.runs] == [run.rankings for run in wild.runs]
    assert plain.documents == wild.documents


def test_the_same_seed_gives_the_same_collection_and_another_one_another():
    def everything(seed):
        found = drawn(Design(4, 2, 5, 3, 9), Effects(), seed)
        return found.runs, found.judgments, found.documents, found.teams

    assert everything(1) == everything(1)
    assert everything(1) != everything(2)


def test_systems_of_a_team_retrieve_more_of_the_same_than_others():
    collection = drawn(Design(12, 4, 50, 5, 60), Effects())
    shared = defaultdict(list)
    for a, b in combinations(collection.runs, 2):
        same = collection.teams[a.system] == collection.teams[b.system]
        shared[same] += [len({*a.rankings[q]} & {*b.rankings[q]}) for q in a.rankings]
    assert np.mean(shared[True]) > 1.5 * np.mean(shared[False])
    assert np.mean(shared[False]) > 5 * 5 / 60  # more than by chance: they agree on popular documents


def test_systems_prefer_the_genre_of_the_query():
    rows = list(rows_of(drawn(Design(6, 3, 60, 5, 60), Effects())))
    assert np.mean([own == genre for _, _, own, genre, *_ in rows]) > 2 / 8


def test_every_pair_of_the_pool_is_judged_once_and_no_query_is_retrieved():
    design = Design(9, 4, 30, 6, 25)
    collection = drawn(design, Effects(), scale=FINE)
    pool = build_pool(collection)
    assert sorted(judgment.pair for judgment in collection.judgments) == sorted(pool.pairs)
    assert not np.isnan(pool.spread(collection.grades())).any()
    retrieved = {document for run in collection.runs for ds in run.rankings.values() for document in ds}
    queries = {f"d{q}" for q in range(30)}
    assert not retrieved & queries
    assert all(set(run.rankings) == queries for run in collection.runs)
    assert {len(ds) for run in collection.runs for ds in run.rankings.values()} == {6}


def test_a_design_is_kept(tmp_path):
    collection = drawn(Design(9, 4, 30, 6, 25), Effects(), scale=FINE)
    assert (len(collection.runs), collection.cutoff, collection.scale) == (9, 6, FINE)
    assert sorted(np.unique(list(collection.teams.values()), return_counts=True)[1]) == [2, 2, 2, 3]
    genre_of = defaultdict(set)
    for document in collection.documents.values():
        genre_of[document.artist].add(document.genre)
    assert {len(genres) for genres in genre_of.values()} == {1}
    collection.save(tmp_path / "saved")
    again = Collection.load(tmp_path / "saved")
    assert again.runs == collection.runs
    assert again.judgments == collection.judgments
    assert build_pool(again).content_hash == build_pool(collection).content_hash


def test_systems_that_take_every_candidate_are_possible():
    collection = drawn(Design(1, 1, 1, 5, 5), Effects(), scale=BINARY)
    assert len(collection.judgments) == 5


@pytest.mark.parametrize(
    "sizes",
    [
        {"teams": 19},
        {"teams": 0},
        {"systems": 0, "teams": 0},
        {"queries": 0},
        {"cutoff": 0},
        {"cutoff": 6, "candidates": 5},
    ],
)
def test_a_design_that_is_none_is_refused(sizes):
    message = "^a collection needs teams <= systems and cutoff <= candidates, all at least 1, got Design"
    with pytest.raises(InputError, match=message):
        Design(**sizes)


@pytest.mark.parametrize("effect", ["query", "query_genre", "query_artist", "genres", "team", "system", "rest"])
@pytest.mark.parametrize("size", [-0.1, float("nan"), float("inf")])
def test_a_deviation_that_is_none_is_refused(effect, size):
    with pytest.raises(InputError, match="^standard deviations of effects must be finite and 0 or more, got Effects"):
        Effects(**{effect: size})
