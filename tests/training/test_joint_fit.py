"""Joint models trained on collections with effects of known sizes."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.stats import chi2, multivariate_normal

from audiosim.collection.pool import build_pool
from audiosim.errors import InputError
from audiosim.joint.estimators import estimator_of
from audiosim.joint.model import JointEstimator
from audiosim.ordinal.model import ALWAYS, METADATA, SOUND, load_model, save_model
from audiosim.sound.gaussians import Gaussian
from audiosim.sound.index import AudioIndex
from audiosim.sound.parameters import Parameters
from audiosim.stats.normal.layout import REST
from audiosim.training.joint import START, UNTOLD, fit_joint
from audiosim.training.plan import Plan
from audiosim.training.train import train
from audiosim.training.validate import CLOSE
from benchmarks.synthetic import Design, Effects, synthetic_collection

# So small that almost no grade is cut off at an end of the scale.
EFFECTS = Effects(
    query=0.06,
    query_genre=0.06,
    query_artist=0.05,
    genres=0.05,
    team=0.05,
    system=0.03,
    rest=0.07,
    mean=0.5,
    same_genre=0.05,
)
TRUE = {name: getattr(EFFECTS, name) for name in (*ALWAYS, *METADATA, REST) if hasattr(EFFECTS, name)}
PLAN = Plan(("sGEN",), "joined", folds=0, joint=True)
SEEDS = range(4)


@pytest.fixture(scope="module")
def collections():
    """Collections of about 1,300 pairs each, all judged."""
    design = Design(12, 6, 40, 5, 100)
    drawn = [synthetic_collection(np.random.default_rng(seed), design, EFFECTS) for seed in SEEDS]
    return [replace(collection, identifier=f"drawn{seed}") for seed, collection in enumerate(drawn)]


@pytest.fixture(scope="module")
def models(collections):
    return [train([collection], PLAN).model for collection in collections]


def typical(collection, model):
    """The root mean square standard deviation of a pair's grade by the ordinal model alone, in shares of the scale."""
    pool = build_pool(collection)
    prior = estimator_of(pool, replace(model, components=None, trend=None, between=None)).predict(
        np.full(len(pool.pairs), np.nan)
    )
    return np.sqrt(prior.variance.mean()) / 100


@pytest.mark.slow
def test_training_finds_the_sizes_of_the_effects_within_their_standard_errors(collections, models):
    off = []
    for collection, model in zip(collections, models, strict=True):
        assert set(model.components) == {*ALWAYS, *METADATA, REST}
        unit = typical(collection, model)
        off.append([(size * unit - TRUE[name]) / (error * unit) for name, (size, error) in named(model, TRUE)])
        # Artists themselves, and the other systems that found a document, have no effect: the fit finds none, or one
        # within its error.
        for name in ("artist", "retrievers", "consensus"):
            size, error = model.components[name]
            assert size * unit < 0.01 if error is None else size < 3 * error
    assert np.abs(off).max() < 3
    # The 28 squared standardised errors have about a chi-squared distribution.
    assert np.sum(np.square(off)) < chi2(len(SEEDS) * len(TRUE)).ppf(0.99)


def named(model, names):
    return [(name, model.components[name]) for name in names]


@pytest.mark.slow
def test_several_collections_together_tell_more_than_one(collections, models):
    found = train(collections[:2], PLAN).model
    for name in ("query", "query_genre", "query_artist", REST):
        standard_deviations, errors = zip(*(model.components[name] for model in models[:2]), strict=True)
        size, error = found.components[name]
        assert error < 0.85 * min(errors)
        assert min(standard_deviations) - min(errors) < size < max(standard_deviations) + min(errors)


def a_fifth(collection):
    """Another collection with the same effects: its pool, true grades, and the fifth shown to the model."""
    pool = build_pool(collection)
    return pool, pool.spread(collection.grades()), np.random.default_rng(0).random(len(pool.pairs)) < 0.2


def squared(belief, truth, rows):
    """The mean squared standardised errors of the grades and of the gains."""
    by_grade = (belief.expectation - truth)[rows] ** 2 / belief.variance[rows]
    by_gain = (belief.gains.mean - truth / 100)[rows] ** 2 / belief.gains.variance[rows]
    return by_grade.mean(), by_gain.mean()


