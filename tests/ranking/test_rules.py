from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import chisquare, norm

from audiosim.collection.pool import build_pool
from audiosim.collection.values import Run
from audiosim.errors import InputError
from audiosim.joint.posterior import Belief
from audiosim.measures.measure import parse_measure
from audiosim.ranking import SELECTION_RULES, make_selection_rule
from audiosim.ranking.expected import expected_scores, rank
from audiosim.ranking.rules import squared_differences
from audiosim.stats.normal.multivariate import Moments

K = 4


def discount(name, rank):
    """Weight of a gain at a rank in the thesis: section 8.3."""
    return {"CG": 1.0, "DCG": 1 / np.log2(rank + 1), "nDCG": 1 / np.log2(rank + 1), "RBP": 0.8 ** (rank - 1)}[name]


def weights_of(name, state, seed=0):
    return make_selection_rule(name, state.expected, seed).weights(state.known, state.ranking)


@pytest.mark.parametrize("systems", [1, 2, 7])
@pytest.mark.parametrize("name", ["CG", "DCG", "nDCG", "RBP"])
def test_differences_is_the_sum_over_pairs_of_systems_that_the_thesis_writes(draw_collection, state_of, name, systems):
    # Section 8.3, with the double loop and the ideal of the documents expected to be best written out.
    rng = np.random.default_rng(systems)
    state = state_of(draw_collection(rng, systems, cutoff=K), parse_measure(f"{name}@{K}"), rng, ideal="independent")

    def counts(system, pair):
        rank = state.at.get((system, *pair))
        return 0 if rank is None else discount(name, rank)

    def ideal(query):
        best = sorted((state.gain(pair)[0] for pair in state.pool.pairs if pair.query == query), reverse=True)
        return sum(gain * discount(name, rank) for rank, gain in enumerate(best[:K], start=1))

    expected = [
        sum(abs(counts(a, pair) - counts(b, pair)) for a, b in combinations(state.pool.systems, 2))
        / (ideal(pair.query) if name in {"nDCG", "RBP"} else 1)
        for pair in state.pool.pairs
    ]
    np.testing.assert_allclose(weights_of("differences", state), expected, rtol=1e-10, atol=1e-12)


def test_differences_of_a_measure_that_is_simulated_counts_the_pairs_of_systems_affected(draw_collection, state_of):
    rng = np.random.default_rng(5)
    state = state_of(draw_collection(rng, 5, cutoff=K), parse_measure("P(min=50)@4"), rng)
    having = [sum((system, *pair) in state.at for system in state.pool.systems) for pair in state.pool.pairs]
    assert weights_of("differences", state).tolist() == [count * (5 - count) for count in having]


# Urbano & Schedl (2013), section 3.4: equation 8 over the pairs below 1 - alpha, contributions proportional to C_AB.
def test_unsettled_counts_the_pairs_of_systems_below_95_percent_by_their_confidence(draw_collection, state_of):
    rng = np.random.default_rng(11)
    state = state_of(draw_collection(rng, 6, cutoff=K), parse_measure(f"CG@{K}"), rng)
    pairs = [(row["a"], row["b"], row["confidence"]) for row in state.ranking.pair_rows()]
    assert sum(sure < 0.95 for _, _, sure in pairs) > 0

    def bears(system, pair):
        return float((system, *pair) in state.at)

    expected = [
        sum(sure * (bears(a, pair) - bears(b, pair)) ** 2 for a, b, sure in pairs if sure < 0.95)
        for pair in state.pool.pairs
    ]
    np.testing.assert_allclose(weights_of("unsettled", state), expected, rtol=1e-10, atol=1e-12)
    settled = replace(state.ranking, scores=state.ranking.scores.wider(1e-6))
    assert settled.scores.confidences.min() > 0.95
    rule = make_selection_rule("unsettled", state.expected, 0)
    counts = [sum((bears(a, pair) - bears(b, pair)) ** 2 for a, b, _ in pairs) for pair in state.pool.pairs]
    np.testing.assert_allclose(rule.weights(state.known, settled), counts, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["CG", "DCG"])
