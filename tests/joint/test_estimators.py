from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import BINARY, BROAD, FINE, Document, Run, parse_scale
from audiosim.errors import InputError
from audiosim.joint.contract import check_estimator
from audiosim.joint.estimators import estimator_of, make_estimator, uniform
from audiosim.joint.independent import OrdinalEstimator
from audiosim.joint.model import JointEstimator
from audiosim.joint.posterior import Belief
from audiosim.joint.predictions import prediction_rows
from audiosim.ordinal.features import FEATURES
from audiosim.ordinal.model import Model, load_model
from audiosim.training.examples import levels_of


@pytest.fixture
def pool(tiny):
    return build_pool(tiny)


def nothing_judged(pool):
    return np.full(len(pool.pairs), np.nan)


@pytest.mark.parametrize("name", ["joint", "uniform", "historical", "mout", "mjud", "loutput", "ljudge", "mout-fine"])
def test_every_built_in_estimator_keeps_the_contract(pool, name):
    check_estimator(make_estimator, name, pool, np.random.default_rng(1))


def test_a_pair_with_an_unknown_feature_falls_back_and_says_so(pool):
    # e and f have no genre; nothing is judged, so mjud has no data.
    prediction = make_estimator(pool, "mjud").predict(nothing_judged(pool))
    named = [prediction.models[code] for code in prediction.model]
    assert named == ["mout-fine"] * 3 + ["historical-fine"] + ["mout-fine"] * 2 + ["historical-fine"]
    assert prediction.expectation[3] == pytest.approx(43.41, abs=1e-3)


def test_judgments_bring_the_better_model_in_where_its_features_are_known(pool):
    grades = nothing_judged(pool)
    grades[0] = 90
    prediction = make_estimator(pool, "mjud").predict(grades)
    assert [prediction.models[code] for code in prediction.model][4] == "mjud-fine"
    # c: fSYS 1/3, aSYS the mean grade of B's judged documents, aART the grade of a.
    table = {"fSYS": np.array([1 / 3]), "aSYS": np.array([90.0]), "aART": np.array([90.0])}
    np.testing.assert_allclose(
        prediction.probabilities[4], load_model("mjud-fine").probabilities(table, 1)[0], rtol=1e-12
    )


def test_judged_pairs_are_certain_in_units_of_gain(pool):
    grades = nothing_judged(pool)
    grades[1] = 60
    moments = uniform(pool).predict(grades).gains
    assert (moments.mean[1], moments.variance[1]) == (0.6, 0)
    assert moments.mean[0] == pytest.approx(0.5)
    assert moments.variance[0] == pytest.approx(0.0850)


def drawn(levels, grades, maximum):
    """Belief with made-up level probabilities, about as many pairs as grades."""
    probabilities = np.random.default_rng(6).dirichlet(np.ones(len(levels)), len(grades))
    return Belief.independent(np.array(levels), probabilities, np.array(grades), maximum, ("drawn",))


@pytest.mark.parametrize("gain", [lambda grade: grade, lambda grade: 2**grade - 1, lambda grade: grade**0.5])
def test_moments_of_gains_are_those_of_scipy_s_discrete_distributions(gain):
    known = drawn([1.0, 2.0, 5.0], [np.nan, 3.0, np.nan, 0.0, 6.0], 6.0)
    found, highest = known.gains_as(gain), gain(6.0)
    for place, grade in enumerate(known.grades):
        if np.isnan(grade):
            values = gain(np.array([1.0, 2.0, 5.0])) / highest
            one = stats.rv_discrete(values=(range(3), known.probabilities[place]))
            mean = one.expect(lambda level, values=values: values[level.astype(int)])
            square = one.expect(lambda level, values=values: values[level.astype(int)] ** 2)
            assert (found.mean[place], found.variance[place]) == pytest.approx((mean, square - mean**2), rel=1e-9)
        else:
            assert (found.mean[place], found.variance[place]) == pytest.approx((gain(grade) / highest, 0))


def test_a_linear_gain_is_the_grade_over_the_highest():
    known = drawn([1.0, 2.0, 5.0], [np.nan, 3.0, np.nan], 6.0)
    linear = known.gains_as(lambda grade: grade)
    np.testing.assert_allclose(known.gains.mean, linear.mean, rtol=1e-14)
    np.testing.assert_allclose(known.gains.variance, linear.variance, rtol=1e-12)


