"""Judgments by several people, compared with full multivariate normal distributions."""

import gc
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from audiosim.collection.pool import build_pool
from audiosim.collection.values import Judgment, Pair
from audiosim.errors import InputError
from audiosim.joint import fit
from audiosim.joint.estimators import make_estimator
from audiosim.joint.fit import COVARIATES, prior_deviations, usual_deviations
from audiosim.joint.moments import FIRST_LEARNING
from audiosim.joint.people import (
    JUDGE_QUERY,
    PAIR,
    SEVERITY,
    TASTE,
    VARIES,
    Disagreement,
    JudgedRows,
    Listeners,
    Opinions,
    Panel,
    PanelModel,
    PanelModels,
    disagreements,
    judge_noise,
    judge_reports,
    most_telling,
    with_judges,
)
from audiosim.joint.prior import Uncertainty as Held
from audiosim.joint.terms import layout_of
from audiosim.stats.normal.layout import REST
from audiosim.stats.normal.variance_components import estimate_components
from benchmarks.synthetic import Design, synthetic_collection

DEVIATIONS = {"query": 0.5, "retrievers": 0.3, "consensus": 0.2, "team": 0.2, "system": 0.3, PAIR: 0.4}
PEOPLE = {SEVERITY: 0.08, TASTE: 0.05, JUDGE_QUERY: 0.3, REST: 0.6}


def without(panel, judge):
    """The judgments by everybody else."""
    kept = panel.judge != judge
    names = tuple(name for code, name in enumerate(panel.judges) if code != judge)
    return Panel(names, panel.place[kept], (panel.judge - (panel.judge > judge))[kept], panel.gain[kept])


@pytest.fixture(scope="module")
def pool():
    return build_pool(
        synthetic_collection(np.random.default_rng(2), Design(systems=4, teams=2, queries=3, cutoff=4, candidates=12)),
        3,
    )


@pytest.fixture(scope="module")
def model(pool):
    rng = np.random.default_rng(5)
    layout = layout_of(pool, rng.uniform(0.2, 0.4, len(pool.pairs)), metadata=False)
    parts = np.asarray(pool.retrieved.T.toarray(), dtype=np.float64)
    parts /= np.maximum(1, parts.sum(axis=1, keepdims=True))
    mean = rng.uniform(0.3, 0.6, len(pool.pairs))
    return PanelModel(layout, layout.fixed, np.array([[0.2]]), parts, mean, DEVIATIONS | PEOPLE)


@pytest.fixture(scope="module")
def panel(pool):
    """Three people with judgments of some pairs each; some pairs are judged by two or three."""
    rng = np.random.default_rng(6)
    cells = [(place, judge) for place in range(len(pool.pairs)) for judge in range(3) if rng.random() < 0.3]
    place, judge = np.array(cells).T
    return Panel(("ann", "bob", "eve"), place, judge, rng.random(len(place)))


def written_out(pool, model, panel, count, noise):
    """Mean and covariance of gains, and of the unknown opinions of `count` people about each pair.

    Person by person: (n (1 + count),) and its covariance, by the formula at the head of `relevance.judges`.
    """
    n, s = len(pool.pairs), model.layout.scale
    same_query = pool.query[:, None] == pool.query
    gains = np.zeros((n, n))
    for name, kernels in model.layout.kernels.items():
        for rows, kernel in zip(model.layout.blocks, kernels, strict=True):
            gains[np.ix_(rows, rows)] += DEVIATIONS[name] ** 2 * kernel
    for name, columns in model.layout.shared.items():
        gains += DEVIATIONS[name] ** 2 * columns @ columns.T
    gains += DEVIATIONS[PAIR] ** 2 * np.eye(n)
    gains = gains * np.outer(s, s) + model.effects @ model.covariance @ model.effects.T
    full = np.tile(gains, (1 + count, 1 + count))
    alike = PEOPLE[SEVERITY] ** 2 + PEOPLE[TASTE] ** 2 * model.parts @ model.parts.T
    for person in range(count):
        own = alike + np.outer(s, s) * (PEOPLE[JUDGE_QUERY] ** 2 * same_query + noise[person] ** 2 * np.eye(n))
        at = slice(n * (1 + person), n * (2 + person))
        full[at, at] += own
    return np.tile(model.mean, 1 + count), full


