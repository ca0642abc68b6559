from dataclasses import asdict, replace
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Judgment, Run
from audiosim.errors import InputError
from audiosim.joint.estimators import make_estimator, uniform
from audiosim.measures.measure import parse_measure
from audiosim.ranking import Selection
from audiosim.ranking.expected import expected_scores, rank
from audiosim.ranking.stopping import ORDER, AnyOf, Assurance, Error, Judgments
from audiosim.simulation.replay import agreement_with_truth, moment, replay, right, true_scores
from audiosim.stats.normal.multivariate import Moments
from audiosim.stats.ranks import spearman
from benchmarks.synthetic import Design, synthetic_collection

CG = parse_measure("CG@2")


@pytest.fixture
def selection(tiny):
    pool = build_pool(tiny)
    return Selection.start(pool, CG, make_estimator(pool, "mjud"))


@pytest.fixture
def truth(selection, tiny_truth):
    return selection.pool.spread({judgment.pair: judgment.grade for judgment in tiny_truth})


@pytest.fixture(scope="module")
def small():
    """A synthetic collection of 5 systems and 6 queries, with its pool down to rank 5 and uniform grades."""
    collection = synthetic_collection(np.random.default_rng(4), Design(5, 4, 6, 5, 12))
    pool = build_pool(collection, 5)
    truth = np.random.default_rng(0).choice(FINE.levels, len(pool.pairs)).astype(float)
    judged = tuple(Judgment(*pair, grade) for pair, grade in zip(pool.pairs, truth.tolist(), strict=True))
    return replace(collection, judgments=judged), pool, truth


def loop_of_a_campaign(collection, pool, truth, target, seed):
    """A campaign by CG in plain loops, with every grade of the scale equally probable until it is judged."""
    top = {(run.system, q): documents[:5] for run in collection.runs for q, documents in run.rankings.items()}
    having = {pair: [s for s in pool.systems if pair.document in top.get((s, pair.query), ())] for pair in pool.pairs}
    ties = np.random.default_rng(seed).random(len(pool.pairs))
    most = 5 * len(pool.queries)
    variance_of_a_gain = np.var(FINE.levels) / 100**2
    judged, asked, curve = {}, [], []
    while True:
        gain = {pair: judged.get(pair, 50.0) / 100 for pair in pool.pairs}
        mean = {s: sum(gain[pair] for pair in pool.pairs if s in having[pair]) / most for s in pool.systems}
        sure = []
        for a, b in combinations(pool.systems, 2):
            open_ = sum((a in having[pair]) != (b in having[pair]) for pair in pool.pairs if pair not in judged)
            deviation = np.sqrt(open_ * variance_of_a_gain) / most
            sure.append(stats.t.cdf(abs(mean[a] - mean[b]) / deviation, len(pool.queries) - 1) if open_ else 1.0)
        curve.append(np.mean(sure))
        if curve[-1] >= target:
            return asked, curve
        left = [i for i, pair in enumerate(pool.pairs) if pair not in judged]
        count = len(pool.systems)
        best = max(left, key=lambda i: (len(having[pool.pairs[i]]) * (count - len(having[pool.pairs[i]])), ties[i]))
        asked.append(pool.pairs[best])
        judged[pool.pairs[best]] = truth[best]


@pytest.mark.slow
@pytest.mark.parametrize(("target", "seed"), [(0.7, 0), (0.8, 1), (0.95, 2)])
def test_a_replay_asks_and_stops_where_a_campaign_in_plain_loops_does(small, target, seed):
    collection, pool, truth = small
    asked, curve = loop_of_a_campaign(collection, pool, truth, target, seed)
    assert len(asked) > 5
    played = replay(
        Selection.start(pool, parse_measure("CG@5"), uniform(pool), seed=seed), truth, Assurance(ORDER, target, floor=0)
    )
    assert [judgment.pair for judgment in played.asked] == asked
    np.testing.assert_allclose([moment.confidence for moment in played.curve], curve, rtol=1e-9)
    assert played.selection.judged == len(asked)
    assert played.start.judged == 0


