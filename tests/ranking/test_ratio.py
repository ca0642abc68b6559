"""nDCG and RBP relative to the ideal ranking: compared with the written-out formulas, trec_eval, and simulation."""

from dataclasses import replace
from itertools import combinations
from math import log, log2

import numpy as np
import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import Run, Scale
from audiosim.errors import InputError
from audiosim.joint.posterior import Belief
from audiosim.measures.measure import IDEAL, MEASURES, Definition, Measure, judged_ideal, parse_measure
from audiosim.ranking.expected import expected_scores
from audiosim.ranking.linear import LinearScores
from audiosim.ranking.ratio import RatioScores

FORMS = ("ordered", "correlated", "independent")
# Discount of a rank, and gain of a grade.
RATIOS = {
    "nDCG@2": (lambda rank: 1 / log2(rank + 1), lambda grade: grade),
    "nDCG(gain=exponential,base=3)@2": (lambda rank: 1 / log(rank + 2, 3), lambda grade: 2**grade - 1),
    "nDCG(base=1.5,form=original)@2": (lambda rank: 1 / max(1, log(rank, 1.5)), lambda grade: grade),
    "RBP@2": (lambda rank: 0.8 ** (rank - 1), lambda grade: grade),
    "RBP(gain=exponential,p=0.5)@2": (lambda rank: 0.5 ** (rank - 1), lambda grade: 2**grade - 1),
}


def test_ratios_are_ndcg_and_rbp_relative_to_the_judged_documents():
    assert all(parse_measure(written).relative for written in RATIOS)
    assert not any(parse_measure(f"{name}@2").relative for name in MEASURES if name not in {"nDCG", "RBP"})
    assert not any(parse_measure(f"{written}@2").relative for written in ("nDCG(ideal=user)", "RBP(form=original)"))


def moments_of_gains(doubt, gain):
    """Expectation and variance of each pair's gain: equations 7.1 and 7.2 of Urbano (2013), as loops."""
    levels, known = doubt.pool.scale.levels, doubt.belief
    found = {}
    for pair, grade, row in zip(doubt.pool.pairs, known.grades, known.probabilities, strict=True):
        cells = [(gain(level), p) for level, p in zip(levels, row, strict=True)]
        cells = cells if np.isnan(grade) else [(gain(grade), 1.0)]
        mean = sum(value * p for value, p in cells)
        found[pair] = mean, sum((value - mean) ** 2 * p for value, p in cells)
    return found


def expected_best(doubt, query, discount, gain):
    """E[Y]: the sum over the best documents of a query, over every assignment of grades to its pairs."""
    total = 0.0
    for grades, chance in doubt.outcomes(query):
        best = sorted(map(gain, grades.values()), reverse=True)
        total += chance * sum(discount(rank) * value for rank, value in enumerate(best[:2], start=1))
    return total


def by_the_formulas(doubt, form, discount, gain, signs, ideal):
    """Mean over the queries of equations 8.5 and 8.6, for a sum of systems' numerators over the ideal.

    signs  by place of a run: {0: 1} means the first system, {0: 1, 1: -1} the difference of two, as in section 8.1.2
    ideal  `expected_best` of each query
    """
    gains, expectation, variance = moments_of_gains(doubt, gain), 0.0, 0.0
    for query in doubt.pool.queries:
        documents = [pair.document for pair in doubt.pool.pairs if pair.query == query]
        mean, spread = ({d: gains[query, d][i] for d in documents} for i in (0, 1))
        x = dict.fromkeys(documents, 0.0)
        for place, sign in signs.items():
            for rank, document in enumerate(doubt.runs[place].rankings.get(query, ()), start=1):
                x[document] += sign * discount(rank)
        best = sorted(documents, key=lambda d, mean=mean: -mean[d])[:2]
        y = dict.fromkeys(documents, 0.0) | {d: discount(rank) for rank, d in enumerate(best, start=1)}
        of_x, of_y = (sum(weight[d] * mean[d] for d in documents) for weight in (x, y))
        var_x, var_y = (sum(weight[d] ** 2 * spread[d] for d in documents) for weight in (x, y))
        covariance = 0.0 if form == "independent" else sum(x[d] * y[d] * spread[d] for d in documents)
        of_y = ideal[query] if form == "ordered" else of_y
        expectation += of_x / of_y
        if of_x:
            relative = var_x / of_x**2 + var_y / of_y**2 - 2 * covariance / (of_x * of_y)
            variance += (of_x / of_y) ** 2 * relative
        else:
            variance += var_x / of_y**2  # by 8.6
    count = len(doubt.pool.queries)
    return expectation / count, variance / count**2