def test_a_judgment_replaces_the_prediction_until_it_is_taken_back():
    before = drawn([1.0, 2.0, 5.0], [np.nan, 3.0], 6.0)
    after = before.condition(0, 6.0)
    assert (after.gains.mean[0], after.gains.variance[0], after.judged.tolist()) == (1, 0, [True, True])
    assert before.judged.tolist() == [False, True]
    back = after.revise(before.grades)
    np.testing.assert_array_equal(back.gains.mean, before.gains.mean)
    np.testing.assert_array_equal(back.gains.variance, before.gains.variance)


def test_the_uniform_estimator_works_on_any_scale(tiny):
    pool = build_pool(replace(tiny, scale=parse_scale([0, 1, 5])))
    prediction = uniform(pool).predict(nothing_judged(pool))
    np.testing.assert_allclose(prediction.expectation, 2, rtol=1e-12)
    np.testing.assert_allclose(prediction.variance, 14 / 3, rtol=1e-12)


@pytest.mark.parametrize("scale", [FINE, BROAD, BINARY, parse_scale([0, 1, 5])])
def test_the_default_model_is_joint_on_every_scale(tiny, scale):
    pool = build_pool(replace(tiny, scale=scale, judgments=()))
    found = make_estimator(pool, None)
    assert isinstance(found, JointEstimator)
    assert found.name == f"joint-{scale.name}"
    np.testing.assert_array_equal(found.predict(nothing_judged(pool)).levels, levels_of(scale))
    check_estimator(make_estimator, None, pool, np.random.default_rng(0))


def test_models_of_different_levels_do_not_stand_in_for_each_other(pool):
    with pytest.raises(InputError, match="models mout-fine, historical-broad differ in their levels"):
        OrdinalEstimator(pool, (load_model("mout-fine"), load_model("historical-broad")))


def test_an_estimator_that_could_leave_pairs_over_is_refused(pool):
    with pytest.raises(InputError, match="model mout-fine needs features that may be unknown, and names no fallback"):
        OrdinalEstimator(pool, (load_model("mout-fine"),))


def test_a_model_file_of_one_s_own_is_an_estimator(pool, tmp_path):
    from audiosim.ordinal.model import save_model

    save_model(load_model("loutput-fine"), tmp_path / "mine.json")
    mine = make_estimator(pool, str(tmp_path / "mine.json")).predict(nothing_judged(pool))
    np.testing.assert_array_equal(
        mine.probabilities, estimator_of(pool, "loutput").predict(nothing_judged(pool)).probabilities
    )


def test_an_unknown_estimator_is_refused_with_the_names_there_are(pool):
    with pytest.raises(
        InputError, match="unknown model 'mouth', expected a .json file or one of historical, .*, remote, uniform"
    ):
        make_estimator(pool, "mouth")


def test_predictions_turn_into_rows(pool):
    row = prediction_rows(uniform(pool).predict(nothing_judged(pool)), pool.pairs, [4])[0]
    assert (row["query"], row["document"], row["model"]) == ("q1", "c", "uniform")
    assert len(row["probabilities"]) == 101


def learned_models(terms=("aDOC", "aSYS:oSYS", "aGEN")):
    """A model of many judgment features, with its fallbacks."""
    coefficients = {"aDOC": 0.02, "aSYS:oSYS": 0.0003, "aGEN": 0.01, "aART": 0.03}

    def model(name, terms, fallback):
        levels, thresholds = tuple(np.arange(5.0, 100, 10)), tuple(np.linspace(1, -6, 9))
        chosen = tuple(coefficients[term] for term in terms)
        return Model(name, "fine", levels, tuple(terms), chosen, thresholds, fallback, "made up")

    return model("mine", terms, "less"), model("less", ["aART"], "none"), model("none", [], None)


def test_a_model_whose_features_are_not_at_hand_is_refused(pool):
    with pytest.raises(InputError, match="unknown feature 'aDOC', expected one of fSYS"):
        OrdinalEstimator(pool, learned_models(), {"fSYS": FEATURES["fSYS"]})


