"""The joint estimator, compared with its full covariance, conditioned by solving in numpy."""

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm, t

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Document, Run
from audiosim.errors import InputError
from audiosim.joint.contract import check_estimator
from audiosim.joint.estimators import estimator_of
from audiosim.joint.independent import OrdinalEstimator
from audiosim.joint.levels import FREEDOM, WEIGHT, WORTHS
from audiosim.joint.model import JointEstimator
from audiosim.joint.people import NO_JUDGES
from audiosim.joint.posterior import FEW
from audiosim.measures.measure import parse_measure
from audiosim.ordinal.model import SOUND, Trend, fallbacks
from audiosim.ranking.linear import LinearScores
from audiosim.sound.gaussians import Gaussian
from audiosim.sound.index import AudioIndex
from audiosim.sound.parameters import Parameters

LEVELS = np.arange(5.0, 100, 10)


def on_scale(grades):
    """Expected grades, at least a fiftieth of the levels' range away from its ends."""
    return np.clip(grades, 5 + 0.02 * 90, 95 - 0.02 * 90)


def meeting(ends, mean, distribution):
    """Probabilities of LEVELS with boundaries at these deviations, shifted to have a mean grade."""

    def shifted(by):
        return np.diff([0, *distribution.cdf(ends + by), 1])

    low, high = -60 - ends.max(), 60 - ends.min()
    return shifted(brentq(lambda by: shifted(by) @ LEVELS - on_scale(mean), low, high, xtol=1e-14))


def using(belief, **changes):
    return belief.using(replace(belief.use, **changes))


def estimator(pool, model):
    return JointEstimator(pool, (model, *fallbacks(model)))


def nothing(pool):
    return np.full(len(pool.pairs), np.nan)


# As uncertain as that of the model, but centred on zero.
FLAT = Trend(
    dict.fromkeys(("constant", "system_agreement", "consensus", "repetition"), 0.0),
    ((2e-3, -1e-3, 0.0, 0.0), (-1e-3, 0.02, 3e-3, 0.0), (0.0, 3e-3, 0.03, -2e-3), (0.0, 0.0, -2e-3, 0.01)),
)


class Dense:
    """The prior of all pairs of a collection as a mean and a full covariance."""

    def __init__(self, collection, model, in_common):
        self.pool = build_pool(collection)
        self.prior = OrdinalEstimator(self.pool, (model, *fallbacks(model))).predict(nothing(self.pool))
        mean = self.prior.marginals @ LEVELS
        deviation = np.sqrt(self.prior.marginals @ LEVELS**2 - mean**2)
        standard_deviations = {name: size for name, (size, _) in model.components.items() if name != SOUND}
        common, self.scale = in_common(collection), np.maximum(deviation, 0.6 * deviation.mean()) / 100
        trend = np.column_stack([np.ones(len(mean)), common.covariates()]) * self.scale[:, None]
        self.mean = mean / 100 + trend @ [
            model.trend.coefficients[name] for name in ("constant", "system_agreement", "consensus", "repetition")
        ]
        self.covariance = (
            common.covariance(standard_deviations, self.scale) + trend @ np.array(model.trend.covariance) @ trend.T
        )
        self.weights = np.zeros((len(collection.runs), len(self.pool.pairs)))
        for row, run in zip(self.weights, collection.runs, strict=True):
            for query, documents in run.rankings.items():
                for document in documents[: collection.cutoff]:
                    row[self.pool.positions[query, document]] = 1 / collection.cutoff / len(run.rankings)

    def given(self, grades):
        """Mean and covariance of all pairs given some grades."""
        known = np.flatnonzero(~np.isnan(grades))
        gain = np.linalg.solve(self.covariance[np.ix_(known, known)], self.covariance[known]).T
        mean = self.mean + gain @ (grades[known] / 100 - self.mean[known])
        covariance = self.covariance - gain @ self.covariance[known]
        mean[known] = grades[known] / 100
        covariance[known] = covariance[:, known] = 0
        return mean, covariance

    def held_out(self, grades, place):
        """Mean and variance of one pair given the others."""
        others = grades.copy()
        others[place] = np.nan
        mean, covariance = self.given(others)
        return mean[place], covariance[place, place]

    def probabilities(self, place, mean, variance):
        """The level probabilities of a pair: the ordinal model's, shifted and stretched like its grade."""
        below = np.cumsum(self.prior.marginals[place])[:-1]
        own = self.prior.marginals[place] @ LEVELS / 100
        ends = norm.ppf(below, own, np.sqrt(self.covariance[place, place]))
        return meeting((ends - mean) / np.sqrt(variance), 100 * mean, norm)


