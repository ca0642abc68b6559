import math
from collections import Counter
from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from audiosim import ranking as room
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Judgment, Pair, Run
from audiosim.errors import InputError
from audiosim.joint.contract import check_estimator
from audiosim.joint.estimators import make_estimator, uniform
from audiosim.joint.posterior import Belief
from audiosim.measures.measure import parse_measure
from audiosim.ranking import SELECTION_RULES, Selection, confidences
from audiosim.ranking.expected import expected_scores
from audiosim.ranking.stopping import ORDER, Assurance, Judgments
from audiosim.stats.normal.block_normal import BlockNormal
from benchmarks.synthetic import Design, synthetic_collection

CG = parse_measure("CG@2")


def start(collection, measure=CG, model="mjud", **options):
    pool = build_pool(collection, measure.cutoff)
    return Selection.start(pool, measure, make_estimator(pool, model), **options)


def test_the_public_names_are_sorted():
    assert room.__all__ == sorted(room.__all__)
    assert all(hasattr(room, name) for name in room.__all__)


def test_the_pairs_asked_for_have_the_largest_weights(tiny):
    # a and e are in all three lists (weight 0), the others in one or two of three (weight 2).
    selection = start(tiny)
    asked = selection.ask(7)
    weights = selection.weights[selection.pool.locate(asked)]
    assert weights.tolist() == [2, 2, 2, 2, 2, 0, 0]
    assert {pair.document for pair in asked[5:]} == {"a", "e"}


@pytest.mark.slow
def test_of_equal_weight_every_order_is_drawn_equally_often(tiny):
    # Five pairs of equal weight: 20 orders of the first two.
    pool = build_pool(tiny)
    estimator = uniform(pool)
    tied = [Pair("q1", d) for d in "bcd"] + [Pair("q2", d) for d in "bf"]
    drawn = Counter(tuple(Selection.start(pool, CG, estimator, seed=seed).ask(2)) for seed in range(400))
    assert set(drawn) == set(permutations(tied, 2))
    assert chisquare([drawn[order] for order in permutations(tied, 2)]).pvalue > 1e-3


def test_the_order_of_equal_weights_is_fixed_by_the_seed(tiny):
    assert start(tiny, seed=5).ask(7) == start(tiny, seed=5).ask(7)
    assert len({tuple(start(tiny, seed=seed).ask(5)) for seed in range(10)}) > 1


def test_a_judged_pair_is_not_asked_for_again(tiny):
    selection = start(tiny)
    (pair,) = selection.ask()
    following = selection.tell(Judgment(*pair, grade=50.0))
    assert pair not in following.ask(7)
    assert following.judged == 1
    assert len(following.ask(99)) == 6


def test_telling_and_withdrawing_leave_the_selection_before_as_it_was(tiny):
    selection = start(tiny, judgments=[Judgment("q1", "a", 40.0, "ann")])
    before, asked = selection.ranking.to_dict(), selection.ask(7)
    selection.tell(Judgment("q1", "c", 0.0))
    selection.tell(Judgment("q1", "a", 0.0, "bob"))
    selection.withdraw(Pair("q1", "a"), "ann")
    assert selection.graded == {("q1", "a"): 40}
    assert np.isnan(selection.grades).tolist() == [False, *[True] * 6]
    assert (selection.changes, selection.ranking.to_dict(), selection.ask(7)) == (0, before, asked)


def test_telling_one_by_one_equals_starting_with_all(tiny, tiny_truth):
    one_by_one = start(tiny)
    for judgment in tiny_truth[:4]:
        one_by_one = one_by_one.tell(judgment)
    at_once = start(tiny, judgments=tiny_truth[:4])
    assert one_by_one.ranking.to_dict() == at_once.ranking.to_dict()
    assert one_by_one.ask(7) == at_once.ask(7)


def test_a_revised_judgment_replaces_the_same_assessor_s_earlier_one(tiny):
    selection = start(tiny).tell(Judgment("q1", "a", 90.0, "ann")).tell(Judgment("q1", "a", 70.0, "ann"))
    assert selection.judged == 1
    assert selection.grades[0] == 70
    assert selection.belief.gains.mean[0] == pytest.approx(0.7)