# Thirds arise if three assessors judge a pair; None: the estimator serves another campaign.
GRADES = st.one_of(st.none(), st.integers(0, 300).map(lambda thirds: thirds / 3))


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 11), GRADES), max_size=12), st.booleans())
def test_a_prediction_does_not_depend_on_what_was_predicted_before(pool_of_many, judgments, published):
    pool = pool_of_many

    def fresh():
        return make_estimator(pool, "mjud") if published else OrdinalEstimator(pool, learned_models())

    estimator, grades = fresh(), nothing_judged(pool)
    for index, grade in judgments:
        grades[index] = np.nan if grade is None else grade
        estimator.predict(grades)
    expected = fresh().predict(grades)
    prediction = estimator.predict(grades)
    np.testing.assert_allclose(prediction.probabilities, expected.probabilities, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(prediction.model, expected.model)


@pytest.fixture(scope="module")
def pool_of_many():
    """Six documents for each of two queries, by two systems and two artists."""
    documents = {f"d{i}": Document(f"d{i}", "XY"[i % 2], "rock" if i % 3 else None) for i in range(9)}
    first, second = tuple(f"d{i}" for i in range(6)), tuple(f"d{i}" for i in range(3, 9))
    runs = (Run("A", {"q": first[:5], "r": second[:4]}), Run("B", {"q": first[1:], "r": second[1:]}))
    return build_pool(Collection("many", "many", FINE, 5, runs, documents))


def test_an_earlier_prediction_stays_what_it_was(pool):
    estimator = OrdinalEstimator(pool, learned_models())
    grades = nothing_judged(pool)
    first = estimator.predict(grades)
    before = first.probabilities.copy(), first.model.copy()
    grades[[0, 3]] = 90, 70
    estimator.predict(grades)
    np.testing.assert_array_equal(first.probabilities, before[0])
    np.testing.assert_array_equal(first.model, before[1])


def test_nobody_can_write_into_a_prediction(pool):
    prediction = make_estimator(pool, "mjud").predict(nothing_judged(pool))
    with pytest.raises(ValueError, match="read-only"):
        prediction.probabilities[0] = 0


@pytest.mark.slow
def test_threads_share_an_estimator(pool):
    rng = np.random.default_rng(5)
    states = [np.where(rng.random(7) < 0.5, rng.integers(0, 101, 7), np.nan) for _ in range(60)]
    shared = OrdinalEstimator(pool, learned_models())
    with ThreadPoolExecutor(8) as threads:
        predictions = list(threads.map(shared.predict, states))
    for grades, prediction in zip(states, predictions, strict=True):
        expected = OrdinalEstimator(pool, learned_models()).predict(grades)
        np.testing.assert_allclose(prediction.probabilities, expected.probabilities, rtol=0, atol=1e-12)


class Broken:
    """An estimator with one breakable part."""

    name = "broken"

    def __init__(self, pool, change):
        self.inner, self.change = uniform(pool), change
        self.calls = 0

    def predict(self, grades):
        self.calls += 1
        return self.change(self.inner.predict(grades), grades, self.calls)


def altered(belief, **changes):
    parts = {
        name: getattr(belief, name) for name in ("levels", "probabilities", "grades", "maximum", "models", "model")
    }
    return Belief.independent(**(parts | changes))


def leaning(prediction, grades):
    probabilities = prediction.probabilities.copy()
    judged = np.flatnonzero(~np.isnan(grades))
    probabilities[judged] = 0
    probabilities[judged, grades[judged].astype(int)] = 1
    return altered(prediction, probabilities=probabilities)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p, g, n: altered(p, levels=p.levels[::-1]), "broken: levels must rise within the scale, got"),
        (
            lambda p, g, n: altered(p, probabilities=p.probabilities[1:], model=p.model[1:], grades=g[1:]),
            r"broken: there must be a row for each of 7 pairs, got \(6, 101\)",
        ),
        (
            lambda p, g, n: altered(p, probabilities=p.probabilities * 2),
            "broken: each row of probabilities must be 0 or more and sum to 1",
        ),
        (
            lambda p, g, n: altered(p, probabilities=p.probabilities * np.nan),
            "broken: each row of probabilities must be 0 or more and sum to 1",
        ),
        (lambda p, g, n: altered(p, model=p.model + 1), "broken: each of 7 pairs must name one of the models uniform"),
        (
            lambda p, g, n: altered(p, probabilities=np.roll(np.eye(7, 101), n, 1)),
            "broken: two predictions from the same judgments differ",
        ),
        (lambda p, g, n: leaning(p, g), "broken: a pair's own judgment changes its own prediction"),
    ],
)
def test_a_foreign_estimator_is_told_what_it_does_wrong(pool, change, message):
    with pytest.raises(InputError, match=message):
        check_estimator(lambda pool, _: Broken(pool, change), "", pool, np.random.default_rng(2))