@pytest.fixture(scope="module")
def dense(some_hundreds, joined, in_common):
    return Dense(some_hundreds, joined(), in_common)


@pytest.fixture(scope="module")
def pool(dense):
    return dense.pool


@pytest.fixture(scope="module")
def truth(some_hundreds, pool):
    return pool.spread(some_hundreds.grades())


def assert_is(dense, found, grades):
    """Compare an estimator's predictions given some grades, and the systems' CG, with the reference."""
    mean, covariance = dense.given(grades)
    np.testing.assert_allclose(found.gains.mean, mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.gains.variance, np.diagonal(covariance), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(found.grades, grades)
    scores = LinearScores(parse_measure("CG@5"), dense.pool).scores(found)
    stated = np.where(np.isnan(grades), on_scale(100 * mean) / 100, mean)
    np.testing.assert_allclose(scores.mean, dense.weights @ stated, rtol=0, atol=1e-8)
    # Covariances of scores are about 1e-3: 1e-8 of one is well below 1e-10.
    expected = dense.weights @ covariance @ dense.weights.T
    np.testing.assert_allclose(scores.covariance, expected, rtol=0, atol=1e-8 * max(1e-6, np.abs(expected).max()))


@pytest.mark.slow
def test_there_are_some_hundreds_of_pairs_of_every_sort(pool):
    assert 200 < len(pool.pairs) < 500
    assert all(0 < np.mean(code == -1) < 0.5 for code in (pool.genre, pool.query_genre, pool.artist))


@pytest.mark.slow
def test_with_nothing_judged_the_moments_are_those_of_the_prior(dense, pool, joined):
    assert_is(dense, estimator(pool, joined()).predict(nothing(pool)), nothing(pool))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_judgments_condition_as_in_full_one_by_one_many_at_once_taken_back_and_changed(
    dense, pool, joined, truth, seed
):
    rng = np.random.default_rng(seed)
    shared, grades = estimator(pool, joined()), nothing(pool)
    order, earlier = rng.permutation(len(truth)), shared.predict(grades)

    def step(places, values):
        nonlocal earlier
        grades[places] = values
        found = shared.predict(grades)
        assert_is(dense, found, grades)
        earlier = found.resumed(earlier)
        assert_is(dense, earlier, grades)

    for place in order[:12]:
        step(place, truth[place])
    step(order[12:16], truth[order[12:16]])  # a few at once
    step(order[16 : 40 + FEW], truth[order[16 : 40 + FEW]])  # many at once
    step(order[3], np.nan)
    step(order[5], 100 - truth[order[5]])
    step(order[[3, 60]], [0.0, 100.0])  # one revised, and one more
    step(order[[7, 70]], [np.nan, 50.0])  # one withdrawn while one is added
    step(order, truth[order])
    step(order[80:], np.nan)
    step(order, np.nan)


@pytest.mark.slow
@pytest.mark.parametrize("large", [("query", "genres", "system"), ("query", "query_genre", "artist")])
def test_where_a_pair_has_next_to_nothing_of_its_own_no_digits_are_lost(some_hundreds, joined, in_common, truth, large):
    # Sizes as small as in a fit; with 1e-3 squared of 1, the full solution of a covariance is accurate to about 1e-9.
    standard_deviations = {**dict.fromkeys(joined().components, 1e-4), **dict.fromkeys(large, 1.0), "rest": 1e-3}
    model = joined(components={name: (size, None) for name, size in standard_deviations.items()})
    dense = Dense(some_hundreds, model, in_common)
    chosen = np.isin(np.arange(len(truth)), np.random.default_rng(1).permutation(len(truth))[:100])
    grades = np.where(chosen, truth, np.nan)
    found = estimator(dense.pool, model).predict(grades)
    np.testing.assert_allclose(found.gains.mean, dense.given(grades)[0], rtol=0, atol=2e-8)
    place = int(np.flatnonzero(chosen)[0])
    expected = dense.probabilities(place, *dense.held_out(grades, place))
    np.testing.assert_allclose(found.probabilities[place], expected, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_the_order_of_judgments_does_not_matter(dense, pool, joined, truth):
    places = np.random.default_rng(2).permutation(len(truth))[:60]
    grades = nothing(pool)
    grades[places] = truth[places]
    for order in (places, places[::-1], np.sort(places)):
        one_by_one, so_far = estimator(pool, joined()), nothing(pool)
        found = one_by_one.predict(so_far)
        for place in order:
            so_far[place] = truth[place]
            found = one_by_one.predict(so_far).resumed(found)
        assert_is(dense, found, grades)


@pytest.mark.slow
def test_of_all_judged_one_by_one_nothing_is_left_in_doubt(pool, joined, truth):
    one_by_one, so_far = estimator(pool, joined()), nothing(pool)
    found = one_by_one.predict(so_far)
    for place in np.random.default_rng(3).permutation(len(truth)):
        so_far[place] = truth[place]
        found = one_by_one.predict(so_far).resumed(found)
    np.testing.assert_array_equal(found.gains.mean, truth / 100)
    assert not found.gains.variance.any()
    fresh = estimator(pool, joined()).predict(truth)
    np.testing.assert_allclose(found.probabilities, fresh.probabilities, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_a_pair_is_predicted_from_all_judgments_but_its_own(dense, pool, joined, truth):
    grades = np.where(np.random.default_rng(4).random(len(truth)) < 0.4, truth, np.nan)
    found = estimator(pool, joined()).predict(grades)
    for place in range(0, len(truth), 3):
        expected = dense.probabilities(place, *dense.held_out(grades, place))
        np.testing.assert_allclose(found.probabilities[place], expected, rtol=0, atol=1e-9)
    open_ = np.isnan(grades)
    np.testing.assert_allclose(found.expectation[open_], (found.probabilities @ LEVELS)[open_], rtol=1e-12)
    np.testing.assert_array_equal(found.expectation[~open_], grades[~open_])


@pytest.mark.slow
def test_a_judged_pair_s_own_prediction_is_what_it_was_before_its_judgment(pool, joined, truth):
    rng = np.random.default_rng(5)
    grades = np.where(rng.random(len(truth)) < 0.3, truth, np.nan)
    before = estimator(pool, joined()).predict(grades)
    for place in rng.permutation(np.flatnonzero(np.isnan(grades)))[:5]:
        for grade in (0.0, 37.0, 100.0):
            after = estimator(pool, joined()).predict(np.where(np.arange(len(truth)) == place, grade, grades))
            np.testing.assert_allclose(after.probabilities[place], before.probabilities[place], rtol=0, atol=1e-12)
            assert after.gains.mean[place] == grade / 100


@pytest.mark.slow
def test_without_a_trend_and_with_nothing_judged_the_probabilities_are_those_of_the_ordinal_models(dense, pool, joined):
    found = estimator(pool, joined(trend=FLAT)).predict(nothing(pool))
    np.testing.assert_allclose(found.probabilities, dense.prior.marginals, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.expectation, dense.prior.expectation, rtol=1e-12)
    assert found.models == ("joined", "plain")
    np.testing.assert_array_equal(found.model, dense.prior.model)
    assert 0 < found.model.mean() < 1
    np.testing.assert_array_equal(found.levels, LEVELS)


@pytest.mark.parametrize("standard_deviations", [1.0, 100.0, 0.01])
def test_probabilities_stay_on_the_scale_whatever_is_judged(pool, joined, standard_deviations):
    model = joined(
        components={name: (standard_deviations * size, None) for name, (size, _) in joined().components.items()}
    )
    rng, n = np.random.default_rng(6), len(pool.pairs)
    shared = estimator(pool, model)
    first = pool.query == 0
    for grades in (
        np.zeros(n),
        np.full(n, 100.0),
        np.where(np.arange(n) == 7, 0.0, 100.0),
        np.where(first, 100.0, np.nan),
        np.where(first, np.nan, 0.0),
        np.where(rng.random(n) < 0.5, 0.0, 100.0),
    ):
        found = shared.predict(grades)
        assert np.all(found.probabilities >= 0)
        np.testing.assert_allclose(found.probabilities.sum(axis=1), 1, rtol=1e-12)
        open_ = np.isnan(grades)
        assert np.all((found.expectation[open_] >= 5) & (found.expectation[open_] <= 95))
        assert np.all(found.variance >= 0)


def test_what_is_learned_of_one_query_goes_to_others_by_what_they_share(dense, pool, joined):
    grades = np.where(pool.query == 0, 100.0, np.nan)
    found = estimator(pool, joined()).predict(grades)
    mean, _ = dense.given(grades)
    others = pool.query != 0
    assert np.abs(mean - dense.mean)[others].max() > 0.02
    np.testing.assert_allclose(found.gains.mean[others], mean[others], atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_contract_of_estimators_is_kept(pool, tiny, joined, seed):
    for one in (pool, build_pool(tiny)):
        check_estimator(lambda of, _: estimator(of, joined()), "", one, np.random.default_rng(seed))


@pytest.mark.slow
def test_the_contract_is_kept_where_one_component_is_nearly_everything(pool, joined):
    for kind in ("query", "artist", "system", "rest"):
        # Probabilities follow the means of the gains, which smaller sizes leave with an error of 1e-10 and more.
        components = dict.fromkeys(joined().components, (3e-3, None)) | {kind: (2.0, 0.1)}
        model = joined(components=components)
        check_estimator(lambda of, _, model=model: estimator(of, model), "", pool, np.random.default_rng(0))


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 11), st.one_of(st.none(), st.integers(0, 100))), max_size=14))
def test_a_prediction_does_not_depend_on_what_was_predicted_before(twelve, joined, judgments):
    shared, grades = estimator(twelve, joined()), nothing(twelve)
    for place, grade in judgments:
        grades[place] = np.nan if grade is None else grade
        shared.predict(grades)
    found, fresh = shared.predict(grades), estimator(twelve, joined()).predict(grades)
    np.testing.assert_allclose(found.probabilities, fresh.probabilities, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.gains.mean, fresh.gains.mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.gains.variance, fresh.gains.variance, rtol=0, atol=1e-12)


