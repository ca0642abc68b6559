"""Variation of collections, compared with numbers by hand and with collections drawn from a known distribution."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.errors import InputError
from audiosim.joint.estimators import estimator_of
from audiosim.joint.prior import FLOOR
from audiosim.ordinal.model import EFFECT_NAMES, TREND, Between, load_model
from audiosim.training.joint import CONSENSUS, CONSTANT, WEAK, Estimates, estimates_of, learn_between
from benchmarks.synthetic import Design, Effects, synthetic_collection

HELD = Between(dict.fromkeys(TREND, (0.0, 0.2)), dict.fromkeys(EFFECT_NAMES, (0.5, 0.4)), ("shipped",))


@pytest.mark.parametrize("name", TREND)
def test_the_next_collection_is_spread_about_the_mean_of_sources_and_what_is_held(name):
    # Standing .1 and .3 from one source, .4 from another, 0 held: mean (.2 + .4 + 0) / 3. Squares about it: .1^2 / 2,
    # .1^2 / 2, .2^2, .2^2, and two collections' worth of .2^2; over 2 + 3 - 1, times 1 + 1/3.
    found = learn_between(
        [
            Estimates("a", {name: 0.1}),
            Estimates("a", {name: 0.3}),
            Estimates("b", {name: 0.4}),
        ],
        HELD,
    )
    assert found.trend[name] == pytest.approx((0.2, np.sqrt((2 * 0.04 + 0.01 + 0.04 + 0.04) / 4 * 4 / 3)))
    assert found.sources == ("shipped", "a", "b")


def test_one_more_collection_moves_what_several_have_told_by_its_share():
    # Three sources at 0 with spread .2, one more at .4: mean .1; squares about it 3 x .1^2 and .3^2, and four
    # collections' worth of .2^2; over 2 + 4 - 1, times 1 + 1/4.
    several = replace(HELD, sources=("a", "b", "c"))
    found = learn_between([Estimates("d", {"system_agreement": 0.4})], several)
    assert found.trend["system_agreement"] == pytest.approx((0.1, np.sqrt((4 * 0.04 + 0.03 + 0.09) / 5 * 5 / 4)))


def test_what_nobody_tells_stays_as_it_was_held_but_wider_by_its_own_doubt():
    found = learn_between([Estimates("a", {"system_agreement": 0.1})], HELD)
    assert found.trend["consensus"] == pytest.approx((0.0, 0.2 * np.sqrt(2)))
    assert found.standard_deviations["team"] == pytest.approx((0.5, 0.4 * np.sqrt(2)))
    assert learn_between([], WEAK).standard_deviations["consensus"] == CONSENSUS


def test_means_lie_anywhere_that_leaves_grades_the_room_to_vary_as_usual():
    # Equally likely grades of a fine scale, and all distributions that vary as much: their means fill an interval.
    grades = np.linspace(0, 1, 1001)
    usual = grades.var()
    # The widest distribution with a mean has only the ends of the scale; mixed with its mean it has any less variance.
    means = grades[grades * (1 - grades) >= usual]
    assert np.sqrt(means.var() / usual) == pytest.approx(CONSTANT, abs=5e-3)
    assert WEAK.trend["constant"] == (0.0, CONSTANT)


DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "foreign"
FOREIGN = {"dl2019": "dl", "ehealth2013": "clef", "ehealth2014": "clef", "covid1": "covid", "ted-ende": "ted"}


@pytest.mark.slow
def test_with_nothing_judged_stated_errors_are_those_of_collections_never_seen(mirex2011):
    model, pools = load_model("joint-fine"), {}
    collections = {**{DATA / name: source for name, source in FOREIGN.items()}, None: "mirex"}
    for folder, source in collections.items():
        judged = mirex2011 if folder is None else Collection.load(folder)
        pool = build_pool(replace(judged, documents={}, query_documents={}, sounds=None))
        pools.setdefault(source, []).append((pool, pool.spread(judged.grades())))
    estimates = {source: [estimates_of(pool, grades, source) for pool, grades in of] for source, of in pools.items()}
    squares = []
    for source, of in pools.items():
        others = [one for name, found in estimates.items() if name != source for one in found]
        unseen = replace(model, between=learn_between(others), training=None)
        for pool, grades in of:
            belief = estimator_of(pool, unseen).predict(np.full(len(grades), np.nan))
            error = np.nanmean((belief.expectation - grades) ** 2)
            squares.append((1 / len(of), error / belief.variance.mean()))
    weight, ratio = np.array(squares).T
    # Five sources: their mean grades alone give the mean of such ratios a standard error of about .15.
    assert weight @ ratio / weight.sum() == pytest.approx(1, abs=0.3)


def test_sizes_are_averaged_by_their_logarithms():
    found = learn_between([Estimates(name, {"query": np.log(0.5)}) for name in "abc"], HELD)
    assert found.standard_deviations["query"][0] == pytest.approx(0.5)
    found = learn_between([Estimates("a", {"query": np.log(2.0)})], HELD)
    assert found.standard_deviations["query"][0] == pytest.approx(1.0)


@pytest.mark.slow
def test_a_judged_collection_tells_the_sizes_that_it_was_made_with():
    effects = Effects(query=0.1, query_genre=0.0, query_artist=0.0, genres=0.0, team=0.06, system=0.03, rest=0.1)
    effects = replace(effects, mean=0.5, same_genre=0.0)
    drawn = synthetic_collection(np.random.default_rng(0), Design(16, 8, 60, 5, 60), effects)
    pool = build_pool(drawn)
    found = estimates_of(pool, pool.spread(drawn.grades()), "drawn")
    usual = estimator_of(pool, "historical").predict(np.full(len(pool.pairs), np.nan))
    unit = float(np.sqrt(usual.prior.variance[0]))
    assert FLOOR < 1  # all pairs are alike: no size is at the floor
    for name, size in {"query": 0.1, "rest": 0.1, "team": 0.06}.items():
        # With 60 queries and 8 teams, a size has errors of about 10 and 25 %; three standard errors.
        assert found.values[name] == pytest.approx(np.log(size / unit), abs=0.75 if name == "team" else 0.3)
    assert found.values["constant"] == pytest.approx((0.5 - usual.prior.mean[0]) / unit, abs=0.4)


@pytest.mark.slow
def test_on_another_collection_a_model_is_as_unsure_as_collections_differ(some_hundreds):
    # No metadata of documents: the scale's usual grades and the average collection's trend; the uncertainty of a
    # system's score includes all variation, written out in full.
    model, bare = load_model("joint-fine"), replace(some_hundreds, documents={}, query_documents={}, identifier="other")
    pool = build_pool(bare)
    found = estimator_of(pool, model).predict(np.full(len(pool.pairs), np.nan)).prior
    usual = estimator_of(pool, "historical").predict(np.full(len(pool.pairs), np.nan)).prior
    between, scale = model.between, np.sqrt(usual.variance)
    from audiosim.joint.terms import covariates

    columns = np.column_stack([np.ones(len(scale)), *covariates(pool)]) * scale[:, None]
    mean = usual.mean + columns @ [between.trend[name][0] for name in TREND]
    np.testing.assert_allclose(found.mean, mean, atol=1e-12)
    # For a pair found by one system alone: trend, and the mean square of each log-normal size.
    squares = {
        name: median**2 * np.exp(2 * spread**2) for name, (median, spread) in between.standard_deviations.items()
    }
    alone = int(np.flatnonzero(np.asarray(pool.retrieved.sum(axis=0)).ravel() == 1)[0])
    expected = sum(between.trend[name][1] ** 2 * columns[alone, at] ** 2 for at, name in enumerate(TREND))
    expected += sum(squares.values()) * scale[alone] ** 2
    assert found.variance[alone] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("judged", [0, 20])
def test_away_from_home_levels_are_as_wide_as_the_scale_has_them_though_gains_vary_more(some_hundreds, judged):
    # A level's end is as far from the usual mean as its share has it in a normal distribution with the scale's usual
    # deviation; its gains are compared with those of any collection. All ends of a pair are shifted by one number, such
    # that its mean grade is its gain. The usual deviation is the mean over the pairs, whose prior deviations differ.
    unknown = replace(some_hundreds, documents={}, query_documents={}, identifier="elsewhere")
    pool = build_pool(unknown)
    grades = pool.spread(unknown.grades())
    grades[np.random.default_rng(0).permutation(len(grades))[judged:]] = np.nan
    belief = estimator_of(pool, load_model("joint-fine")).predict(grades)
    usual = np.array(load_model("historical-fine").probabilities({}, 1)[0])
    values = belief.levels / 100
    mean = usual @ values
    deviation = np.sqrt(usual @ (values - mean) ** 2)
    prior = np.sqrt(belief.prior.variance)
    assert prior.mean() > 1.05 * deviation
    ends = mean + deviation * (prior / prior.mean())[:, None] * norm.ppf(np.cumsum(usual)[:-1])
    open_ = np.flatnonzero(~belief.judged)
    found = np.cumsum(belief.probabilities[open_], axis=1)[:, :-1]
    gains, spread = belief.gains.mean[open_], np.sqrt(belief.gains.variance[open_])
    wanted = np.clip(gains, values[0] + 0.02 * np.ptp(values), values[-1] - 0.02 * np.ptp(values))
    np.testing.assert_allclose(belief.probabilities[open_] @ values, wanted, rtol=1e-9)

    def shifted(shift, row):
        return norm.cdf((ends[open_[row]] - gains[row]) / spread[row] + shift)

    def over(shift, row):
        return values[-1] - shifted(shift, row) @ np.diff(values) - wanted[row]

    for row in range(len(open_)):
        np.testing.assert_allclose(found[row], shifted(brentq(over, -9, 9, (row,)), row), atol=1e-3)


@pytest.mark.slow
def test_at_home_a_model_says_what_it_learned_there_and_elsewhere_less(some_hundreds):
    from audiosim.training.plan import Plan
    from audiosim.training.train import train

    model = train([some_hundreds], Plan(("fSYS", "sGEN"), folds=0, joint=True)).model
    pool = build_pool(some_hundreds)
    nothing = np.full(len(pool.pairs), np.nan)
    home, away = (estimator_of(pool, of).predict(nothing).prior for of in (model, replace(model, training=None)))
    assert home.variance.mean() < 0.8 * away.variance.mean()
    assert model.between.sources[-1] == some_hundreds.identifier
    assert len(model.between.sources) == 1 + len(load_model("joint-fine").between.sources)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"trend": {"constant": (0.0, 1.0)}},
            "the trend between collections must have consensus, constant, repetition, system_agreement; ",
        ),
        ({"standard_deviations": {}}, "the standard deviations between collections must have .*; got none"),
        (
            {"trend": {**HELD.trend, "system_agreement": (0.0, 0.0)}},
            "the trend between collections must be finite with spreads",
        ),
        (
            {"standard_deviations": {**HELD.standard_deviations, "team": (-0.1, 0.5)}},
            "standard deviations between collections must have medians above 0, that of",
        ),
    ],
)
def test_a_distribution_that_is_none_is_refused(changes, message):
    with pytest.raises(InputError, match=f"^{message}"):
        replace(HELD, **changes)