def conditioned(mean, full, weights, seen, values):
    """Mean and covariance of weighted sums given some unknowns, by one solution."""
    gain = np.linalg.solve(full[np.ix_(seen, seen)], full[seen] @ weights.T).T
    return weights @ mean + gain @ (values - mean[seen]), weights @ full @ weights.T - gain @ full[seen] @ weights.T


@pytest.mark.parametrize("who", ["panel", "listeners", 5])
@pytest.mark.parametrize("noise", [(1.0, 1.0, 1.0), (0.5, 1.0, 2.0)], ids=["as careful", "one careless"])
def test_judgments_say_what_they_do_in_the_distribution_written_out(pool, model, panel, who, noise):
    noise = np.array(noise)
    judged = PanelModel(
        *(getattr(model, name) for name in ("layout", "effects", "covariance", "parts", "mean", "deviations")), noise
    )
    after = judged.posterior(panel, Listeners.of(who, 3))
    n, count = len(pool.pairs), 5 if who == 5 else 3
    own = PEOPLE[REST] * np.append(noise, np.ones(count - 3))
    mean, full = written_out(pool, model, panel, count, own)
    weights = np.zeros((n, len(mean)))
    weights[:, :n] = np.eye(n) * (who == "listeners")
    if who != "listeners":
        weights[:, n:] = np.tile(np.eye(n) / count, (1, count))
    expected, covariance = conditioned(mean, full, weights, n * (1 + panel.judge) + panel.place, panel.gain)
    np.testing.assert_allclose(after.mean, expected, atol=1e-10)
    np.testing.assert_allclose(after.among(np.arange(n)), covariance, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("who", ["panel", "listeners"])
def test_judgments_one_after_the_other_say_what_they_do_all_at_once(pool, model, panel, who):
    # A rank-one update of cached effects and blocks, compared with a new model.
    weights = pool.retrieved.astype(np.float64).tocsc()
    for count in range(6, len(panel.place) + 1):
        first = panel.first(count)
        found = model.posterior(first, Listeners.of(who, 3))
        anew = replace(model).posterior(first, Listeners.of(who, 3))
        np.testing.assert_allclose(found.mean, anew.mean, atol=1e-11)
        np.testing.assert_allclose(found.project(weights).mean, anew.project(weights).mean, atol=1e-11)
        np.testing.assert_allclose(found.project(weights).covariance, anew.project(weights).covariance, atol=1e-11)
    changed = replace(panel, gain=panel.gain[::-1].copy())
    anew = replace(model).posterior(changed, Listeners.of(who, 3))
    np.testing.assert_allclose(model.posterior(changed, Listeners.of(who, 3)).mean, anew.mean, atol=1e-11)


@pytest.fixture
def opinions_in_memory():
    """Counts the opinions made during the test that are still in memory."""
    gc.collect()
    gc.freeze()  # so that a count need not go through older objects

    def count():
        gc.collect()
        return sum(type(one) is Opinions for one in gc.get_objects())  # `isinstance` would ask proxies of deleted ones

    return count


def test_a_panel_that_has_grown_leaves_nothing_of_the_smaller_one_in_memory(model, panel, opinions_in_memory):
    model = replace(model)
    model.posterior(without(panel, 2), Listeners.of("panel", 2))
    model.posterior(without(panel, 2), Listeners.of("listeners", 2))
    assert opinions_in_memory() == 2
    model.posterior(panel, Listeners.of("panel", 3))
    assert opinions_in_memory() == 1


def test_a_model_learned_anew_leaves_nothing_of_the_one_before_in_memory(model, opinions_in_memory):
    place, judge = np.divmod(np.arange(FIRST_LEARNING), 3)
    panel = Panel(("ann", "bob", "eve"), place, judge, np.linspace(0, 1, FIRST_LEARNING))
    models = PanelModels()
    for judged in (FIRST_LEARNING - 1, FIRST_LEARNING):
        some = panel.first(judged)
        models.of(some, lambda _: replace(model)).posterior(some, Listeners.of("panel", 3))
        assert opinions_in_memory() == 1


def test_a_pair_that_everybody_of_a_panel_judged_is_known_and_listeners_at_large_are_not(pool, model):
    panel = Panel(("ann", "bob"), np.array([0, 0]), np.array([0, 1]), np.array([0.2, 0.6]))
    after = model.posterior(panel, Listeners.of("panel", 2))
    assert (after.mean[0], after.variance[0]) == (pytest.approx(0.4), 0)
    assert model.posterior(panel, Listeners.of("listeners", 2)).variance[0] > 0.01


def test_without_noise_one_person_says_what_a_known_gain_does(pool, model):
    quiet = PanelModel(
        model.layout, model.effects, model.covariance, model.parts, model.mean, DEVIATIONS | dict.fromkeys(PEOPLE, 0.0)
    )
    panel = Panel(("",), np.array([0, 3, 7]), np.zeros(3, dtype=np.int64), np.array([0.2, 0.9, 0.4]))
    known = model.layout.normal(DEVIATIONS | {REST: DEVIATIONS[PAIR]}, model.mean).with_effects(
        model.effects, model.covariance
    )
    known = known.condition_all(panel.place, panel.gain)
    after = quiet.posterior(panel, Listeners.of("listeners", 1))
    np.testing.assert_allclose(after.mean, known.mean, atol=1e-12)
    np.testing.assert_allclose(after.among(np.arange(12)), known.among(np.arange(12)), atol=1e-12)


def test_tastes_of_people_who_judged_least_count_as_noise_of_theirs(pool, model, panel, monkeypatch):
    # Without personal effects, their judgments of one system's results no longer err together, so less is known.
    whole = model.posterior(panel, Listeners.of("listeners", 3))
    monkeypatch.setattr("audiosim.joint.people.TASTES", 0)
    folded = model.posterior(panel, Listeners.of("listeners", 3))
    assert len(folded.shared) == len(whole.shared) - 3 * len(pool.systems)
    np.testing.assert_allclose(folded.mean, whole.mean, atol=0.05)


def test_a_disagreement_is_written_on_the_scale():
    one = Disagreement(Pair("q", "d"), {"ann": 0.5, "bob": 0.25}, {"ann": 0.25, "bob": -0.125}, 1.5, 0.1)
    said = {"grades": {"ann": 50, "bob": 25}, "beyond": {"ann": 25, "bob": -12.5}}
    assert one.to_dict(100) == {"query": "q", "document": "d", **said, "spread": 1.5, "chance": 0.1}


def test_a_pair_belongs_in_equal_parts_to_the_systems_that_retrieved_it(pool):
    judged = make_estimator(pool, "joint").judged_rows(Panel.of(pool, [Judgment(*pool.pairs[0], 0, "ann")]))
    retrieved = pool.retrieved.toarray().T
    assert {1, 2} <= set(retrieved.sum(axis=1).tolist())  # by one system alone, and by several
    for parts, found in zip(judged.parts, retrieved, strict=True):
        assert parts == pytest.approx(found / found.sum())


def test_a_panel_has_the_last_judgment_of_each_person_of_each_pair(pool):
    (query, document), other = pool.pairs[:2]
    top = pool.scale.maximum
    said = [
        Judgment(query, document, top, "bob"),
        Judgment(query, document, 0, "ann"),
        Judgment(query, document, 0, "bob"),
        Judgment(*other, top, "ann"),
        Judgment("elsewhere", "nothing", 0, "eve"),
    ]
    panel = Panel.of(pool, said)
    assert panel.judges == ("bob", "ann")
    rows = sorted(zip(panel.place.tolist(), panel.judge.tolist(), panel.gain.tolist(), strict=True))
    assert rows == [(0, 0, 0), (0, 1, 0), (1, 1, 1)]
    alone = without(panel, 0)
    assert (alone.judges, alone.place.tolist(), alone.judge.tolist()) == (("ann",), [0, 1], [0, 0])


def test_a_statement_about_fewer_people_than_have_judged_is_refused():
    with pytest.raises(InputError, match="a number of people of at least the 3 who judged"):
        Listeners.of(2, 3)


def test_the_search_from_fewer_queries_ends_at_the_same_sizes(pool, model, panel, monkeypatch):
    estimator = make_estimator(pool, "joint")
    alone = estimator.panel_model(panel)
    monkeypatch.setattr(fit, "MANY", len(panel.place) // 10)
    found = estimator.panel_model(panel)
    assert found.likeliest == pytest.approx(dict(alone.likeliest), rel=1e-6)
    np.testing.assert_allclose(found.noise, alone.noise, rtol=1e-6)


@pytest.mark.slow
def test_sizes_are_found_again_in_judgments_drawn_with_them():
    # Six people judge all pairs: each size is within two and a half standard errors.
    rng = np.random.default_rng(11)
    pool = build_pool(synthetic_collection(rng, Design(systems=5, teams=3, queries=20, cutoff=3, candidates=12)), 3)
    n, people = len(pool.pairs), 6
    layout = layout_of(pool, np.full(n, 0.3), metadata=False)
    parts = np.asarray(pool.retrieved.T.toarray(), dtype=np.float64)
    parts /= np.maximum(1, parts.sum(axis=1, keepdims=True))
    gains = layout.normal({**DEVIATIONS, REST: DEVIATIONS[PAIR]}, np.zeros(n))
    drawn = np.empty(n)
    for rows, values in gains.draw(rng, 1):
        drawn[rows] = values[0]
    place, judge = np.tile(np.arange(n), people), np.repeat(np.arange(people), n)
    said = drawn[place] + PEOPLE[SEVERITY] * rng.standard_normal(people)[judge]
    said += np.vecdot(parts[place], PEOPLE[TASTE] * rng.standard_normal((people, parts.shape[1]))[judge])
    said += 0.3 * PEOPLE[JUDGE_QUERY] * rng.standard_normal((people, len(pool.queries)))[judge, pool.query[place]]
    said += 0.3 * PEOPLE[REST] * rng.standard_normal(len(place))
    panel = Panel(tuple(map(str, range(people))), place, judge, said)
    found = estimate_components([with_judges(layout, parts, panel)], [said], DEVIATIONS | PEOPLE)
    for name in (PAIR, SEVERITY, TASTE, JUDGE_QUERY, REST):
        assert abs(found.standard_deviations[name] - (DEVIATIONS | PEOPLE)[name]) < 2.5 * found.errors[name], name
    assert COVARIATES not in found.standard_deviations


def test_noise_and_what_is_true_of_a_pair_are_those_of_a_balanced_analysis_of_variance():
    # One-way random effects: E[MSB] = noise^2 + k pair^2, E[MSW] = noise^2; restricted likelihood agrees with it.
    from audiosim.stats.normal.layout import Layout

    rng = np.random.default_rng(3)
    n, k = 60, 3
    values = (0.5 * rng.standard_normal(n)[:, None] + rng.standard_normal((n, k))).ravel()
    blocks = tuple(np.array([place]) for place in range(n))
    ones = tuple(np.ones((1, 1)) for _ in range(n))
    layout = Layout(blocks, {PAIR: ones}, {}, np.ones(n)).part(np.repeat(np.arange(n), k))
    found = estimate_components([layout], [values], {PAIR: 1.0, REST: 1.0}).standard_deviations
    cells = values.reshape(n, k)
    within = cells.var(axis=1, ddof=1).mean()
    between = k * cells.mean(axis=1).var(ddof=1)
    assert found[REST] ** 2 == pytest.approx(within, rel=1e-4)
    assert found[PAIR] ** 2 == pytest.approx((between - within) / k, rel=1e-3)


def test_a_severe_and_a_careless_person_are_told_from_the_others(pool, model):
    # Severity: the conditional mean of the full distribution, for people who judge everything.
    rng = np.random.default_rng(8)
    n, people = len(pool.pairs), 4
    place, judge = np.tile(np.arange(n), people), np.repeat(np.arange(people), n)
    noise = 0.06 * np.array([1, 1, 1, 4])[judge]
    said = model.mean[place] + np.array([-0.2, 0, 0, 0])[judge] + noise * rng.standard_normal(len(place))
    panel = Panel(("severe", "ann", "bob", "careless"), place, judge, said)
    rows = with_judges(model.layout, model.parts, panel)
    judged = JudgedRows(rows, DEVIATIONS | PEOPLE, panel, said - model.mean[place], 0.3, model.parts)
    found = judge_reports(judged, pool.systems)
    reports = {one.judge: one for one in found}
    assert reports["severe"].severity[2] < min(one.severity[0] for name, one in reports.items() if name != "severe")
    assert reports["careless"].noise[1] > max(one.noise[2] for name, one in reports.items() if name != "careless")
    assert reports["careless"].worth < reports["ann"].worth / 3
    flat = replace(model, covariance=np.zeros((1, 1)))
    own = np.array([one.noise[0] for one in found]) / 0.3
    full = written_out(pool, flat, panel, people, own)[1][n:, n:]
    solved = np.linalg.solve(full, said - model.mean[place])
    expected = PEOPLE[SEVERITY] ** 2 * np.eye(people)[judge].T @ solved
    np.testing.assert_allclose([one.severity[0] for one in found], expected, rtol=1e-6)
    systems = [pool.systems.index(one.favours) for one in found]
    tastes = PEOPLE[TASTE] ** 2 * (model.parts[place].T * solved) @ np.eye(people)[judge]
    np.testing.assert_allclose([one.taste[0] for one in found], tastes[systems, range(people)], rtol=1e-6)
    # Drift by generalised least squares, one person at a time.
    for code, one in enumerate(found):
        course = np.where(judge == code, np.tile(np.linspace(-0.5, 0.5, n), people), 0)
        told = course @ np.linalg.solve(full, course)
        reach = 1.959964 / np.sqrt(told)
        expected = course @ solved / told + np.array([0, -reach, reach])
        np.testing.assert_allclose(one.drift, expected, rtol=1e-6, atol=1e-9)


def test_somebody_whose_grades_rise_as_they_go_on_is_found_and_of_few_judgments_nothing_is_said(pool, model):
    rng = np.random.default_rng(11)
    n, people = len(pool.pairs), 3
    place = np.concatenate([rng.permutation(n), rng.permutation(n), rng.permutation(n)[:5]])
    judge = np.repeat(np.arange(people), [n, n, 5])
    rising = np.concatenate([np.linspace(0, 0.3, n), np.zeros(n + 5)])
    said = model.mean[place] + rising + 0.05 * rng.standard_normal(len(place))
    panel = Panel(("rising", "steady", "new"), place, judge, said)
    rows = with_judges(model.layout, model.parts, panel)
    judged = JudgedRows(rows, DEVIATIONS | PEOPLE, panel, said - model.mean[place], 0.3, model.parts)
    rising_one, steady, new = judge_reports(judged, pool.systems)
    assert rising_one.drift[1] < 0.3 < rising_one.drift[2]
    assert rising_one.drift[1] > 0
    assert steady.drift[1] < 0 < steady.drift[2]
    assert new.drift is None
    assert new.to_dict()["drift_low"] is None


def test_pairs_on_which_people_differ_most_are_those_of_the_distribution_written_out(pool, model, panel):
    rows = with_judges(model.layout, model.parts, panel)
    off = panel.gain - model.mean[panel.place]
    judged = JudgedRows(rows, DEVIATIONS | PEOPLE, panel, off, 0.3, model.parts)
    found = disagreements(judged, pool.pairs)
    n, noise = len(pool.pairs), PEOPLE[REST] * judged.noise.times
    flat = replace(model, covariance=np.zeros((1, 1)))
    seen = n * (1 + panel.judge) + panel.place
    full = written_out(pool, flat, panel, 3, noise)[1][np.ix_(seen, seen)]
    expected = {}
    for place in range(n):
        own, others = panel.place == place, panel.place != place
        k = int(own.sum())
        if k < 2:
            continue
        gain = np.linalg.solve(full[np.ix_(others, others)], full[np.ix_(others, own)]).T
        left = off[own] - gain @ off[others]
        covariance = full[np.ix_(own, own)] - gain @ full[np.ix_(others, own)]
        # The differences from the first person's grade: any others give the same.
        contrasts = np.hstack([-np.ones((k - 1, 1)), np.eye(k - 1)])
        differences = contrasts @ left
        square = differences @ np.linalg.solve(contrasts @ covariance @ contrasts.T, differences)
        said = dict(zip([panel.judges[one] for one in panel.judge[own]], left, strict=True))
        expected[pool.pairs[place]] = (said, np.sqrt(square / (k - 1)), stats.chi2.sf(square, k - 1))
    assert {one.pair for one in found} == set(expected)
    for one in found:
        said, spread, chance = expected[one.pair]
        assert one.beyond == pytest.approx(said, rel=1e-6)
        assert (one.spread, one.chance) == pytest.approx((spread, chance), rel=1e-6)
    assert [one.chance for one in found] == sorted(one.chance for one in found)


def test_a_severe_persons_grades_are_no_disagreement_and_one_slip_is(pool, model):
    rng = np.random.default_rng(12)
    n = len(pool.pairs)
    place, judge = np.tile(np.arange(n), 2), np.repeat([0, 1], n)
    said = model.mean[place] - 0.3 * judge + 0.02 * rng.standard_normal(2 * n)
    said[n + 4] += 0.3  # the only pair on which both agree
    panel = Panel(("ann", "severe"), place, judge, said)
    rows = with_judges(model.layout, model.parts, panel)
    judged = JudgedRows(rows, DEVIATIONS | PEOPLE, panel, said - model.mean[place], 0.3, model.parts)
    first = disagreements(judged, pool.pairs, 1)[0]
    assert first.pair == pool.pairs[4]


def test_of_too_many_judgments_those_on_shared_pairs_count(panel):
    kept = most_telling(panel, 8)
    several = np.flatnonzero(np.bincount(panel.place)[panel.place] > 1)
    np.testing.assert_array_equal(kept.place, panel.place[several[-8:]])
    everything = most_telling(panel, 10_000)
    np.testing.assert_array_equal(everything.gain, panel.gain)


@pytest.mark.slow
def test_noise_of_each_person_is_where_its_likelihood_times_the_prior_is_largest(pool, model):
    # The full restricted likelihood, with the scale as its trend, maximised by scipy over three logarithms.
    rng = np.random.default_rng(9)
    n, people = len(pool.pairs), 3
    place, judge = np.tile(np.arange(n), people), np.repeat(np.arange(people), n)
    said = model.mean[place] + 0.1 * np.array([0.6, 1, 2])[judge] * rng.standard_normal(len(place))
    panel, off = Panel(("careful", "usual", "careless"), place, judge, said), said - model.mean[place]
    found = judge_noise(with_judges(model.layout, model.parts, panel), DEVIATIONS | PEOPLE, panel, off)
    flat, x = replace(model, covariance=np.zeros((1, 1))), model.layout.scale[place]

    def cost(logarithms):
        covariance = written_out(pool, flat, panel, people, PEOPLE[REST] * np.exp(logarithms))[1][n:, n:]
        inverse = np.linalg.inv(covariance)
        left = off - x * (x @ inverse @ off) / (x @ inverse @ x)
        twice = np.linalg.slogdet(covariance)[1] + np.log(x @ inverse @ x) + left @ inverse @ left
        return twice / 2 + (logarithms**2).sum() / (2 * VARIES**2)

    best = minimize(cost, np.zeros(people))
    np.testing.assert_allclose(np.log(found.times), best.x, atol=0.02)
    np.testing.assert_allclose(found.errors, np.sqrt(np.diagonal(best.hess_inv)), rtol=0.35)


def test_before_two_people_have_judged_nothing_is_taken_from_what_is_true_of_queries_and_systems(pool, model):
    # No interval can compensate a wrongly certain prior: half of one person's variance belongs to the pair alone.
    held = Held(np.zeros(1), np.eye(1), {"query": 0.5, "system": 0.04, REST: 0.6}, {REST: 0.2}, False)
    centre, spread = prior_deviations(model.layout, held, usual_deviations())
    assert (centre["query"], centre["system"]) == (0.5, 0.04)
    assert centre[PAIR] ** 2 == pytest.approx(0.6**2 / 2)
    assert spread[PAIR] >= 0.4


def test_a_model_of_more_people_serves_an_earlier_moment(model, panel):
    """A model learned on a panel is asked for the state before its last person joined."""
    known = replace(model, noise=np.array([1.0, 1.2, 0.8]))
    earlier = without(panel, 2)
    found = known.posterior(earlier, Listeners.of("panel", 2))
    expected = replace(model, noise=np.array([1.0, 1.2])).posterior(earlier, Listeners.of("panel", 2))
    np.testing.assert_array_equal(found.mean, expected.mean)
    np.testing.assert_array_equal(found.variance, expected.variance)
