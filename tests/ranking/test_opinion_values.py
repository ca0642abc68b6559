"""Value of a second opinion, compared with the decrease of the doubts, computed in full."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from audiosim.campaign import Campaign, CampaignSettings
from audiosim.collection.pool import build_pool
from audiosim.collection.values import Judgment
from audiosim.joint.estimators import JOINT, estimator_of
from audiosim.joint.people import added_variance
from audiosim.measures.measure import parse_measure
from audiosim.ranking import SELECTION_RULES, Selection, make_selection_rule
from audiosim.ranking.about import About
from audiosim.ranking.values import NOISE_KNOWN, OF_NOISE, TELLS_MORE, OpinionValues
from benchmarks.synthetic import Design, synthetic_collection

CG = parse_measure("CG@4")


@pytest.fixture(scope="module")
def pool():
    design = Design(systems=4, teams=2, queries=6, cutoff=4, candidates=12)
    return build_pool(synthetic_collection(np.random.default_rng(2), design), 4)


@pytest.fixture(scope="module")
def selection(pool):
    """Ann and bob judge half of the pool, and some pairs both; the model does not fail its check."""
    rng = np.random.default_rng(4)
    said = []
    for place in rng.permutation(len(pool.pairs))[: len(pool.pairs) // 2].tolist():
        names = ("ann", "bob") if place % 3 == 0 else (("ann", "bob")[place % 2],)
        said += [Judgment(*pool.pairs[place], float(rng.choice(pool.scale.levels)), name) for name in names]
    return Selection.start(pool, CG, estimator_of(pool, JOINT), said, learns=False)


def test_values_are_the_doubts_weighted_by_what_a_noisy_judgment_moves(selection, pool):
    found = OpinionValues.of(selection, "ann")
    belief = selection.stated_belief
    gains = belief.people.posterior("listeners")
    n, weights = len(pool.pairs), selection.expected.weights.toarray()
    covariance = gains.among(np.arange(n))
    scores, across = weights @ covariance @ weights.T, weights @ covariance
    mean = weights @ gains.mean
    added = added_variance(belief.people.model, belief.people.panel, "ann")
    expected = np.zeros(n)
    for a in range(len(pool.systems)):
        for b in range(a):
            variance = scores[a, a] + scores[b, b] - 2 * scores[a, b]
            density = stats.norm.pdf((mean[a] - mean[b]) / np.sqrt(variance))
            expected += density**2 / variance * (across[a] - across[b]) ** 2 / (np.diagonal(covariance) + added)
    np.testing.assert_allclose(found.weights, expected, rtol=1e-6)


def test_unjudged_pairs_are_valued_by_the_noise_of_who_asks(selection, pool):
    # The doubts rule by brute force: the change by an exact judgment, over the variance of this person's grade.
    state = replace(selection, selection_rule=make_selection_rule("doubts", selection.expected))
    gains, weights = state.belief.gains, state.expected.weights.toarray()
    covariance = gains.among(np.arange(len(pool.pairs)))
    scores, across, mean = weights @ covariance @ weights.T, weights @ covariance, weights @ gains.mean
    people = state.stated_belief.people
    open_ = ~state.belief.judged
    for name in ("ann", "bob", "new"):
        added, expected = added_variance(people.model, people.panel, name), np.zeros(len(pool.pairs))
        for a in range(len(pool.systems)):
            for b in range(a):
                variance = scores[a, a] + scores[b, b] - 2 * scores[a, b]
                density = stats.norm.pdf((mean[a] - mean[b]) / np.sqrt(variance))
                expected += density**2 / variance * (across[a] - across[b]) ** 2 / (np.diagonal(covariance) + added)
        np.testing.assert_allclose(state.weights_by(name)[open_], expected[open_], rtol=1e-6)
        best = [pool.pairs[place] for place in np.argsort(-np.where(open_, expected, -1))[:3]]
        assert state.ask(3, assessor=name) == best
    assert np.any(np.argsort(state.weights_by("new")[open_]) != np.argsort(state.weights[open_]))
    assert state.weights_by(None) is state.weights


def test_who_alone_has_judged_is_asked_as_if_their_judgments_were_exact(selection, pool):
    alone = Selection.start(
        pool, CG, estimator_of(pool, JOINT), [one for one in selection.log if one.assessor == "ann"], learns=False
    )
    assert alone.weights_by("ann") is alone.weights
    assert np.any(alone.weights_by("bob") != alone.weights)
    assert np.all(alone.weights_by("bob") >= 0)


@pytest.mark.parametrize("name", [name for name in SELECTION_RULES if name not in ("drawn", "doubts", "variances")])
def test_a_rule_that_knows_no_noise_asks_everybody_for_the_same(selection, name):
    state = replace(selection, selection_rule=make_selection_rule(name, selection.expected))
    assert state.weights_by("bob") is state.weights


def test_a_new_persons_severity_is_unknown_and_a_careless_persons_judgment_is_worth_less(selection):
    people = selection.stated_belief.people
    model = replace(people.model, noise=np.array([1.0, 3.0]))
    own = {name: added_variance(model, people.panel, name) for name in ("ann", "bob", "new")}
    deviations, scale = model.deviations, model.layout.scale**2
    taste = deviations["judge_system"] ** 2 * (model.parts**2).sum(axis=1)
    usual = scale * (deviations["judge_query"] ** 2 + deviations["rest"] ** 2)
    np.testing.assert_allclose(own["new"], usual + deviations["judge"] ** 2 + taste)
    assert np.all(own["ann"] < own["new"])
    assert np.all(own["ann"] > usual)
    assert np.all(own["bob"] > own["ann"])


def test_a_second_opinion_is_asked_for_where_it_tells_more_or_until_the_noise_is_known():
    places = np.arange(4)
    shared, fresh = places < 2, places >= 2
    telling = OpinionValues(np.array([1.0, 5.0, 3.0, 2.0]), 0.1)
    assert telling.second_opinion(shared, fresh) == (1, TELLS_MORE)
    known = OpinionValues(np.array([1.0, 2.5, 3.0, 2.0]), NOISE_KNOWN)
    assert known.second_opinion(shared, fresh) is None
    unknown = replace(known, noise_error=NOISE_KNOWN + 0.01)
    assert unknown.second_opinion(shared, fresh) == (1, OF_NOISE)
    assert unknown.second_opinion(np.zeros(4, dtype=bool), fresh) is None


def test_opinions_of_a_model_that_knows_nobody_have_no_value(pool):
    plain = Selection.start(pool, CG, estimator_of(pool, "mout"), [Judgment(*pool.pairs[0], 0.0, "ann")])
    assert OpinionValues.of(plain, "ann") is None


@pytest.mark.slow
@pytest.mark.parametrize("wanted", [True, False])
def test_a_campaign_asks_for_a_second_opinion_and_the_log_says_why(wanted):
    design = Design(systems=4, teams=2, queries=6, cutoff=4, candidates=12)
    collection = synthetic_collection(np.random.default_rng(2), design)
    campaign = Campaign(replace(collection, judgments=()), None, CG, settings=CampaignSettings(second_opinions=wanted))
    rng = np.random.default_rng(4)
    for number in range(16):
        name = ("ann", "bob")[number % 2]
        for pair in campaign.ask(1, name):
            campaign.tell(Judgment(*pair, float(rng.choice(collection.scale.levels)), name))
    shared = [pair for pair in {one.pair for one in campaign.judgments()} if len(campaign.assessors_of(pair)) == 2]
    said = {event.pair: event.details["why"] for _, event, _ in campaign.log() if "why" in event.details}
    assert bool(shared) == wanted
    assert set(said) == set(shared)
    assert set(said.values()) <= {OF_NOISE, TELLS_MORE}
    # For `noise`, at most one answer in four of each person is a second opinion.
    assert sum(why == OF_NOISE for why in said.values()) <= 4


def test_listeners_at_large_are_surer_by_a_second_opinion_of_the_value_that_is_highest(selection, pool):
    """Of two pairs judged by ann, bob's opinion on the one with the higher value narrows the differences more."""
    values = OpinionValues.of(selection, "bob")
    panel = selection.panel
    ann, bob = (set(panel.place[panel.judge == panel.judges.index(name)].tolist()) for name in ("ann", "bob"))
    places = sorted(ann - bob, key=lambda place: values.weights[place])
    left = []
    for place in (places[0], places[-1]):
        grade = float(selection.stated_belief.gains.mean[place]) * pool.scale.maximum
        near = min(pool.scale.levels, key=lambda level: abs(level - grade))
        after = selection.tell(Judgment(*pool.pairs[place], near, "bob"))
        ranking = after.stated(About("these", "listeners"))
        left.append(float(ranking.scores.differences[1].sum()))
    assert left[1] < left[0]