@pytest.mark.slow
@pytest.mark.parametrize("judged", [{}, {0: 1.0, 5: 2.0}], ids=["none judged", "two judged"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("written", RATIOS)
def test_scores_and_differences_are_the_formulas_of_the_thesis(doubt, written, form, judged):
    doubt = doubt.judged(judged)
    found = RatioScores(parse_measure(written), doubt.pool, form).scores(doubt.belief)
    ideal = {query: expected_best(doubt, query, *RATIOS[written]) for query in doubt.pool.queries}
    for a in range(4):
        expected = by_the_formulas(doubt, form, *RATIOS[written], {a: 1}, ideal)
        assert (found.mean[a], found.variance[a]) == pytest.approx(expected, rel=1e-11)
    for a, b in combinations(range(4), 2):
        difference = found.mean[a] - found.mean[b], found.variance[[a, b]].sum() - 2 * found.covariance[a, b]
        expected = by_the_formulas(doubt, form, *RATIOS[written], {a: 1, b: -1}, ideal)
        assert difference == pytest.approx(expected, rel=1e-9)


def cubed(measure):
    return np.arange(1.0, measure.cutoff + 1) ** -3


@pytest.mark.parametrize("judged", [{}, {0: 1.0, 5: 2.0}], ids=["none judged", "two judged"])
def test_a_measure_of_one_s_own_that_is_relative_is_expected_as_the_thesis_has_it(doubt, judged):
    doubt = doubt.judged(judged)
    measure = Measure(Definition("CUBE", (IDEAL,), rank_weights=cubed, relative=judged_ideal), 2)
    found = expected_scores(measure, doubt.pool).scores(doubt.belief)
    ideal = {query: expected_best(doubt, query, lambda rank: rank**-3.0, float) for query in doubt.pool.queries}
    for a in range(4):
        expected = by_the_formulas(doubt, "ordered", lambda rank: rank**-3.0, float, {a: 1}, ideal)
        assert (found.mean[a], found.variance[a]) == pytest.approx(expected, rel=1e-11)
    user = Measure(measure.definition, 2, (("ideal", "user"),))
    assert isinstance(expected_scores(user, doubt.pool), LinearScores)


def test_a_measure_that_is_no_sum_has_no_ratio(doubt):
    with pytest.raises(
        InputError, match="^AP@2 is not a weighted sum of gains, expected a measure with weights of ranks$"
    ):
        RatioScores(parse_measure("AP@2"), doubt.pool).scores(doubt.belief)


DOCUMENTS = [f"d{i:02d}" for i in range(12)]
QUERIES = [f"q{i:02d}" for i in range(15)]
ELEVEN = Scale("eleven", tuple(float(grade) for grade in range(11)))


@pytest.fixture(scope="module")
def drawn():
    """Six systems at 5 of 12 documents for each of 15 queries, and level probabilities: 180 pairs less a few."""
    rng = np.random.default_rng(5)
    runs = [Run(name, {q: tuple(rng.permutation(DOCUMENTS)[:5].tolist()) for q in QUERIES}) for name in "ABCDEF"]
    pool = build_pool(Collection("drawn", "drawn", ELEVEN, 5, tuple(runs)))
    probabilities = rng.dirichlet(np.full(11, 0.7), len(pool.pairs))
    grades = rng.integers(0, 11, len(pool.pairs)).astype(float)
    return runs, pool, probabilities, grades


def regraded(belief, index, grade):
    """The belief in which one pair has another grade; NaN: none."""
    grades = belief.grades.copy()
    grades[index] = grade
    return belief.revise(grades)


def belief_of(probabilities, grades):
    return Belief.independent(np.arange(11.0), probabilities, grades, 10.0, ("drawn",))


@pytest.mark.parametrize("form", FORMS)
def test_with_everything_judged_the_scores_are_those_of_trec_eval(drawn, form):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    runs, pool, probabilities, grades = drawn
    judged = {query: {} for query in QUERIES}
    for (query, document), grade in zip(pool.pairs, grades, strict=True):
        judged[query][document] = int(grade)
    evaluator = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.5"})
    theirs = []
    for run in runs:
        ranked = {query: {d: float(5 - i) for i, d in enumerate(ds)} for query, ds in run.rankings.items()}
        theirs.append(np.mean([values["ndcg_cut_5"] for values in evaluator.evaluate(ranked).values()]))
    found = RatioScores(parse_measure("nDCG@5"), pool, form).scores(belief_of(probabilities, grades))
    np.testing.assert_allclose(found.mean, theirs, rtol=1e-12)
    assert not found.covariance.any()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("written", RATIOS)
def test_with_everything_judged_the_scores_are_those_of_the_definition(doubt, definitions, written, form):
    measure = parse_measure(written)
    doubt = doubt.judged(dict(enumerate([doubt.pool.scale.maximum, 1.0, 2.0, 2.0, 1.0, 1.0, 2.0])))
    mean, _ = doubt.moments(definitions[measure.name], measure)
    found = RatioScores(measure, doubt.pool, form).scores(doubt.belief)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-12)
    assert not found.covariance.any()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("written", ["nDCG@5", "RBP@5"])
def test_where_nothing_can_gain_anything_the_score_is_0(drawn, written, form):
    _, pool, probabilities, grades = drawn
    expected = RatioScores(parse_measure(written), pool, form)
    nothing = belief_of(probabilities, 0 * grades)
    unknown = belief_of(np.tile(np.eye(1, 11), (len(grades), 1)), np.full(len(grades), np.nan))
    for belief in (nothing, unknown):
        found = expected.scores(belief)
        assert not found.mean.any()
        assert not found.covariance.any()
        assert not expected.slopes(belief).toarray().any()


# Each form compared with simulation: 10,000 assignments of grades, drawn from the level probabilities and scored.
DISCOUNTS = {"nDCG": 1 / np.log2(np.arange(2, 7)), "RBP": 0.8 ** np.arange(5)}


def simulated(pool, probabilities, grades, measure, draws=10_000):
    """(draws, systems) mean scores, and (systems,) second-order terms omitted by the delta method.

    E[X / Y] - E[X] / E[Y] = E[X] Var[Y] / E[Y]^3 - Cov[X, Y] / E[Y]^2, up to third order.
    """
    rng, discounts = np.random.default_rng(1), DISCOUNTS[measure.name]
    columns = [
        rng.choice(11, draws, p=row) if np.isnan(grade) else np.full(draws, int(grade))
        for row, grade in zip(probabilities, grades, strict=True)
    ]
    gains = np.stack(columns, axis=1).astype(float)
    gains = 2**gains - 1 if measure.word("gain") == "exponential" else gains
    scores, remainder = 0.0, 0.0
    for query in range(len(pool.queries)):
        of_query = np.flatnonzero(pool.query == query)
        ranks = pool.ranks.toarray()[:, of_query]
        x = gains[:, of_query] @ np.where(ranks > 0, discounts[ranks - 1], 0).T
        y = -np.sort(-gains[:, of_query], axis=1)[:, :5] @ discounts
        scores = scores + x / y[:, None] / len(pool.queries)
        shared = ((x - x.mean(axis=0)) * (y - y.mean())[:, None]).mean(axis=0)
        remainder = remainder + (x.mean(axis=0) * y.var() / y.mean() ** 3 - shared / y.mean() ** 2) / len(pool.queries)
    return scores, remainder


def half_judged(drawn, share):
    _, pool, probabilities, grades = drawn
    unknown = np.random.default_rng(8).random(len(grades)) >= share
    return pool, probabilities, np.where(unknown, np.nan, grades)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0, 0.5])