def test_an_estimator_that_nobody_needs_any_more_leaves_the_memory_at_once(pool, joined, truth):
    learned = estimator(pool, joined()).relearned(truth)
    copies = [learned, learned.hearing(NO_JUDGES), learned.unlearned(), learned.predict(truth)]
    left = [weakref.ref(one) for one in copies]
    gc.disable()  # it would break cycles, but runs rarely, and each estimator has tens of megabytes
    try:
        del copies, learned
        assert [one() for one in left] == [None] * 4
    finally:
        gc.enable()


@pytest.fixture(scope="module")
def twelve():
    """Six documents for each of two queries, by two systems and two artists; no query's genre is known."""
    documents = {f"d{i}": Document(f"d{i}", "XY"[i % 2], "rock" if i % 3 else None) for i in range(9)}
    first, second = tuple(f"d{i}" for i in range(6)), tuple(f"d{i}" for i in range(3, 9))
    runs = (Run("A", {"q": first[:5], "r": second[:4]}), Run("B", {"q": first[1:], "r": second[1:]}))
    return build_pool(Collection("many", "many", FINE, 5, runs, documents))


def test_an_earlier_prediction_stays_what_it_was_and_the_caller_s_grades_are_its_own(pool, joined, truth):
    shared, grades = estimator(pool, joined()), nothing(pool)
    grades[:20] = truth[:20]
    first = shared.predict(grades)
    before = first.probabilities.copy(), first.gains.mean.copy(), first.gains.variance.copy()
    grades[20] = 0.0
    second = shared.predict(grades)
    assert second is not first
    assert second.gains.mean[20] == 0
    for value, kept in zip((first.probabilities, first.gains.mean, first.gains.variance), before, strict=True):
        np.testing.assert_array_equal(value, kept)
    assert shared.predict(grades.copy()).prior is second.prior