def test_scores_adds_up_the_variances_of_the_systems_that_retrieved_the_document(draw_collection, state_of, name):
    # Section 8.4; scores are normalised by the gain of the best grade at every rank, and averaged over queries.
    rng = np.random.default_rng(7)
    state = state_of(draw_collection(rng, 5, cutoff=K), parse_measure(f"{name}@{K}"), rng)
    most = sum(discount(name, rank) for rank in range(1, K + 1)) * len(state.pool.queries)
    variance = {
        system: sum(
            (discount(name, rank) / most) ** 2 * state.gain((query, document))[1]
            for (other, query, document), rank in state.at.items()
            if other == system
        )
        for system in state.pool.systems
    }
    expected = [
        sum(variance[system] for system in state.pool.systems if (system, *pair) in state.at)
        for pair in state.pool.pairs
    ]
    np.testing.assert_allclose(weights_of("scores", state), expected, rtol=1e-10)


@pytest.mark.parametrize("name", ["nDCG", "P(min=50)"])
def test_scores_takes_the_variances_from_the_ranking(draw_collection, state_of, name):
    rng = np.random.default_rng(8)
    state = state_of(draw_collection(rng, 5, cutoff=K), parse_measure(f"{name}@{K}"), rng)
    ranking = replace(
        state.ranking, scores=state.ranking.scores.moved(Moments(np.zeros(5), np.diag(np.arange(1.0, 6))))
    )
    found = make_selection_rule("scores", state.expected).weights(state.known, ranking)
    expected = [
        sum(place + 1 for place, system in enumerate(state.pool.systems) if (system, *pair) in state.at)
        for pair in state.pool.pairs
    ]
    assert found.tolist() == expected


def slope(state, name, system, pair):
    """Slope of a system's mean score with the gain of a pair, for a measure that is a plain sum."""
    rank = state.at.get((system, *pair))
    most = sum(discount(name, place) for place in range(1, K + 1)) * len(state.pool.queries)
    return 0.0 if rank is None else discount(name, rank) / most


def mean_scores(state, name):
    return {
        system: sum(slope(state, name, system, pair) * state.gain(pair)[0] for pair in state.pool.pairs)
        for system in state.pool.systems
    }


@pytest.mark.parametrize("name", ["CG", "DCG"])
def test_doubts_and_variances_are_the_sums_that_their_formulas_write(draw_collection, state_of, name):
    rng = np.random.default_rng(9)
    state = state_of(draw_collection(rng, 5, cutoff=K), parse_measure(f"{name}@{K}"), rng)
    mean, covariance = mean_scores(state, name), state.covariance(lambda *of: slope(state, name, *of))
    doubts, variances = [], []
    for pair in state.pool.pairs:
        own = {system: slope(state, name, system, pair) for system in state.pool.systems}
        total = 0.0
        for a, b in combinations(state.pool.systems, 2):
            spread = covariance[a, a] + covariance[b, b] - 2 * covariance[a, b]
            total += norm.pdf((mean[a] - mean[b]) / np.sqrt(spread)) ** 2 / spread * (own[a] - own[b]) ** 2
        doubts.append(state.gain(pair)[1] * total)
        variances.append(state.gain(pair)[1] * sum(value**2 for value in own.values()))
    np.testing.assert_allclose(weights_of("doubts", state), doubts, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(weights_of("variances", state), variances, rtol=1e-10, atol=1e-15)


def nearly_certain(known, place, doubt):
    """The same, except for one unjudged pair with only this much uncertainty."""
    chances, grades = known.probabilities.copy(), known.grades.copy()
    chances[place], grades[place] = [doubt / 2, 1 - doubt, doubt / 2], np.nan
    return Belief.independent(known.levels, chances, grades, known.maximum, known.models)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["CG", "DCG"])
def test_doubts_is_the_expected_fall_of_doubt_by_gauss_hermite_quadrature(draw_collection, state_of, name):
    # A judgment moves the difference of a pair of systems by a normal amount and removes its share of the variance;
    # the expectation of the sum of p (1 - p) afterwards is integrated by numpy. To first order in that share.
    nodes, mass = np.polynomial.hermite_e.hermegauss(60)
    mass = mass / mass.sum()
    rng = np.random.default_rng(10)
    collection = draw_collection(rng, 4, cutoff=K)
    state = state_of(collection, parse_measure(f"{name}@{K}"), rng)
    for place in range(0, len(state.pool.pairs), 5):
        for doubt, within in ((1e-2, 0.03), (1e-3, 0.003)):
            known = nearly_certain(state.known, place, doubt)
            here = state_of(collection, parse_measure(f"{name}@{K}"), rng, known=known)
            pair = here.pool.pairs[place]
            mean, covariance = mean_scores(here, name), here.covariance(lambda *of, at=here: slope(at, name, *of))
            fall = 0.0
            for a, b in combinations(here.pool.systems, 2):
                spread = covariance[a, a] + covariance[b, b] - 2 * covariance[a, b]
                weights = slope(here, name, a, pair) - slope(here, name, b, pair)
                moved = weights**2 * here.gain(pair)[1]
                before = norm.cdf((mean[a] - mean[b]) / np.sqrt(spread))
                after = norm.cdf((mean[a] - mean[b] + np.sqrt(moved) * nodes) / np.sqrt(spread - moved))
                fall += before * (1 - before) - mass @ (after * (1 - after))
            assert weights_of("doubts", here)[place] == pytest.approx(fall, rel=within, abs=1e-12)