@pytest.mark.parametrize("written", ["nDCG@5", "RBP@5"])
def test_expected_scores_are_the_simulated_ones_less_the_second_order_term(drawn, written, share):
    # Four standard errors of the simulation, and .0005 for the third order; the second is up to .0025 here.
    pool, probabilities, grades = half_judged(drawn, share)
    measure = parse_measure(written)
    scores, remainder = simulated(pool, probabilities, grades, measure)
    found = RatioScores(measure, pool).scores(belief_of(probabilities, grades)).mean
    allowed = 4 * scores.std(axis=0) / np.sqrt(len(scores)) + 0.0005
    assert np.all(np.abs(found + remainder - scores.mean(axis=0)) <= allowed)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0, 0.5])
@pytest.mark.parametrize("written", ["nDCG@5", "RBP@5", "nDCG(gain=exponential)@5"])
def test_the_ideal_by_order_statistics_is_closest_to_simulation(drawn, written, share):
    pool, probabilities, grades = half_judged(drawn, share)
    measure, (a, b) = parse_measure(written), np.triu_indices(6, 1)
    scores, _ = simulated(pool, probabilities, grades, measure)
    gaps = scores[:, a] - scores[:, b]
    errors = {}
    for form in FORMS:
        found = RatioScores(measure, pool, form).scores(belief_of(probabilities, grades))
        variance = found.variance[a] + found.variance[b] - 2 * found.covariance[a, b]
        errors[form] = (
            np.abs(found.mean - scores.mean(axis=0)).mean(),
            np.abs(np.log(found.variance / scores.var(axis=0))).mean(),
            np.abs(np.log(variance / gaps.var(axis=0))).mean(),
            np.abs(found.mean[a] - found.mean[b] - gaps.mean(axis=0)).mean(),
        )
    # The ratio of errors: for means of scores 7 and more, for variances of scores 2, of differences 3, and for means of
    # differences 3. With skewed gains the first-order means of differences are hardly better than the others'.
    times = [6, 1.9, 2.5, 0.7 if measure.word("gain") == "exponential" else 2]
    assert np.all(np.array(errors["ordered"]) * times < errors["correlated"])
    assert np.all(np.array(errors["ordered"]) * times < errors["independent"])


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("written", RATIOS)
def test_one_more_judgment_or_one_less_gives_the_moments_from_scratch(doubt, written, form):
    expected = RatioScores(parse_measure(written), doubt.pool, form)
    before, scores = doubt.belief, expected.scores(doubt.belief)
    for index, grade in [(0, 1.0), (4, 1.0), (0, 2.0), (4, np.nan), (6, 2.0), (0, np.nan), (6, np.nan)]:
        after = regraded(before, index, grade)
        scores, before = expected.after(scores, before, after, index), after
        fresh = expected.scores(after)
        np.testing.assert_allclose(scores.mean, fresh.mean, rtol=1e-12)
        np.testing.assert_allclose(scores.covariance, fresh.covariance, rtol=0, atol=1e-14)