@pytest.mark.slow
@pytest.mark.parametrize("by_query", [False, True])
@pytest.mark.parametrize("batch", [1, 7])
def test_a_replay_stops_as_soon_as_its_goal_is_met(small, by_query, batch):
    _, pool, truth = small
    start = Selection.start(pool, parse_measure("CG@5"), uniform(pool), batch=batch)
    by_confidence = replay(start, truth, Assurance(ORDER, 0.8, floor=0), by_query=by_query)
    confidences = [moment.confidence for moment in by_confidence.curve]
    assert confidences[-1] >= 0.8 > max(confidences[:-1])
    assert [moment.judged for moment in by_confidence.curve] == list(range(len(confidences)))
    # Every other goal on the same path can be read off the curve.
    path = replay(start, truth, Judgments(40), by_query=by_query)
    assert [judgment.pair for judgment in path.asked][: len(confidences) - 1] == [
        judgment.pair for judgment in by_confidence.asked
    ]
    t = stats.t.ppf(0.975, len(pool.queries) - 1)
    size = t * path.curve[25].deviation
    first = next(place for place, moment in enumerate(path.curve) if t * moment.deviation <= size)
    assert replay(start, truth, Error(size, corrected=False, floor=0), by_query=by_query).selection.judged == first
    both = replay(start, truth, AnyOf((Assurance(ORDER, 0.8, floor=0), Judgments(5))), by_query=by_query)
    assert both.selection.judged == min(5, len(confidences) - 1)


@pytest.mark.slow
def test_by_query_turns_less_often(small):
    _, pool, truth = small
    start = Selection.start(pool, parse_measure("CG@5"), uniform(pool), batch=8)
    alone, grouped = (replay(start, truth, Judgments(40), by_query=by_query) for by_query in (False, True))
    queries = [judgment.query for judgment in grouped.asked]
    assert grouped.turns == sum(queries[i] != queries[i - 1] for i in range(1, 40))
    # 40 pairs in 5 batches of 8, from queries of more than 8 pairs each: one or two queries in a batch.
    assert grouped.turns < 10 < alone.turns


def test_a_replay_to_the_end_judges_all_that_bears_on_the_ranking_and_is_right(selection, truth):
    # a and e are in every list, so they change no difference.
    result = replay(selection, truth, Judgments(99))
    end = result.to_dict()
    assert (end["judged"], end["pool"], end["confidence"], end["accuracy"], end["tau"]) == (5, 7, 1.0, 1.0, 1.0)
    assert {judgment.document for judgment in result.asked} == {"b", "c", "d", "f"}


def test_a_batch_that_reaches_the_target_is_not_judged_to_its_end(selection, truth):
    one_by_one = replay(replace(selection, batch=7), truth, 0.8)
    assert one_by_one.selection.judged < 7


def test_a_replay_tells_of_every_moment(selection, truth):
    seen = []
    result = replay(selection, truth, 0.9, seen.append)
    assert tuple(seen) == result.curve


def test_a_replay_as_plain_values_has_its_curve(selection, truth):
    result = replay(selection, truth, 0.9)
    said = result.to_dict()
    assert list(said) == [
        *("measure", "model", "judged", "pool", "confidence", "about", "accuracy", "tau", "rho", "rmse"),
        *("rmse_differences", "rule", "error", "turns", "curve"),
    ]
    assert (said["measure"], said["model"], said["rule"]) == ("CG@2", "mjud-fine", "differences")
    assert [list(point) for point in said["curve"]] == [
        ["judged", "confidence", "accuracy", "deviation", "error", "rho", "rmse", "rmse_differences"]
    ] * len(result.curve)
    assert said["curve"] == [asdict(point) for point in result.curve]
    assert (said["judged"], said["error"]) == (result.curve[-1].judged, result.curve[-1].error)