@pytest.mark.slow
def test_what_is_predicted_from_some_judgments_is_as_far_off_as_it_says(collections, models):
    # By a model in which collections do not differ, as is true of these. If pairs were independent, the mean squared
    # standardised error would have a standard error of sqrt(2 / 1000) = .04; as they are not, three times that.
    pool, truth, shown = a_fifth(collections[1])
    grades = np.where(shown, truth, np.nan)
    joint = estimator_of(pool, replace(models[0], between=None)).predict(grades)
    alone = estimator_of(pool, replace(models[0], components=None, trend=None, between=None)).predict(grades)
    off = [(prediction.expectation - truth)[~shown] for prediction in (joint, alone)]
    assert np.mean(off[0] ** 2) < 0.75 * np.mean(off[1] ** 2)
    by_grade, by_gain = squared(joint, truth, ~shown)
    # The variance of a grade is its gain's, from which these grades come.
    assert by_grade == pytest.approx(1, abs=0.13)
    assert by_gain == pytest.approx(1, abs=0.13)


@pytest.mark.slow
def test_where_collections_vary_what_is_learned_from_some_judgments_is_as_far_off_as_it_says(collections, models):
    # The model allows for larger differences between collections than these have: gains are more certain than it
    # states, until it learns sizes from the fifth, and with them how well levels are distinguished, whatever their
    # tails. The mean of three collections has a standard error of .12 / sqrt(3) = .07.
    found = []
    for collection in collections[1:]:
        pool, truth, shown = a_fifth(collection)
        grades, before = np.where(shown, truth, np.nan), estimator_of(pool, models[0])
        both = [squared(one.predict(grades), truth, ~shown) for one in (before, before.relearned(grades))]
        assert both[0][1] < both[1][1]
        found.append(both[1])
    np.testing.assert_allclose(np.mean(found, axis=0), 1, atol=0.13)


@pytest.mark.slow
def test_a_trained_joint_model_is_its_file(models, collections, tmp_path):
    save_model(models[0], tmp_path / "m.json")
    assert load_model(tmp_path / "m.json") == models[0]
    made = estimator_of(build_pool(collections[0]), str(tmp_path / "m.json"))
    assert isinstance(made, JointEstimator)
    assert made.version == models[0].version


@pytest.mark.slow
def test_the_same_training_gives_the_same_sizes(models, collections):
    assert train([collections[0]], PLAN).model.components == models[0].components


def test_without_joint_there_are_no_components(collections):
    assert train([collections[0]], replace(PLAN, joint=False)).model.components is None


@pytest.mark.slow
def test_a_fit_ends_at_the_same_maximum_wherever_it_begins(some_hundreds, joined):
    # Half of the queries: their maximum differs from that of the fit to all queries, from which a validation begins.
    pool, model = build_pool(some_hundreds), joined(components=None, trend=None)
    grades = pool.spread(some_hundreds.grades())
    whole = {name: size for name, (size, _) in fit_joint([(pool, grades)], model, vary=False).components.items()}
    half = [(pool, np.where(pool.query % 2 == 0, grades, np.nan))]
    usual = fit_joint(half, model, vary=False)
    found = {name: size for name, (size, _) in usual.components.items()}
    assert max(abs(found[name] - whole[name]) for name in found) > 0.02
    for start in (whole, dict.fromkeys(found, 0.5), dict.fromkeys(found, 0.0)):
        again = fit_joint(half, model, vary=False, start=start)
        assert {name: size for name, (size, _) in again.components.items()} == pytest.approx(found, abs=1e-6)
        assert again.trend.coefficients == pytest.approx(usual.trend.coefficients, abs=1e-6)
    # The fits of a validation end at 1e-4 standard errors, which are at most 1 here.
    near = fit_joint(half, model, vary=False, start=whole, enough=CLOSE)
    assert {name: size for name, (size, _) in near.components.items()} == pytest.approx(found, abs=1e-4)