def test_the_grade_of_a_pair_is_the_mean_over_its_assessors(tiny):
    selection = start(tiny).tell(Judgment("q1", "a", 90.0, "ann")).tell(Judgment("q1", "a", 70.0, "bob"))
    assert (selection.judged, selection.grades[0]) == (1, 80)
    assert selection.withdraw(Pair("q1", "a"), "ann").grades[0] == 70
    nobody = selection.withdraw(Pair("q1", "a"), "ann").withdraw(Pair("q1", "a"), "bob")
    assert (nobody.judged, nobody.graded) == (0, {})
    assert np.isnan(nobody.grades).all()


def test_whoever_keeps_the_log_says_the_grade_of_a_pair_and_then_tells_no_judgments(tiny):
    one_by_one = start(tiny, judgments=[Judgment("q1", "a", 40.0, "ann")]).tell(Judgment("q1", "a", 70.0, "bob"))
    place = one_by_one.pool.positions["q1", "a"]
    judged = start(tiny, judgments=[Judgment("q1", "a", 40.0, "ann")]).judge(place, 55.0, ("bob", 70.0))
    assert (judged.graded, judged.ranking.to_dict()) == (one_by_one.graded, one_by_one.ranking.to_dict())
    for act in (lambda: judged.tell(Judgment("q1", "a", 1.0)), lambda: judged.withdraw(Pair("q1", "a"), "ann")):
        with pytest.raises(
            InputError,
            match="^this selection belongs to a campaign with a log of its own: use the campaign's tell$",
        ):
            act()


def test_a_loop_begun_anew_is_the_loop_that_begins_with_these_grades(tiny):
    judgments = [Judgment("q2", "e", 10.0), Judgment("q1", "a", 40.0)]
    begun, before = start(tiny, judgments=judgments), start(tiny)
    anew = before.anew(before.estimator, begun.graded, begun.panel)
    assert (anew.order, anew.ranking.to_dict(), anew.ask(7)) == (begun.order, begun.ranking.to_dict(), begun.ask(7))


@pytest.mark.parametrize(("assessor", "named"), [("bob", "bob"), ("", "nobody")])
def test_what_was_not_said_cannot_be_withdrawn(tiny, assessor, named):
    selection = start(tiny).tell(Judgment("q1", "a", 90.0, "ann"))
    for document in "ac":
        with pytest.raises(InputError, match=f"^{named} has not judged document {document} for query q1$"):
            selection.withdraw(Pair("q1", document), assessor)


def test_judging_may_stop_when_nothing_left_can_change_the_ranking(tiny, tiny_truth):
    selection = start(tiny)
    for judgment in tiny_truth:
        if judgment.document in "bcdf":
            assert not selection.reached("judgments=99999")
            selection = selection.tell(judgment)
    assert selection.judged == 5
    assert selection.reached("judgments=99999")


def test_judging_may_stop_at_a_mean_confidence_or_at_any_goal(tiny):
    selection = start(tiny)
    assert selection.reached(Assurance(ORDER, selection.confidence, floor=0))
    assert not selection.reached(Assurance(ORDER, selection.confidence + 1e-9, floor=0))
    assert not selection.reached(selection.confidence)  # no judgment has checked the model yet
    assert selection.reached(Judgments(0))
    assert not selection.reached(Judgments(1))


def test_a_goal_may_be_written(tiny):
    selection = start(tiny)
    assert selection.reached("judgments=0")
    assert not selection.reached("judgments=1")
    assert selection.reached("confidence(floor=0)=0.1")
    assert selection.reached(np.float32(0.95)) == selection.reached(0.95)


@pytest.mark.parametrize(
    ("stop", "message"),
    [
        ("evry=0.95", "^unknown stopping rule 'evry=0.95', expected confidence=0.95, .*; did you mean every=0.95\\?$"),
        ("confidense = .9", "; did you mean confidence=0.95\\?$"),
        ("Eror(floor=9)=0.1", "; did you mean error=0.05\\?$"),
        ("confidence", "; did you mean confidence=0.95\\?$"),
        ("every(flor=9)=0.9", "no parameter 'flor', expected every=0.95; it has floor, about; did you mean floor\\?$"),
        (None, "^expected a confidence such as 0.95, or a rule, every=0.95, got None$"),
        (math.nan, "^the target of confidence must be above 0, got nan$"),
    ],
)
def test_what_is_no_goal_is_refused(tiny, stop, message):
    with pytest.raises(InputError, match=message):
        start(tiny).reached(stop)


def test_what_is_no_judgment_is_refused(tiny):
    message = r"^expected a judgment such as Judgment\('q1', 'd7', grade=70\), got \('q1', 'a', 70\)$"
    with pytest.raises(InputError, match=message):
        start(tiny).tell(("q1", "a", 70))


