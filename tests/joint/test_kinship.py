"""Kinship, for collections made to share rankings, systems, documents, or only names."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.collection.values import BROAD, Document
from audiosim.joint.estimators import estimator_of
from audiosim.joint.prior import carried_to, kinship_of
from audiosim.ordinal.model import KEPT, Sketch, documents_of, load_model, places_of, source_of
from audiosim.ranking.expected import estimate
from audiosim.simulation.trials import draw_parts
from benchmarks.synthetic import Design, synthetic_collection

SIZES = Design(8, 4, 24, 5, 30)


@pytest.fixture(scope="module")
def known():
    """A collection that a model learned from, in a folder called `round`."""
    return replace(synthetic_collection(np.random.default_rng(3), SIZES), identifier="round")


@pytest.fixture(scope="module")
def source(known):
    pool = build_pool(known)
    return source_of(pool, pool.spread(known.grades()))


def test_a_source_has_the_hash_of_every_grade_and_of_what_is_not_judged(known):
    pool = build_pool(known)
    grades = pool.spread(known.grades())
    grades[3] = np.nan
    written = json.dumps([None if place == 3 else grade for place, grade in enumerate(grades.tolist())])
    found = source_of(pool, grades)
    assert found.judgments == hashlib.sha256(written.encode()).hexdigest()
    assert found.judged == len(grades) - 1


def kinship(collection, source, cutoff=None):
    return kinship_of(build_pool(collection, cutoff), [source])


def renamed(collection, mark, systems=False, documents=False):
    """The collection with other names for queries, and for systems and documents if requested."""

    def of(name, change):
        return f"{mark}{name}" if change else name

    runs = tuple(
        replace(
            run,
            system=of(run.system, systems),
            rankings={
                mark + query: tuple(of(document, documents) for document in ranking)
                for query, ranking in run.rankings.items()
            },
        )
        for run in collection.runs
    )
    teams = {of(system, systems): team for system, team in collection.teams.items()}
    known = {
        of(name, documents): replace(one, identifier=of(name, documents)) for name, one in collection.documents.items()
    }
    queries = {mark + query: of(collection.query_document(query), documents) for query in collection.runs[0].rankings}
    return replace(collection, runs=runs, teams=teams, documents=known, query_documents=queries, judgments=())


def test_a_part_of_the_same_rankings_is_home_whatever_it_is_called_and_in_whatever_order(known, source):
    assert kinship(replace(known, identifier="m11", name="another"), source) == "home"
    assert kinship(replace(known, runs=known.runs[::-1], judgments=()), source) == "home"
    assert kinship(replace(known, runs=known.runs[:3]), source) == "home"
    assert kinship(known, source, cutoff=2) == "home"
    backwards = [replace(run, rankings=dict(reversed(list(run.rankings.items())[5:20]))) for run in known.runs]
    assert kinship(replace(known, runs=tuple(backwards)), source) == "home"
    other_names = [replace(run, system=f"system {place}") for place, run in enumerate(known.runs)]
    assert kinship(replace(known, runs=tuple(other_names), teams={}), source) == "home"


def test_foreign_rankings_are_not_believed_under_a_known_name(known, source):
    drawn = synthetic_collection(np.random.default_rng(4), SIZES)  # by the same names of queries and documents
    strange = replace(drawn, identifier="round", name=known.name)
    assert {run.system for run in strange.runs} == {run.system for run in known.runs}
    assert kinship(replace(strange, documents={}), source) == "stranger"
    assert kinship(renamed(known, "x", documents=True), source) == "stranger"


def test_the_same_systems_and_documents_on_other_queries_are_kin(known, source):
    other = renamed(known, "next ")
    assert kinship(other, source) == "systems"
    assert kinship(replace(other, scale=BROAD), source) == "edition"
    assert kinship(renamed(known, "next ", systems=True), source) == "edition"
    described = {name: Document(name, "someone else", "another genre") for name in known.documents}
    assert kinship(replace(other, documents=described, not_artists=frozenset()), source) == "stranger"


@pytest.mark.slow
def test_an_edition_is_what_is_said_to_be_one(known, source):
    strange = renamed(known, "next ", documents=True)
    assert kinship(replace(strange, edition_of="round"), source) == "systems"
    assert kinship(replace(renamed(strange, "", systems=True), edition_of="round"), source) == "systems"
    assert kinship(replace(renamed(known, "y", True, True), edition_of="round"), source) == "edition"
    assert kinship(replace(strange, edition_of="a series"), source) == "stranger"
    assert kinship(replace(strange, edition_of="a series"), replace(source, edition_of="a series")) == "systems"
    assert kinship(strange, replace(source, edition_of=strange.identifier)) == "systems"


def test_of_several_collections_the_nearest_counts(known, source):
    strange = source_of(build_pool(renamed(known, "z", True, True)), np.full(1, np.nan))
    assert kinship_of(build_pool(known), [strange, source]) == "home"
    assert kinship_of(build_pool(known), []) == "stranger"


def test_halves_of_a_collection_without_common_documents_are_kin(known):
    # A different document for each query, as with translations.
    runs = tuple(
        replace(
            run,
            rankings={
                query: tuple(f"{query} {document}" for document in ranking) for query, ranking in run.rankings.items()
            },
        )
        for run in known.runs
    )
    whole = replace(known, runs=runs, documents={}, query_documents={})
    part = draw_parts(whole, 1, np.random.default_rng(0), held_out="queries")[0]
    rest = build_pool(part.rest(whole))
    assert kinship(part.of(whole), source_of(rest, np.full(len(rest.pairs), np.nan))) == "systems"


def test_a_file_of_before_knows_home_by_the_whole_pool_alone(known, source):
    before = replace(source, places=None, documents=None)
    assert kinship(replace(known, identifier="m11"), before) == "home"
    assert kinship(replace(known, runs=known.runs[:3]), before) == "stranger"


def test_a_sketch_tells_how_much_of_a_set_is_in_another():
    everything = [f"item {number}" for number in range(20_000)]
    sketch = Sketch.of(everything[:10_000])
    assert (len(sketch.hashes), sketch.whole) == (KEPT, False)
    # Half of these are in it, by some 256 of 10,000: three standard errors of a share are 3 sqrt(.25 / 256).
    assert sketch.containment(everything[5_000:15_000]) == pytest.approx(0.5, abs=0.1)
    assert sketch.containment(everything[:300]) == 1
    assert sketch.containment(everything[10_000:]) == 0
    assert Sketch.of(reversed(everything[:10_000])) == sketch
    assert Sketch.of(["a", "b"]).containment(["b", "c"]) == 0.5
    assert Sketch.of([]).containment(["a"]) == Sketch.of(["a"]).containment([]) == 0


def test_places_and_documents_are_those_of_the_lists(tiny):
    pool = build_pool(tiny)
    expected = set()
    for run in tiny.runs:
        for query, ranking in run.rankings.items():
            top = ranking[: pool.cutoff]
            expected |= {f"{query}\0{one}\0{above}" for one, above in zip(top, ["", *top], strict=False)}
    assert places_of(pool) == expected
    names = {document for run in tiny.runs for ranking in run.rankings.values() for document in ranking[: pool.cutoff]}
    assert documents_of(pool) == {f"{name}\0{tiny.genre(name) or ''}\0{tiny.artist(name) or ''}" for name in names}


def test_what_carries_over_is_what_the_model_says_of_the_kinship(known, source):
    model = load_model("joint-fine")
    training = replace(model.training, collections=(source,))
    model = replace(model, training=training)
    shares = model.between.carried
    other = renamed(known, "next ")
    assert carried_to(build_pool(known), model) == 1
    assert carried_to(build_pool(other), model) == shares["systems"]
    assert carried_to(build_pool(renamed(known, "n", systems=True)), model) == shares["edition"]
    unknown = replace(renamed(known, "n", systems=True), documents={}, edition_of="round")
    assert carried_to(build_pool(unknown), model) == 0  # nothing shows which of its pairs are like the model's
    assert carried_to(build_pool(renamed(known, "n", True, True)), model) == 0
    assert carried_to(build_pool(other), replace(model, training=None)) == 0
    assert carried_to(build_pool(other), replace(model, training=None, between=None)) == 1


def test_kin_have_the_variance_that_does_not_carry_over_about_what_was_learned(known, source):
    model = load_model("joint-fine")
    model = replace(model, training=replace(model.training, collections=(source,)))
    pool = build_pool(renamed(known, "next "))
    kin = estimator_of(pool, model).uncertainty
    left = 1 - model.between.carried["systems"]
    spreads = [model.between.trend[name][1] for name in ("constant", "system_agreement", "consensus", "repetition")]
    np.testing.assert_allclose(kin.covariance, np.array(model.trend.covariance) + left * np.diag(np.square(spreads)))
    size, error = model.components["query"]
    own = max(0.2, error / size)
    assert kin.spread["query"] ** 2 == pytest.approx(own**2 + left * model.between.standard_deviations["query"][1] ** 2)
    assert kin.centre["query"] == size


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3, 6, 12])
def test_intervals_of_a_few_systems_hold_what_all_judgments_say(mirex2011, count):
    # With few systems the quality of their documents is unknown: one found by 1 of 1 might be found by 1 of 18.
    some = tuple(mirex2011.runs[place] for place in np.random.default_rng(0).permutation(18)[:count])
    true = estimate(replace(mirex2011, runs=some)).scores.mean
    found = estimate(replace(mirex2011, runs=some, judgments=()))
    low, high = found.scores.interval()
    assert np.all((low <= true) & (true <= high))
    whole = estimate(replace(mirex2011, judgments=()))
    assert found.scores.variance.mean() > 2 * whole.scores.variance.mean()


@pytest.mark.slow
def test_mirex2011_in_another_folder_gives_the_same_to_the_last_digit(mirex2011, run, tmp_path):
    mirex2011.save(tmp_path / "mirex2011")
    (tmp_path / "mirex2011").rename(tmp_path / "m11")
    mirex2011.save(tmp_path / "mirex2011")
    found = [run("estimate", tmp_path / name, "--judgments", "none") for name in ("m11", "mirex2011")]
    assert found[0][0] == 0
    assert found[0][1] == found[1][1]