@pytest.mark.slow
def test_threads_share_an_estimator(pool, joined, truth):
    # Some states belong to one growing campaign, others to another; each thread must get its own answer.
    rng = np.random.default_rng(7)
    orders = [rng.permutation(len(truth)) for _ in range(3)]
    states = [
        np.where(np.isin(np.arange(len(truth)), orders[i % 3][: 3 * i]), truth, np.nan)
        for i in rng.permutation(36).tolist()
    ]
    shared, together = estimator(pool, joined()), threading.Barrier(6)

    def ask(mine):
        together.wait()
        return [(state, shared.predict(state)) for state in mine]

    with ThreadPoolExecutor(6) as threads:
        answers = [answer for part in threads.map(ask, [states[i::6] for i in range(6)]) for answer in part]
    assert len(answers) == 36
    alone = estimator(pool, joined())
    for grades, found in answers:
        expected = alone.predict(grades)
        np.testing.assert_array_equal(found.grades, grades)
        np.testing.assert_allclose(found.gains.mean, expected.gains.mean, rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.probabilities, expected.probabilities, rtol=0, atol=1e-9)


def alike_on_a_line(places):
    """(m, m) P^8 of normal distributions of variance 1, where P is their mutual proximity: 1 for equal ones.

    Their mixture has variance 1 + (x - y)^2 / 4; the divergence is half its logarithm.
    """
    distances = np.array([[np.log(1 + (x - y) ** 2 / 4) / 2 for x in places] for y in places])
    count = len(places)
    alike = np.ones((count, count))
    for i in range(count):
        for j in range(count):
            if distances[i, j] > 0:
                farther = [
                    min(distances[i, k], distances[j, k]) > distances[i, j] for k in range(count) if k not in (i, j)
                ]
                alike[i, j] = np.mean(farther) ** 8
    return alike