@pytest.mark.slow
def test_no_other_sizes_make_the_judgments_likelier_nor_another_trend_fits_them_better(
    some_hundreds, joined, in_common
):
    # The covariance of two thirds of the pairs, written out in full, pair by pair; for the density of contrasts see
    # test_components among the tests of statistics.
    pool, model = build_pool(some_hundreds), joined(components=None, trend=None)
    shown = np.random.default_rng(5).random(len(pool.pairs)) < 0.67
    grades = np.where(shown, pool.spread(some_hundreds.grades()), np.nan)
    found = fit_joint([(pool, grades)], model, vary=False)
    prior = estimator_of(pool, model).predict(np.full(len(pool.pairs), np.nan))
    mean, scale, common = prior.expectation / 100, np.sqrt(prior.variance) / 100, in_common(some_hundreds)
    scale = np.maximum(scale, 0.6 * scale.mean())
    parts = {kind: common.covariance({kind: 1.0}, scale, shown) for kind in found.components}
    trend = (np.column_stack([np.ones(len(mean)), common.covariates()]) * scale[:, None])[shown]
    values, contrasts = (grades / 100 - mean)[shown], null_space(trend.T)

    def covariance(standard_deviations):
        return sum(standard_deviations[kind] ** 2 * part for kind, part in parts.items())

    def density(standard_deviations):
        of = multivariate_normal(
            np.zeros(contrasts.shape[1]), contrasts.T @ covariance(standard_deviations) @ contrasts
        )
        return of.logpdf(contrasts.T @ values)

    standard_deviations = {kind: size for kind, (size, _) in found.components.items()}
    best = density(standard_deviations)
    for kind, (size, error) in found.components.items():
        for factor in (0.9, 1.1) if error is not None else (300.0,):
            assert density(standard_deviations | {kind: factor * size}) < best + 1e-6
    information = trend.T @ np.linalg.solve(covariance(standard_deviations), trend)
    coefficients = np.linalg.solve(information, trend.T @ np.linalg.solve(covariance(standard_deviations), values))
    constant = np.sum(values - trend[:, 1:] @ coefficients[1:]) / trend[:, 0].sum()
    np.testing.assert_allclose(list(found.trend.coefficients.values()), [constant, *coefficients[1:]], rtol=1e-6)
    covariances = np.array(found.trend.covariance)
    assert covariances[0, 0] == pytest.approx(covariance(standard_deviations).sum() / trend[:, 0].sum() ** 2, rel=1e-6)
    np.testing.assert_allclose(covariances[1:, 1:], np.linalg.inv(information)[1:, 1:], rtol=1e-6)
    np.testing.assert_array_equal(covariances[0, 1:], 0)


@pytest.mark.slow
def test_systems_that_all_agree_alike_do_not_tell_how_much_system_agreement_counts(collections):
    alone = replace(collections[0], runs=collections[0].runs[:1])
    trend = train([alone], PLAN).model.trend
    assert (trend.coefficients["system_agreement"], trend.covariance[1][1]) == (0, pytest.approx(UNTOLD**2))


@pytest.mark.slow
def test_recordings_are_a_component_where_a_collection_has_an_index(collections, models, tmp_path):
    # Sound lies on a line, and a smooth function along it, different for each query, changes the grades.
    rng, (bare, other) = np.random.default_rng(9), (replace(one, runs=one.runs[::2]) for one in collections[2:])
    place = {document: rng.uniform(0, 60) for document in bare.documents}
    sounds = {document: Gaussian(np.array([at]), np.eye(1)) for document, at in place.items()}
    AudioIndex.of(sounds, Parameters(coefficients=1)).save(tmp_path / "i")
    phase = {query: rng.uniform(0, 6) for query in bare.runs[0].rankings}

    def moved(judgment):
        grade = judgment.grade + 15 * np.sin(place[judgment.document] / 5 + phase[judgment.query])
        return replace(judgment, grade=float(np.clip(np.round(grade), 0, 100)))

    judgments = tuple(map(moved, bare.judgments))
    heard = replace(bare, judgments=judgments, sounds=tmp_path / "i")
    with_sound, both = (train(of, PLAN).model for of in ([heard], [heard, other]))
    assert SOUND not in models[2].components
    size, error = with_sound.components[SOUND]
    assert size > 5 * error
    # A collection without an index has all the same effects but no sound.
    assert set(both.components) == set(with_sound.components) == {*ALWAYS, *METADATA, SOUND, REST} == set(START)
    size, error = both.components[SOUND]
    assert size > 5 * error
    assert both.components[REST][1] < with_sound.components[REST][1]


def test_a_fallback_that_reads_judgments_is_refused(collections):
    message = "^a joint model reads the judgments itself: aSYS must not be among its features$"
    with pytest.raises(InputError, match=message):
        train([collections[0]], replace(PLAN, fallback="mjud"))