def test_systems_that_retrieve_the_same_are_not_worth_a_judgment(tiny):
    twins = start(replace(tiny, runs=(tiny.runs[0], Run("twin", tiny.runs[0].rankings))))
    assert twins.confidence is None
    assert twins.reached(0.95)


def test_when_everything_is_judged_nothing_is_asked(tiny, tiny_truth):
    selection = start(tiny, judgments=tiny_truth)
    assert selection.ask(3) == selection.ask(3, by_query=True) == []
    assert selection.reached(Judgments(99))


def test_a_pair_outside_the_pool_and_a_grade_off_the_scale_are_refused(tiny):
    selection = start(tiny)
    with pytest.raises(InputError, match="no system retrieved document z for query q1 in its top 2"):
        selection.tell(Judgment("q1", "z", 50.0))
    with pytest.raises(InputError, match="grade 101 is not on the fine scale"):
        selection.tell(Judgment("q1", "a", 101.0))


def test_judgments_from_before_that_are_of_pairs_outside_the_pool_are_left_out(tiny):
    selection = start(tiny, judgments=[Judgment("q1", "z", 50.0), Judgment("q1", "a", 50.0)])
    assert list(selection.graded) == [("q1", "a")]


def test_asking_for_nothing_and_batches_of_nothing_are_refused(tiny):
    with pytest.raises(InputError, match="the number of pairs to ask for must be a whole number of at least 1, got 0"):
        start(tiny).ask(0)
    with pytest.raises(InputError, match="batch must be at least 1, got 0"):
        start(tiny, batch=0)
    with pytest.raises(InputError, match="unknown selection rule 'luck', expected one of differences, "):
        start(tiny, selection_rule="luck")


class Given:
    """A rule with given weights that records the number of judgments at each call."""

    name = "given"

    def __init__(self, weights):
        self.given, self.asked = np.array(weights, dtype=float), []

    def weights(self, belief, ranking):
        self.asked.append(int(belief.judged.sum()))
        return self.given


@pytest.fixture(scope="module")
def wide():
    """Ten documents for each of four queries, from three systems."""
    rng = np.random.default_rng(1)
    names = [f"d{i}" for i in range(10)]
    runs = tuple(Run(f"s{s}", {f"q{q}": tuple(rng.permutation(names)[:6].tolist()) for q in range(4)}) for s in "abc")
    pool = build_pool(Collection("wide", "wide", FINE, 6, runs))
    return pool, uniform(pool)


def given_weights(wide, weights, judged, seed):
    pool, estimator = wide
    judgments = [Judgment(*pool.pairs[place], grade=50.0) for place in sorted(judged)]
    return Selection.start(pool, parse_measure("CG@6"), estimator, judgments, selection_rule=Given(weights), seed=seed)


def drawn_pools(wide_size=40):
    places = st.integers(0, wide_size - 1)
    return st.tuples(
        st.lists(st.sampled_from([0.0, 0.5, 1.0, 7.0]), min_size=wide_size, max_size=wide_size),
        st.sets(places, max_size=30),
        st.none() | st.lists(st.booleans(), min_size=wide_size, max_size=wide_size),
        st.integers(1, wide_size + 5),
        st.integers(0, 99),
    )


def fitted(wide, drawn):
    """The drawn values, cut to the size of the pool."""
    weights, judged, allowed, count, seed = drawn
    n = len(wide[0].pairs)
    assert n <= len(weights)
    mask = None if allowed is None else np.array(allowed[:n])
    return weights[:n], {place for place in judged if place < n}, mask, count, seed


@pytest.mark.slow
@given(drawn_pools())
def test_what_is_asked_is_what_a_full_sort_puts_first(wide, drawn):
    weights, judged, mask, count, seed = fitted(wide, drawn)
    pairs, ties = wide[0].pairs, np.random.default_rng(seed).random(len(weights))
    left = [i for i in range(len(weights)) if i not in judged and (mask is None or mask[i])]
    expected = sorted(left, key=lambda i: (-weights[i], -ties[i]))[:count]
    assert given_weights(wide, weights, judged, seed).ask(count, mask) == [pairs[i] for i in expected]