def slopes_by_differences(expected, probabilities, grades, step=1e-5):
    """(s, u) change of the scores per change of one unjudged pair's expected gain, as its levels move up a little."""
    found, before = [], belief_of(probabilities, grades)
    scores = expected.scores(before).mean
    for index in np.flatnonzero(np.isnan(grades)):
        moved = probabilities.copy()
        moved[index] += step * np.append(-probabilities[index, :1], -np.diff(probabilities[index]))
        moved[index, -1] += step * probabilities[index, -1]
        after = belief_of(moved, grades)
        rise = after.gains.mean[index] - before.gains.mean[index]
        found.append((expected.scores(after).mean - scores) / rise)
    return np.stack(found, axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS[1:])
@pytest.mark.parametrize("written", ["nDCG@5", "RBP@5"])
def test_slopes_are_differences_of_the_scores_over_differences_of_an_expected_gain(drawn, written, form):
    # Forward differences of 1e-5: their own error is of that order times the curvature, well below 1e-6.
    pool, probabilities, grades = half_judged(drawn, 0.5)
    expected = RatioScores(parse_measure(written), pool, form)
    slopes = expected.slopes(belief_of(probabilities, grades)).toarray()[:, np.isnan(grades)]
    np.testing.assert_allclose(slopes, slopes_by_differences(expected, probabilities, grades), rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("share", "agreement"), [(0, 0.88), (0.5, 0.93)])