@pytest.mark.slow
def test_recordings_that_sound_alike_have_something_in_common(some_hundreds, joined, in_common, tmp_path):
    # For one query: two equal recordings, one near to them and one less near; the index has twelve more far away.
    model = joined(components={**joined().components, SOUND: (0.4, None)})
    dense = Dense(some_hundreds, model, in_common)
    documents = [pair.document for pair in dense.pool.pairs]
    once = [row for row, name in enumerate(documents) if documents.count(name) == 1 and dense.pool.query[row] == 3]
    alike, heard = np.eye(len(dense.mean)), once[:4]
    assert not {documents[row] for row in heard} & set(dense.pool.query_documents)  # else sound has a slope as well
    places = [0.0, 0.0, 1.0, 3.0, *np.arange(20.0, 140, 10)]
    kernel = alike_on_a_line(places)[:4, :4]
    np.testing.assert_allclose(kernel[0], [1, 1, (13 / 14) ** 8, (12 / 14) ** 8])
    assert np.linalg.eigvalsh(kernel).min() > -1e-12
    alike[np.ix_(heard, heard)] = kernel
    dense.covariance += 0.4**2 * alike * np.outer(dense.scale, dense.scale)
    names = [*(documents[row] for row in heard), *(f"elsewhere{place}" for place in range(12))]
    sounds = {name: Gaussian(np.array([at]), np.eye(1)) for name, at in zip(names, places, strict=True)}
    AudioIndex.of(sounds, Parameters(coefficients=1)).save(tmp_path / "i")
    pool = build_pool(replace(some_hundreds, sounds=tmp_path / "i"))
    grades = nothing(pool)
    grades[[0, 5, 9, heard[0], heard[2]]] = 100, 20, 40, 10, 90
    assert_is(dense, estimator(pool, model).predict(grades), grades)


def test_without_recordings_what_they_would_share_is_each_pair_s_own(dense, pool, joined):
    model = joined(components={**joined().components, SOUND: (0.4, None)}, trend=FLAT)
    found = estimator(pool, model).predict(nothing(pool))
    expected = np.diagonal(dense.covariance) + 0.4**2 * dense.scale**2
    np.testing.assert_allclose(found.gains.variance, expected, rtol=1e-10)


def test_where_the_model_is_sure_a_pair_can_still_be_judged_otherwise(pool, joined):
    # Thresholds so far apart that the middle level is all but certain: no number may become NaN.
    model = joined(
        terms=("fSYS",), coefficients=(0.01,), thresholds=(60.0, 50.0, 45.0, 40.0, -40.0, -45, -50, -55, -60)
    )
    grades = nothing(pool)
    grades[::3] = 0.0
    found = estimator(pool, model).predict(grades)
    assert np.all(np.isfinite(found.probabilities))
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1, rtol=1e-12)
    assert np.all(np.isfinite(found.gains.mean))


