import numpy as np
import pytest

from audiosim.corpus.model import BINARY, BROAD, FINE, parse_scale
from audiosim.corpus.pool import build_pool
from audiosim.errors import InputError
from audiosim.plugins import check_estimator, estimator_factory, make_estimator
from audiosim.relevance.estimators import OrdinalEstimator, default_model, gains, ordinal, uniform
from audiosim.relevance.published import load_model


@pytest.fixture
def pool(tiny):
    return build_pool(tiny)


def nothing_judged(pool):
    return np.full(len(pool.pairs), np.nan)


@pytest.mark.parametrize("name", ["uniform", "historical", "mout", "mjud", "loutput", "ljudge", "mout-fine"])
def test_every_built_in_estimator_keeps_the_contract(pool, name):
    check_estimator(*estimator_factory(name), pool, np.random.default_rng(1))


def test_a_pair_with_an_unknown_feature_falls_back_and_says_so(pool):
    # e and f have no genre; nothing is judged, so mjud knows nobody.
    prediction = make_estimator(pool, "mjud").predict(nothing_judged(pool))
    named = [prediction.models[code] for code in prediction.model]
    assert named == ["mout-fine"] * 3 + ["historical-fine"] + ["mout-fine"] * 2 + ["historical-fine"]
    assert prediction.expectation[3] == pytest.approx(43.41, abs=1e-3)


def test_judgments_bring_the_better_model_in_where_its_features_are_known(pool):
    grades = nothing_judged(pool)
    grades[0] = 90
    prediction = make_estimator(pool, "mjud").predict(grades)
    assert [prediction.models[code] for code in prediction.model][4] == "mjud-fine"
    # c: fSYS 1/3, aSYS the mean of what B retrieved and is judged, aART the grade of a.
    table = {"fSYS": np.array([1 / 3]), "aSYS": np.array([90.0]), "aART": np.array([90.0])}
    np.testing.assert_allclose(
        prediction.probabilities[4], load_model("mjud-fine").probabilities(table, 1)[0], rtol=1e-12
    )


def test_judged_pairs_are_certain_in_units_of_gain(pool):
    grades = nothing_judged(pool)
    grades[1] = 60
    moments = gains(pool, uniform(pool).predict(grades), grades)
    assert (moments.mean[1], moments.variance[1]) == (0.6, 0)
    assert moments.mean[0] == pytest.approx(0.5)
    assert moments.variance[0] == pytest.approx(0.0850)


def test_the_uniform_estimator_works_on_any_scale(tiny):
    from dataclasses import replace

    pool = build_pool(replace(tiny, scale=parse_scale([0, 1, 5])))
    prediction = uniform(pool).predict(nothing_judged(pool))
    np.testing.assert_allclose(prediction.expectation, 2, rtol=1e-12)
    np.testing.assert_allclose(prediction.variance, 14 / 3, rtol=1e-12)


def test_the_default_model_is_mjud_where_it_is_published():
    assert [default_model(scale) for scale in (FINE, BROAD, BINARY)] == ["mjud", "mjud", "uniform"]


def test_models_of_different_levels_do_not_stand_in_for_each_other(pool):
    with pytest.raises(InputError, match="models mout-fine, historical-broad differ in their levels"):
        OrdinalEstimator(pool, (load_model("mout-fine"), load_model("historical-broad")))


def test_an_estimator_that_could_leave_pairs_over_is_refused(pool):
    with pytest.raises(InputError, match="model mout-fine needs features that may be unknown, and names no fallback"):
        OrdinalEstimator(pool, (load_model("mout-fine"),))


def test_a_model_file_of_one_s_own_is_an_estimator(pool, tmp_path):
    from audiosim.relevance.published import save_model

    save_model(load_model("loutput-fine"), tmp_path / "mine.json")
    mine = make_estimator(pool, str(tmp_path / "mine.json")).predict(nothing_judged(pool))
    np.testing.assert_array_equal(
        mine.probabilities, ordinal(pool, "loutput").predict(nothing_judged(pool)).probabilities
    )


def test_an_unknown_estimator_is_refused_with_the_names_there_are(pool):
    with pytest.raises(
        InputError, match="unknown model 'mouth', expected a .json file or one of historical, .*, remote, uniform"
    ):
        make_estimator(pool, "mouth")


def test_predictions_turn_into_rows(pool):
    row = uniform(pool).predict(nothing_judged(pool)).rows(pool.pairs, [4])[0]
    assert (row["query"], row["document"], row["model"]) == ("q1", "c", "uniform")
    assert len(row["probabilities"]) == 101


class Broken:
    """An estimator of which one thing can be broken."""

    name = "broken"

    def __init__(self, pool, change):
        self.inner, self.change = uniform(pool), change
        self.calls = 0

    def predict(self, grades):
        self.calls += 1
        return self.change(self.inner.predict(grades), grades, self.calls)


def altered(prediction, **fields):
    from dataclasses import replace

    return replace(prediction, **fields)


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
            lambda p, g, n: altered(p, probabilities=p.probabilities[1:]),
            r"broken: probabilities must be \(7, 101\), got \(6, 101\)",
        ),
        (
            lambda p, g, n: altered(p, probabilities=p.probabilities * 2),
            "broken: each row of probabilities must be 0 or more and sum to 1",
        ),
        (
            lambda p, g, n: altered(p, probabilities=p.probabilities * np.nan),
            "broken: each row of probabilities must be 0 or more and sum to 1",
        ),
        (lambda p, g, n: altered(p, model=p.model + 1), "broken: each pair must name one of the models uniform"),
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