def test_slopes_of_the_ideal_by_order_statistics_take_the_expected_order_for_the_order(drawn, share, agreement):
    # An approximation: a pair's weight in the ideal depends on its place by expectation, not on all orders. It
    # correlates .90 and .95 with the differences here, where half of a pool's documents may be among the best five.
    pool, probabilities, grades = half_judged(drawn, share)
    expected = RatioScores(parse_measure("nDCG@5"), pool)
    slopes = expected.slopes(belief_of(probabilities, grades)).toarray()[:, np.isnan(grades)]
    by_differences = slopes_by_differences(expected, probabilities, grades)
    assert np.corrcoef(slopes.ravel(), by_differences.ravel())[0, 1] > agreement


@pytest.mark.parametrize("form", FORMS)
def test_discounts_are_shares_of_the_expected_ideal(doubt, form):
    discount, gain = RATIOS["nDCG@2"]
    best = expected_best(doubt, "q2", discount, lambda grade: gain(grade) / doubt.pool.scale.maximum)
    if form != "ordered":
        means = [mean for pair, (mean, _) in moments_of_gains(doubt, gain).items() if pair.query == "q2"]
        first, second = sorted(means, reverse=True)[:2]
        best = (first + second * discount(2)) / doubt.pool.scale.maximum
    found = RatioScores(parse_measure("nDCG@2"), doubt.pool, form).discounted(doubt.belief).toarray()
    of_b = found[:, doubt.pool.positions["q2", "b"]]
    np.testing.assert_allclose(of_b, [1 / best, discount(2) / best, 0, 0], rtol=1e-12)


def test_a_query_for_which_nothing_is_retrieved_counts_as_0(tiny):
    runs = tuple(Run(run.system, {**run.rankings, "q3": ()}) for run in tiny.runs)
    with_empty = build_pool(replace(tiny, runs=runs))
    without = build_pool(tiny)
    halves, nothing = np.full((7, 2), 0.5), np.full(7, np.nan)
    belief = Belief.independent(np.array([0.0, 100.0]), halves, nothing, 100.0, ("m",))
    found, rest = (RatioScores(parse_measure("nDCG@2"), pool).scores(belief) for pool in (with_empty, without))
    np.testing.assert_allclose(found.mean, rest.mean * 2 / 3, rtol=1e-12)
    np.testing.assert_allclose(found.covariance, rest.covariance * 4 / 9, rtol=1e-12)


def test_an_unknown_ideal_is_refused(tiny):
    with pytest.raises(InputError, match="unknown ideal 'best', expected one of ordered, correlated, independent"):
        RatioScores(parse_measure("nDCG@2"), build_pool(tiny), "best")