def test_the_estimator_is_named_after_its_model_and_found_by_it(pool, joined):
    made = estimator_of(pool, joined())
    assert isinstance(made, JointEstimator)
    assert (made.name, made.version) == ("joined", joined().version)
    other = joined(components={**joined().components, "team": (0.31, None)})
    assert estimator_of(pool, other).version != made.version
    plain = estimator_of(pool, joined(components=None, trend=None))
    assert isinstance(plain, OrdinalEstimator)
    assert plain.version != made.version


def test_a_model_without_components_is_refused(pool, joined):
    with pytest.raises(
        InputError, match=r"^model joined has no components: train it by audiosim train --features joint$"
    ):
        estimator(pool, joined(components=None, trend=None))


@pytest.mark.parametrize(("term", "deep"), [("aDOC", False), ("oSYS", False), ("aSYS", True)])
def test_a_model_that_reads_judgments_itself_is_refused(pool, joined, term, deep):
    model = joined(terms=("fSYS", f"fSYS:{term}"))
    if deep:
        inner = replace(model, name="inner", components=None, trend=None, fallback=joined().fallback)
        model = joined(fallback=inner)
    message = f"^a joint model reads the judgments itself: {term} must not be among its features$"
    with pytest.raises(InputError, match=message):
        estimator(pool, model)


@pytest.mark.slow
def test_the_mean_of_drawn_levels_is_known_without_drawing(pool, joined, truth):
    grades = np.where(np.arange(len(truth)) % 7 == 0, truth, np.nan)
    belief = estimator(pool, joined()).predict(grades)
    worth = np.cumsum(np.random.default_rng(3).random(len(belief.levels)))
    drawn, count = np.empty(len(truth)), 4000
    for rows, values in belief.draw(np.random.default_rng(4), count):
        drawn[rows] = worth[np.searchsorted(belief.levels, values).clip(max=len(worth) - 1)].mean(axis=0)
    open_ = ~belief.judged
    # Values are below ten: five standard errors of the mean of 4,000 draws, for some hundreds of pairs.
    np.testing.assert_allclose((belief.probabilities @ worth)[open_], drawn[open_], atol=5 * 10 / 2 / np.sqrt(count))


def test_grades_drawn_for_scores_differ_as_gains_do_whatever_a_query_s_levels_count_for(pool, joined, truth):
    # Counts of judged levels are equal for all pairs of a query; used alone, they would equalise the systems' scores.
    grades = np.where(np.random.default_rng(5).random(len(truth)) < 0.3, truth, np.nan)
    belief = estimator(pool, joined()).predict(grades).shaped()
    counted, alone = using(belief, worth=2.5), using(belief, worth=np.inf)
    open_ = ~belief.judged
    means = [(one.probabilities @ one.level_grades)[open_] for one in (counted, alone)]
    np.testing.assert_allclose(means[0], means[1], rtol=1e-9)
    assert np.abs(counted.probabilities - alone.probabilities)[open_].max() > 0.1