def test_correlation_and_errors_of_a_moment_are_those_of_scipy_and_of_a_loop(small):
    _, pool, truth = small
    start = Selection.start(pool, parse_measure("CG@5"), uniform(pool), batch=8)
    result = replay(start, truth, Judgments(12))
    for seen, selection in ((result.curve[0], start), (result.curve[-1], result.selection)):
        mean, true = selection.ranking.scores.mean, result.scores
        assert seen.rmse == pytest.approx(np.mean((mean - true) ** 2) ** 0.5)
        off = [mean[a] - mean[b] - (true[a] - true[b]) for a in range(len(true)) for b in range(a)]
        assert seen.rmse_differences == pytest.approx(np.mean(np.square(off)) ** 0.5)
    assert result.curve[-1].rho == pytest.approx(stats.spearmanr(result.selection.ranking.scores.mean, true).statistic)
    assert spearman(np.array([1.0, 1, 2, 5]), np.array([2.0, 3, 3, 9])) == pytest.approx(
        stats.spearmanr([1, 1, 2, 5], [2, 3, 3, 9]).statistic
    )
    assert (spearman(np.ones(3), np.arange(3.0)), spearman(np.ones(1), np.ones(1))) == (0, 1)


def test_a_replay_without_the_whole_truth_is_refused(selection, truth):
    truth[[2, 5]] = np.nan
    with pytest.raises(
        InputError,
        match="2 of the pool's 7 pairs have no judgment, such as query q2, document b; a replay needs all of them",
    ):
        replay(selection, truth, 0.9)


PEERS = {
    "nDCG@5": "nDCG@5",
    "P(min=50)@5": "P(rel=50)@5",
    "RR(min=50)@5": "RR(rel=50)@5",
}


@pytest.mark.filterwarnings(
    "ignore:.* will be removed in Python 3.14:DeprecationWarning"
)  # from ir_measures.parse_measure
@pytest.mark.parametrize(("written", "theirs"), PEERS.items())
@pytest.mark.parametrize("ideal", ["ordered", "correlated", "independent"])
def test_true_scores_are_those_of_ir_measures_with_everything_judged(small, written, theirs, ideal):
    import ir_measures

    collection, pool, truth = small
    expected = expected_scores(parse_measure(written), pool, ideal, draws=3)
    found = true_scores(Selection.start(pool, expected, uniform(pool)), truth)
    qrels = [ir_measures.Qrel(q, d, int(grade)) for (q, d), grade in collection.grades().items()]
    for run, score in zip(collection.runs, found, strict=True):
        scored = [
            ir_measures.ScoredDoc(q, d, -float(place)) for q, ds in run.rankings.items() for place, d in enumerate(ds)
        ]
        peer = ir_measures.calc_aggregate([ir_measures.parse_measure(theirs)], qrels, scored)
        assert score == pytest.approx(next(iter(peer.values())), rel=1e-12)


@pytest.mark.parametrize("name", ["CG", "DCG", "RBP"])
def test_true_scores_are_the_definitions_in_loops_with_everything_judged(small, name):
    collection, pool, truth = small
    weight = {"CG": [1.0] * 5, "DCG": [1 / np.log2(r + 1) for r in range(1, 6)], "RBP": [0.8**r for r in range(5)]}[
        name
    ]
    grades = collection.grades()
    found = true_scores(Selection.start(pool, parse_measure(f"{name}@5"), uniform(pool)), truth)
    for run, score in zip(collection.runs, found, strict=True):
        total = 0.0
        for query, documents in run.rankings.items():
            most = sorted((g for pair, g in grades.items() if pair.query == query), reverse=True)[:5]
            most = most if name == "RBP" else [100.0] * 5
            ideal = sum(w * g for w, g in zip(weight, most, strict=True))
            total += sum(w * grades[query, d] for w, d in zip(weight, documents, strict=True)) / ideal
        assert score == pytest.approx(total / len(run.rankings), rel=1e-12)