@pytest.mark.slow
@given(drawn_pools())
def test_by_query_takes_the_queries_whose_best_pairs_are_worth_most_one_after_the_other(wide, drawn):
    weights, judged, mask, count, seed = fitted(wide, drawn)
    pairs, ties = wide[0].pairs, np.random.default_rng(seed).random(len(weights))
    lists = {}
    for i in sorted(range(len(weights)), key=lambda i: (-weights[i], -ties[i])):
        if i not in judged and (mask is None or mask[i]):
            lists.setdefault(pairs[i].query, []).append(i)
    best_first = sorted(lists.values(), key=lambda of: (-sum(weights[i] for i in of[:count]), -ties[of[0]]))
    expected = [pairs[i] for of in best_first for i in of][:count]
    selection = given_weights(wide, weights, judged, seed)
    asked = selection.ask(count, mask, by_query=True)
    assert asked == expected
    turns = sum(a.query != b.query for a, b in pairwise(asked))
    assert turns == len({pair.query for pair in asked}) - 1
    assert len({pair.query for pair in asked}) <= len({pair.query for pair in selection.ask(count, mask)})


@pytest.mark.slow
def test_of_equal_queries_each_comes_first_equally_often(wide):
    # Every query has the same weights, so only the draw decides between them.
    pool, estimator = wide
    of = {query: [i for i, pair in enumerate(pool.pairs) if pair.query == query] for query in pool.queries}
    weights = np.zeros(len(pool.pairs))
    for places in of.values():
        weights[places[:2]] = 1
    rule = Given(weights)
    first = Counter(
        Selection.start(pool, parse_measure("CG@6"), estimator, selection_rule=rule, seed=seed)
        .ask(2, by_query=True)[0]
        .query
        for seed in range(400)
    )
    assert chisquare([first[query] for query in pool.queries]).pvalue > 1e-3


def test_the_rule_is_asked_after_every_batch_and_never_between(wide):
    pool, estimator = wide
    rule = Given(np.arange(len(pool.pairs)))
    selection = Selection.start(pool, parse_measure("CG@6"), estimator, batch=3, selection_rule=rule)
    for _ in range(7):
        assert selection.weights is rule.given
        (pair,) = selection.ask()
        selection = selection.tell(Judgment(*pair, grade=20.0))
        selection.ask(5, by_query=True)
    assert rule.asked == [0, 3, 6]


class Foreign:
    """An estimator of another package with a prior correlated within queries, and no other methods."""

    name = "foreign"

    def __init__(self, pool):
        plain = uniform(pool).predict(np.full(len(pool.pairs), np.nan))
        blocks = tuple(np.flatnonzero(pool.query == code) for code in range(len(pool.queries)))
        within = tuple(0.05 * (np.eye(len(rows)) + np.ones((len(rows), len(rows)))) for rows in blocks)
        none = tuple(np.empty((len(rows), 0)) for rows in blocks)
        prior = BlockNormal(plain.prior.mean, blocks, within, none, np.empty((0, 0)))
        self.start = replace(plain, prior=prior)

    def predict(self, grades):
        return self.start.revise(grades)


class Wrapped:
    """Passes on the results of another estimator."""

    def __init__(self, inner):
        self.name, self.predict = "wrapped", inner.predict


@pytest.mark.parametrize(
    "make", [Foreign, lambda pool: Wrapped(make_estimator(pool, "joint")), lambda pool: Wrapped(Foreign(pool))]
)
def test_whoever_returns_a_correlated_belief_is_treated_like_our_own_joint_model(tiny, tiny_truth, make):
    pool = build_pool(tiny)
    estimator = make(pool)
    check_estimator(lambda pool, _: make(pool), "", pool, np.random.default_rng(0))
    selection = Selection.start(pool, CG, estimator)
    assert (selection.selection_rule.name, selection.ranking.scores.correlated) == ("drawn", True)
    for judgment in tiny_truth[:3]:
        before, selection = selection, selection.tell(judgment)
        same = pool.query == pool.query[pool.positions[judgment.pair]]
        moved = selection.belief.gains.mean != before.belief.gains.mean
        assert moved[same].sum() > 1  # not only the pair itself
        fresh = Selection.start(pool, CG, estimator, tiny_truth[: selection.judged])
        np.testing.assert_allclose(selection.scores.mean, fresh.scores.mean, rtol=1e-10)
        np.testing.assert_allclose(selection.scores.covariance, fresh.scores.covariance, rtol=1e-8, atol=1e-15)
    assert Selection.start(pool, CG, uniform(pool)).selection_rule.name == "differences"