@pytest.mark.slow
def test_levels_become_as_frequent_as_the_judgments_have_them(pool, joined, truth):
    # Grades have only two levels: each is predicted from the others' frequencies, and ten judgments' worth of the
    # prior.
    rng = np.random.default_rng(8)
    grades = np.where(rng.random(len(truth)) < 0.4, np.where(truth > 50, 95.0, 5.0), np.nan)
    before = estimator(pool, joined()).predict(grades)
    after, judged = before.shaped(), ~np.isnan(grades)

    places = np.flatnonzero(judged)
    marginals = before.marginals[judged]
    held_out, spread = before.prior.held_out(places, grades[places] / 100)

    def chances(one, moved=0.0):
        # Before the ends of each pair are shifted to the mean of its gain.
        use = one.use if one.use.shape is None else replace(one.use, shape=one.use.shape + moved)
        own, below = marginals @ one.levels / 100, np.cumsum(marginals, axis=1)[:, :-1]
        deviation = np.sqrt(before.prior.variance[judged])
        return t(FREEDOM).cdf(use.ends(below, own, deviation, held_out, np.sqrt(spread)))

    def reached(one, moved=0.0):
        return chances(one, moved).mean(axis=0)

    low, count = np.mean(grades[judged] == 5.0), judged.sum()
    target = (10 * reached(before) + count * low) / (10 + count)
    # All boundaries are moved equally, so that the mean stays that of the gains; moved back, levels are as frequent.
    back = brentq(lambda moved: reached(after, moved)[4] - target[4], -2, 2, xtol=1e-12)
    np.testing.assert_allclose(reached(after, back), target, atol=1e-5)
    expected = after.use.means[-1] - chances(after) @ np.diff(after.use.means)
    assert expected.mean() == pytest.approx(100 * held_out.mean(), abs=1e-5)
    # Ten judgments' worth of the level, and the grades judged on it, all of them its own here.
    np.testing.assert_allclose(after.use.means, after.levels)
    assert np.all(after.probabilities >= 0)
    np.testing.assert_allclose(after.probabilities.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(after.shaped().use.shape, after.use.shape)
    assert after.use.stretch == after.shaped().use.stretch
    np.testing.assert_array_equal(after.gains.mean, before.gains.mean)


def test_judged_levels_of_a_query_count_beside_what_the_gains_say_of_it(pool, joined, truth):
    # By hand, pair by pair: (worth P + c) / (worth + n), c of the n other judged pairs of its query at a level, then
    # shifted back to the mean of the pair's gain.
    grades = np.where(np.random.default_rng(5).random(len(truth)) < 0.3, truth, np.nan)
    field = estimator(pool, joined()).predict(grades).shaped()
    field = using(field, worth=np.inf, means=None)
    both = using(field, worth=5.0)
    # Half-way goes to the upper level, as Fine grades 40 to 49 go to level 45: Urbano (2013), section 7.3.1.
    level = len(field.levels) - 1 - np.abs(field.levels[None, ::-1] - grades[:, None]).argmin(axis=1)
    judged = ~np.isnan(grades)
    for place in range(0, len(truth), 11):
        others = judged & (pool.query == pool.query[place])
        others[place] = False
        counts = np.bincount(level[others], minlength=len(field.levels))
        ends = field.use.ends(
            np.cumsum(field.marginals[[place]], axis=1)[:, :-1],
            field.marginals[[place]] @ LEVELS / 100,
            np.sqrt(field.prior.variance[[place]]),
            *held_out(field, place),
        )[0]
        plain = np.diff([0, *t(FREEDOM).cdf(ends), 1])
        counted = (5 * plain + counts) / (5 + others.sum())
        mean = field.probabilities[place] @ LEVELS
        expected = meeting(t(FREEDOM).ppf(np.cumsum(counted)[:-1]), mean, t(FREEDOM))
        np.testing.assert_allclose(both.probabilities[place], expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(both.gains.mean, field.gains.mean)


def held_out(belief, place):
    """(1,) mean and (1,) deviation of a pair's gain by all judgments but its own."""
    if not belief.judged[place]:
        return belief.gains.mean[[place]], np.sqrt(belief.gains.variance[[place]])
    judged = np.flatnonzero(belief.judged)
    mean, variance = belief.prior.held_out(judged, belief.grades[judged] / 100)
    return mean[judged == place], np.sqrt(variance[judged == place])


@pytest.mark.slow
@pytest.mark.parametrize("alike", [True, False], ids=["levels of a query are alike", "any level in any query"])
def test_judged_levels_of_a_query_count_where_that_predicts_them_better(pool, joined, alike):
    # Grades of even queries are 45 or 55, those of odd ones 5 or 95: means alike, levels not. Or all four anywhere.
    rng = np.random.default_rng(6)
    inner, outer = rng.choice([45.0, 55.0], len(pool.query)), rng.choice([5.0, 95.0], len(pool.query))
    even = pool.query % 2 == 0 if alike else rng.random(len(pool.query)) < 0.5
    belief = estimator(pool, joined()).predict(np.where(even, inner, outer)).shaped()
    assert (belief.use.worth < np.inf) if alike else (belief.use.worth >= 40)
    fits, off, level = {}, {}, np.searchsorted((belief.levels[1:] + belief.levels[:-1]) / 2, belief.grades)
    for worth in WORTHS:
        one = using(belief, worth=worth)
        fits[worth] = np.log(one.probabilities[np.arange(len(level)), level]).sum() - WEIGHT / worth
        off[worth] = np.mean((one.expectation - belief.grades) ** 2)
    allowed = [worth for worth in WORTHS if off[worth] <= 1.01 * off[np.inf]]
    assert belief.use.worth == max(allowed, key=fits.get)