def test_a_moment_says_how_far_off_the_scores_are(small):
    _, pool, _ = small
    chosen = Selection.start(pool, parse_measure("CG@5"), uniform(pool))
    scores = np.linspace(0.3, 0.6, 5)
    found = moment(chosen, scores)
    assert found.error == pytest.approx(np.mean([abs(score - 0.5) for score in scores]))
    # Each mean score has 30 gains of variance Var[U{0..100}] / 100^2.
    assert found.deviation == pytest.approx(np.sqrt(30 * np.var(FINE.levels) / 100**2) / 30)
    assert found.judged == 0


def ranking_of(means):
    """A ranking with these means as expected scores: one system, one document each."""
    runs = tuple(Run(f"s{i}", {"q1": (f"d{i}",)}) for i in range(len(means)))
    pool = build_pool(Collection("given", "given", FINE, 1, runs))
    expected = expected_scores(parse_measure("CG@1"), pool)
    return rank(expected, "given", Moments(np.array(means, dtype=float), np.eye(len(means))), 0)


@pytest.mark.parametrize("seed", range(20))
def test_tau_is_kendall_s_as_scipy_has_it_and_accuracy_is_its_half_way_form(seed):
    rng = np.random.default_rng(seed)
    means, true = rng.random(8), rng.random(8)
    accuracy, tau = agreement_with_truth(ranking_of(means), true)
    assert tau == pytest.approx(stats.kendalltau(means, true).statistic)
    assert accuracy == pytest.approx((1 + tau) / 2)


@pytest.mark.parametrize("seed", range(20))
def test_with_ties_tau_is_kendall_s_b_of_scipy_over_all_pairs_and_accuracy_counts_half(seed):
    # tau b divides by the pairs without ties; tau a by all pairs. Whole numbers make the ties exact.
    rng = np.random.default_rng(seed)
    means, true = rng.integers(0, 4, 9) / 4, rng.integers(0, 4, 9) / 4
    pairs = list(combinations(range(9), 2))
    untied = [sum(values[i] != values[j] for i, j in pairs) for values in (means, true)]
    accuracy, tau = agreement_with_truth(ranking_of(means), true)
    tau_b = stats.kendalltau(means, true).statistic
    assert tau == pytest.approx(tau_b * np.sqrt(untied[0] * untied[1]) / len(pairs))
    points = []
    for i, j in pairs:
        signs = np.sign(means[i] - means[j]), np.sign(true[i] - true[j])
        points.append(1.0 if signs[0] == signs[1] else 0.5 if 0 in signs else 0.0)
    assert accuracy == pytest.approx(np.mean(points))
    assert sorted(right(ranking_of(means), true).tolist()) == sorted(points)


def test_a_tie_on_one_side_counts_half_and_one_on_both_sides_is_right():
    ranking = ranking_of([0.5, 0.5, 0.2])
    assert agreement_with_truth(ranking, np.array([0.6, 0.6, 0.1]))[0] == 1
    assert agreement_with_truth(ranking, np.array([0.6, 0.5, 0.1]))[0] == pytest.approx((0.5 + 1 + 1) / 3)


def test_a_single_system_cannot_be_ordered_wrongly():
    assert agreement_with_truth(ranking_of([0.5]), np.array([0.1])) == (1, 1)


@pytest.mark.slow
def test_mirex_2011_needs_few_judgments(mirex2011):
    # The papers' README: .908 right without judgments; about 182-186 judgments to .95 in the author's own program.
    pool = build_pool(mirex2011, 5)
    selection = Selection.start(pool, parse_measure("CG@5"), make_estimator(pool, "mjud"))
    result = replay(selection, pool.spread(mirex2011.grades()), 0.95)
    assert result.curve[0].accuracy == pytest.approx(0.908, abs=5e-4)
    assert 150 <= result.curve[-1].judged <= 230
    assert result.curve[-1].accuracy >= 0.90