class Sniffing:
    """An estimator with predictions from all judgments so far, which counts its calls."""

    name = "sniffing"

    def __init__(self, pool):
        self.inner, self.asked = uniform(pool), 0

    def predict(self, grades):
        self.asked += 1
        belief = self.inner.predict(grades)
        shift = np.nan_to_num(grades).sum() % 7 / 10
        tilted = belief.probabilities * np.linspace(1, 1 + shift, len(belief.levels))
        tilted /= tilted.sum(axis=1, keepdims=True)
        return Belief.independent(belief.levels, tilted, grades, belief.maximum, belief.models)


MEASURES = ["CG@2", "DCG(gain=exponential)@2", "nDCG@2", "RBP@2", "P(min=50)@2"]


@pytest.mark.parametrize("measure", MEASURES)
def test_between_batches_only_what_was_judged_changes(tiny, measure):
    pool = build_pool(tiny)
    estimator = Sniffing(pool)
    expected = expected_scores(parse_measure(measure), pool, draws=20)
    selection = Selection.start(pool, expected, estimator, batch=3)
    following = selection.tell(Judgment("q1", "a", 90.0))
    assert following.belief.prior is selection.belief.prior
    changed = following.belief.gains.mean != selection.belief.gains.mean
    assert changed.tolist() == [True, *[False] * 6]
    assert following.weights is selection.weights
    assert estimator.asked == 1
    following = following.tell(Judgment("q1", "b", 10.0))
    assert following.asked is selection  # without a chain of all states in between
    following = following.tell(Judgment("q2", "f", 20.0))
    assert (estimator.asked, following.asked) == (2, None)
    assert (following.belief.gains.mean[2:5] != selection.belief.gains.mean[2:5]).all()


@pytest.mark.parametrize("measure", MEASURES)
def test_between_batches_the_scores_are_what_they_are_computed_afresh(tiny, measure):
    # The rank-one update, compared with the whole sum.
    pool = build_pool(tiny)
    expected = expected_scores(parse_measure(measure), pool, draws=20)
    selection = Selection.start(pool, expected, Sniffing(pool), batch=99)
    for pair, grade in zip(pool.pairs, (90.0, 0.0, 40.0, 100.0, 10.0, 0.0, 70.0), strict=True):
        selection = selection.tell(Judgment(*pair, grade=grade))
        afresh = expected.scores(selection.belief)
        np.testing.assert_allclose(selection.scores.mean, afresh.mean, atol=1e-12)
        np.testing.assert_allclose(selection.scores.covariance, afresh.covariance, atol=1e-12)


@pytest.fixture(scope="module")
def tiny_pool():
    runs = (
        Run("A", {"q1": ("a", "b"), "q2": ("b", "e")}),
        Run("B", {"q1": ("a", "c"), "q2": ("e", "b")}),
        Run("C", {"q1": ("d", "a"), "q2": ("e", "f")}),
    )
    return build_pool(Collection("tiny", "tiny", FINE, 2, runs))


ACTS = st.lists(
    st.tuples(st.integers(0, 6), st.sampled_from(["", "ann", "bob"]), st.integers(0, 100), st.booleans()), max_size=12
)


@pytest.mark.slow
@pytest.mark.parametrize("rule", list(SELECTION_RULES))
@settings(max_examples=15)
@given(measure=st.sampled_from(["CG@2", "nDCG@2"]), acts=ACTS, batch=st.integers(1, 4))
def test_at_the_end_of_a_batch_the_state_is_that_of_a_fresh_start_with_the_same_judgments(
    tiny_pool, measure, rule, acts, batch
):
    # Judged, revised and withdrawn at random by three assessors; `said` is maintained by hand.
    def begin(judgments):
        return Selection.start(
            tiny_pool, parse_measure(measure), Sniffing(tiny_pool), judgments, batch=batch, selection_rule=rule
        )

    said, selection = {}, begin([])
    for step, (place, assessor, grade, takes_back) in enumerate(acts, start=1):
        pair = tiny_pool.pairs[place]
        anew = pair in {key[0] for key in said} or step % batch == 0
        if takes_back and (pair, assessor) in said:
            del said[pair, assessor]
            selection = selection.withdraw(pair, assessor)
        else:
            said[pair, assessor] = grade
            selection = selection.tell(Judgment(*pair, grade=float(grade), assessor=assessor))
        assert selection.judged == len({key[0] for key in said})
        by_hand = [np.mean([g for key, g in said.items() if key[0] == p] or [np.nan]) for p in tiny_pool.pairs]
        np.testing.assert_allclose(selection.grades, by_hand, rtol=1e-14)
        if anew:
            fresh = begin([Judgment(*key[0], grade=float(g), assessor=key[1]) for key, g in said.items()])
            assert selection.graded == fresh.graded
            np.testing.assert_allclose(selection.belief.probabilities, fresh.belief.probabilities, rtol=1e-12)
            np.testing.assert_allclose(selection.scores.covariance, fresh.scores.covariance, rtol=1e-9, atol=1e-15)
            np.testing.assert_allclose(selection.weights, fresh.weights, rtol=1e-6, atol=1e-12)