def test_pairs_of_systems_that_are_settled_ask_for_nothing(tiny, state_of):
    # A is far ahead of B and C, which are a near-tie: only pairs that distinguish B and C have any value.
    runs = (Run("A", {"q1": ("a",)}), Run("B", {"q1": ("b",)}), Run("C", {"q1": ("c",)}))
    collection = replace(tiny, runs=runs, cutoff=1, teams={})
    pool = build_pool(collection)
    close = np.array([[0.0, 0.0, 1.0], [0.99, 0.01, 0.0], [0.99, 0.01, 0.0]])
    known = Belief.independent(np.array([0.0, 50.0, 100.0]), close, np.full(3, np.nan), 100.0, ("given",))
    state = state_of(collection, parse_measure("CG@1"), np.random.default_rng(0), known=known)
    assert state.pool.pairs == pool.pairs
    weights = weights_of("doubts", state)
    assert weights[0] == 0
    assert weights[1] == pytest.approx(weights[2])
    assert weights[1] > 0


def test_doubts_asks_for_nothing_where_everything_is_known(draw_collection, state_of):
    rng = np.random.default_rng(11)
    collection = draw_collection(rng)
    state = state_of(collection, parse_measure("CG@5"), rng)
    full = state.known.revise(np.full(len(state.pool.pairs), 50.0))
    done = state_of(collection, parse_measure("CG@5"), rng, known=full)
    assert not weights_of("doubts", done).any()
    assert not weights_of("variances", done).any()


def test_what_pulls_systems_apart_is_summed_over_their_pairs_however_many_documents_there_are():
    # More columns than fit into one block of 2,000,000 numbers; the edge of a block is among the compared columns.
    rng = np.random.default_rng(12)
    slopes = rng.random((300, 7000)) * (rng.random((300, 7000)) < 0.02)
    weights = np.triu(rng.random((300, 300)), 1)
    places = [0, 6665, 6666, 6667, 6999]
    found = squared_differences(csr_array(slopes), weights + weights.T)[places]
    expected = [(weights * (slopes[:, [place]] - slopes[:, place]) ** 2).sum() for place in places]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("order", "kind", "close"), [("F", np.float32, 1e-5), ("F", np.float64, 1e-12), ("C", float, 1e-12)]
)
def test_differences_of_systems_do_not_depend_on_how_their_covariances_lie_in_memory(order, kind, close):
    rng = np.random.default_rng(13)
    across = np.asarray(rng.normal(2, 1, (60, 7000)), dtype=kind, order=order)
    across[:, 17] = across[0, 17]  # the same for all systems
    weights = np.triu(rng.random((60, 60)), 1)
    found = squared_differences(across, weights + weights.T)
    places = [0, 3332, 3333, 3334, 6999]
    exact = across.astype(float)
    expected = [(weights * (exact[:, [place]] - exact[:, place]) ** 2).sum() for place in places]
    np.testing.assert_allclose(found[places], expected, rtol=close)
    assert found[17] == 0


def test_a_document_that_all_systems_retrieved_is_worth_exactly_nothing_to_know_their_differences(tiny, state_of):
    for seed in range(20):
        state = state_of(tiny, parse_measure("CG@2"), np.random.default_rng(seed))
        shared = [place for place, pair in enumerate(state.pool.pairs) if pair in {("q1", "a"), ("q2", "e")}]
        assert weights_of("doubts", state)[shared].tolist() == [0, 0]


def expected_of(tiny, measure="CG@2"):
    return expected_scores(parse_measure(measure), build_pool(tiny))


