import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from audiosim import OrdinalRegression
from audiosim.errors import InputError
from audiosim.stats.ordinal import UnidentifiedError, fit_ordinal

RNG = np.random.default_rng(5)
X = pd.DataFrame(RNG.normal(size=(300, 3)), columns=["fSYS", "fART", "sGEN"])
LEVELS = np.array([5, 15, 25, 35])
Y = LEVELS[np.searchsorted([-1, 0, 1.5], X.to_numpy() @ [1.0, -0.5, 0.2] + RNG.logistic(size=300))]
GROUPS = np.repeat(np.arange(30), 10)


@pytest.mark.slow
def test_scikit_learn_s_own_checks_pass():
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = check_estimator(OrdinalRegression(), on_fail=None, on_skip=None)
    failed = {
        one["check_name"]: str(one["exception"]) for one in outcomes if one["status"] not in {"passed", "skipped"}
    }
    # Its levels are text, which has no order.
    assert failed.keys() == {"check_classifiers_classes"}
    assert "the levels are text" in failed["check_classifiers_classes"]
    assert len(outcomes) > 40


def test_levels_as_text_are_refused():
    words = np.array(["low", "mid", "high"])[np.arange(len(Y)) % 3]
    for levels in (words, words.tolist(), words.astype(object), pd.Series(words)):
        with pytest.raises(InputError, match="the levels are text, whose order is unknown: expected numbers"):
            OrdinalRegression().fit(X, levels)


def test_it_holds_what_the_fit_found():
    model = OrdinalRegression().fit(X, Y, groups=GROUPS)
    found = fit_ordinal(X.to_numpy(), np.searchsorted(LEVELS, Y), groups=GROUPS)
    np.testing.assert_allclose(model.coef_, found.coefficients)
    np.testing.assert_allclose(model.thresholds_, found.thresholds)
    np.testing.assert_allclose(model.standard_errors_, np.sqrt(np.diag(found.covariance))[3:])
    np.testing.assert_allclose(model.robust_standard_errors_, np.sqrt(np.diag(found.robust))[3:])
    assert model.log_likelihood_ == pytest.approx(found.log_likelihood)
    assert model.classes_.tolist() == LEVELS.tolist()
    assert OrdinalRegression().fit(X, Y).robust_standard_errors_ is None


def test_expectation_and_variance_are_those_of_the_probabilities():
    model = OrdinalRegression().fit(X, Y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    mean = np.array([sum(p * level for p, level in zip(row, LEVELS, strict=True)) for row in probabilities])
    spread = [
        sum(p * (level - m) ** 2 for p, level in zip(row, LEVELS, strict=True))
        for row, m in zip(probabilities, mean, strict=True)
    ]
    np.testing.assert_allclose(model.expectation(X), mean)
    np.testing.assert_allclose(model.variance(X), spread)
    np.testing.assert_array_equal(model.predict(X), LEVELS[probabilities.argmax(axis=1)])


@pytest.mark.slow
def test_it_clones_pipelines_and_cross_validates():
    pipeline = make_pipeline(StandardScaler(), OrdinalRegression(ridge=0.5))
    assert clone(pipeline).get_params()["ordinalregression__ridge"] == 0.5
    scores = cross_val_score(pipeline, X, Y, groups=GROUPS, cv=GroupKFold(5), scoring="neg_log_loss")
    assert np.all(scores > -np.log(4))


def test_separated_levels_are_fitted_with_a_ridge_and_flagged_by_name():
    line = pd.DataFrame({"fSYS": np.arange(20.0)})
    with pytest.warns(UserWarning, match=r"separated perfectly by fSYS: .*; a ridge of 0.001 was used"):
        model = OrdinalRegression().fit(line, np.repeat([0, 1], 10))
    assert np.isfinite(model.coef_).all()
    assert model.predict(line).tolist() == [0] * 10 + [1] * 10


def test_separated_levels_are_refused_by_name_where_asked():
    line = pd.DataFrame({"fSYS": np.arange(20.0)})
    with pytest.raises(UnidentifiedError, match=r"separated perfectly by fSYS"):
        OrdinalRegression(unidentified="error").fit(line, np.repeat([0, 1], 10))
    with pytest.raises(InputError, match=r"^unidentified must be ridge or error, got 'no'$"):
        OrdinalRegression(unidentified="no").fit(line, np.repeat([0, 1], 10))


@pytest.mark.slow
def test_a_grid_search_over_groups_finds_the_ridge_with_the_best_held_out_likelihood():
    pipeline = make_pipeline(StandardScaler(), OrdinalRegression())
    ridges = [0.1, 1e6]  # the second nearly removes the informative features
    search = GridSearchCV(pipeline, {"ordinalregression__ridge": ridges}, cv=GroupKFold(5), scoring="neg_log_loss")
    assert search.fit(X, Y, groups=GROUPS).best_params_ == {"ordinalregression__ridge": 0.1}


def test_levels_that_are_no_numbers_have_probabilities_but_no_expectation():
    words = pd.Categorical(np.array(["a", "b", "c", "d"])[np.searchsorted(LEVELS, Y)], ordered=True)
    model = OrdinalRegression().fit(X, words)
    assert model.predict_proba(X).shape == (300, 4)
    with pytest.raises(InputError, match="the levels must be numbers to have an expectation, got"):
        model.expectation(X)


def test_a_single_class_is_refused():
    with pytest.raises(InputError, match="expected at least two levels, got 1 class"):
        OrdinalRegression().fit(X, np.ones(300))