def test_confidence_as_judgments_were_made_is_that_of_a_start_with_each_head_of_them(tiny, tiny_truth):
    pool = build_pool(tiny)
    estimator = uniform(pool)
    found = confidences(pool, CG, estimator, tiny_truth, moments=4)
    assert [place for place, _ in found] == [0, 2, 5, 7]
    heads = [Selection.start(pool, CG, estimator, tiny_truth[:place]).confidence for place in (0, 2, 5, 7)]
    assert [confidence for _, confidence in found] == heads
    assert found[-1][1] == 1


def test_a_selection_says_what_it_ranks_and_where(tiny):
    selection = start(tiny, selection_rule="pooled")
    assert selection.measure == CG
    assert selection.pool.systems == ("A", "B", "C")
    assert selection.ranking.model == "mjud-fine"
    assert selection.selection_rule.name == "pooled"


@pytest.mark.parametrize("model", ["mjud", "joint"])
def test_judging_several_at_once_is_judging_them_one_by_one(tiny, tiny_truth, model):
    first, grades = start(tiny, model=model, learns=False).tell(tiny_truth[0]), build_pool(tiny).spread({})
    one_by_one = [one for one in tiny_truth[1:4] if one.pair in first.pool.positions]
    places = first.pool.locate([one.pair for one in one_by_one])
    grades[places] = [one.grade for one in one_by_one]
    one_by_one = first
    for place in places.tolist():
        one_by_one = one_by_one.judge(place, float(grades[place]))
    at_once = first.judge_all(places, grades[places])
    assert at_once.order == one_by_one.order
    np.testing.assert_array_equal(at_once.grades, one_by_one.grades)
    np.testing.assert_allclose(at_once.scores.mean, one_by_one.scores.mean, rtol=0, atol=1e-12)
    np.testing.assert_allclose(at_once.scores.covariance, one_by_one.scores.covariance, rtol=0, atol=1e-12)
    np.testing.assert_allclose(at_once.weights, one_by_one.weights, rtol=1e-9)
    if model == "joint":
        with pytest.raises(InputError, match="is judged already: a change needs revise"):
            at_once.judge_all(places, grades[places])


def test_in_thought_a_model_is_not_held_against_grades_that_it_drew_itself(tiny, tiny_truth):
    thought = start(tiny, model="joint").tell(tiny_truth[0]).in_thought
    assert (thought.learns, thought.checks) == (False, False)
    assert thought.ranking.scores is thought.believed.scores


@pytest.mark.slow
def test_in_thought_what_is_stated_instead_of_a_refused_model_goes_on_and_no_grade_is_evidence():
    pool = build_pool(synthetic_collection(np.random.default_rng(3), Design(10, 4, 20, 5, 40)), CG.cutoff)
    estimator = make_estimator(pool, "joint")
    high = estimator.predict(np.full(len(pool.pairs), np.nan)).expectation
    places = np.random.default_rng(1).permutation(len(pool.pairs))[:60]
    levels = pool.scale.levels
    told = [Judgment(*pool.pairs[i], levels[0] if high[i] > np.median(high) else levels[-1]) for i in places.tolist()]
    real = Selection.start(pool, CG, estimator, told)
    assert real.ranking.check.verdict == "FAIL"
    thought = real.in_thought
    rest = np.flatnonzero(~thought.belief.judged)[:9]
    after = thought.judge_all(rest, np.full(9, float(levels[-1])))
    assert after.ranking.check is thought.ranking.check is real.ranking.check
    reserve = real.estimator.in_reserve().predict(after.grades)
    expected = after.expected.scores(reserve)
    np.testing.assert_allclose(after.ranking.scores.mean, expected.mean, rtol=1e-9)
    factor = real.ranking.check.factor
    np.testing.assert_allclose(after.ranking.scores.covariance, factor**2 * expected.covariance, rtol=1e-9)