def random_weights(expected, seed):
    return make_selection_rule("random", expected, seed).weights(None, None)


def test_random_puts_every_pair_first_equally_often(tiny):
    expected = expected_of(tiny)
    first = np.bincount([random_weights(expected, seed).argmax() for seed in range(1400)], minlength=7)
    last = np.bincount([random_weights(expected, seed).argmin() for seed in range(1400)], minlength=7)
    assert chisquare(first).pvalue > 1e-3
    assert chisquare(last).pvalue > 1e-3


def test_random_is_fixed_by_its_seed_and_never_worth_nothing(tiny):
    expected = expected_of(tiny)
    assert random_weights(expected, 3).tolist() == random_weights(expected, 3).tolist()
    assert random_weights(expected, 3).tolist() != random_weights(expected, 4).tolist()
    assert all((random_weights(expected, seed) > 0).all() for seed in range(50))


def test_pooled_goes_down_all_rankings_rank_by_rank(draw_collection, state_of):
    rng = np.random.default_rng(13)
    collection = draw_collection(rng, 3, cutoff=K)
    state = state_of(collection, parse_measure(f"CG@{K}"), rng)
    depth, seen = {}, []
    for rank_ in range(1, K + 1):
        for run in collection.runs:
            for query, documents in run.rankings.items():
                for document in documents[rank_ - 1 : rank_]:
                    if (query, document) not in seen:
                        seen.append((query, document))
                        depth[query, document] = rank_
    weights = weights_of("pooled", state)
    assert len(depth) == len(weights)
    order = np.argsort(-weights, kind="stable")
    assert [depth[state.pool.pairs[place]] for place in order] == sorted(depth.values())


@pytest.mark.parametrize("measure", ["CG@2", "DCG(gain=exponential)@2", "nDCG@2", "RBP@2", "P(min=50)@2"])
@pytest.mark.parametrize("name", list(SELECTION_RULES))
def test_every_rule_weighs_every_pair_for_every_measure(tiny, name, measure):
    expected = expected_of(tiny, measure)
    count = len(expected.pool.pairs)
    rng = np.random.default_rng(14)
    chances, nothing = rng.dirichlet(np.ones(3), count), np.full(count, np.nan)
    known = Belief.independent(np.array([0.0, 50.0, 100.0]), chances, nothing, 100.0, ("drawn",))
    weights = make_selection_rule(name, expected).weights(known, rank(expected, "drawn", expected.scores(known), 0))
    assert weights.shape == (7,)
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()
    assert weights.any()


def test_rules_are_found_by_their_names_and_others_are_refused(tiny):
    expected = expected_of(tiny)
    assert [make_selection_rule(name, expected).name for name in SELECTION_RULES] == list(SELECTION_RULES)
    message = "^unknown selection rule 'luck', expected one of differences, .*, drawn, variances, random, pooled$"
    with pytest.raises(InputError, match=message):
        make_selection_rule("luck", expected)


@pytest.mark.slow
def test_pairs_are_drawn_by_lot_mostly_in_proportion_to_their_doubts(draw_collection, state_of):
    # The first pair of a draw without replacement is drawn with probability equal to its share of the weights.
    rng = np.random.default_rng(12)
    state = state_of(draw_collection(rng, systems=3, queries=1), parse_measure("CG@5"), rng)
    expected, known, ranking = state.expected, state.known, state.ranking
    doubts, scores = (make_selection_rule(name, expected).weights(known, ranking) for name in ("doubts", "variances"))
    open_ = np.where(known.judged, 0.0, 1.0)
    doubts, scores = doubts * open_, scores * open_
    draws, shares = 4000, 0.8 * doubts / doubts.sum() + 0.1 * scores / scores.sum() + 0.1 * open_ / open_.sum()
    rules = [make_selection_rule("drawn", expected, seed) for seed in range(draws)]
    values = rules[0].values(known, ranking)  # of which a seed changes the draws alone
    weights = [replace(values, drawn=rule._drawn).weights() for rule in rules]
    for rule, its in zip(rules[:20], weights, strict=False):
        np.testing.assert_array_equal(rule.weights(known, ranking), its)
    first = np.bincount(np.argmax(weights, axis=1), minlength=len(doubts))
    error = np.sqrt(shares * (1 - shares) / draws)
    assert np.all(np.abs(first / draws - shares) <= 4.5 * error)
    assert (shares > 0.02).sum() > 2
