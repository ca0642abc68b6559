"""Statements about these queries, and about queries of this kind."""

from dataclasses import replace
from functools import cache
from io import StringIO

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from audiosim.collection.pool import build_pool
from audiosim.collection.values import Judgment, Run
from audiosim.errors import InputError
from audiosim.joint.estimators import make_estimator
from audiosim.measures.measure import parse_measure
from audiosim.measures.satisfaction import published_mapping
from audiosim.ranking import Selection
from audiosim.ranking.about import OF_THIS_KIND, THESE, About, as_about
from audiosim.ranking.expected import estimate, expected_scores
from audiosim.ranking.linear import LinearScores
from audiosim.ranking.ranking import of_these
from audiosim.ranking.sampled import SampledScores
from audiosim.ranking.separation import two_systems_of_pool
from audiosim.ranking.stopping import parse_stopping_rule
from audiosim.ranking.two_systems import on_another_sample, sentence_again
from audiosim.ranking.verdicts import Verdicts
from audiosim.report.rank import ranking_view
from audiosim.simulation.alternatives import scores_of


# With everything judged it is the paired t-test: compared with scipy's on the scores of `evaluate`.
@pytest.mark.slow
@pytest.mark.parametrize("written", ["CG@5", "nDCG@5", "AP(min=40)@5"])
@pytest.mark.parametrize("model", ["joint", "uniform"])
def test_with_everything_judged_a_statement_about_queries_of_this_kind_is_the_paired_t_test(demo, written, model):
    measure = parse_measure(written)
    ranking = estimate(demo, model, measure, about="queries")
    pool = build_pool(demo, measure.cutoff)
    scores = scores_of(pool, measure, pool.spread(demo.grades()))
    for place, (a, b) in enumerate(zip(*ranking.scores.pairs, strict=True)):
        test = stats.ttest_rel(scores[a], scores[b])
        assert ranking.scores.confidences[place] == pytest.approx(1 - test.pvalue / 2, abs=1e-9)
        low, high = test.confidence_interval()
        mean, variance = (of[place] for of in ranking.scores.differences)
        reach = ranking.scores.quantile(0.95) * np.sqrt(variance)
        assert (mean - reach, mean + reach) == pytest.approx((low, high), abs=1e-9)
    assert of_these(ranking).confidence == 1
    assert ranking.about == OF_THIS_KIND
    assert ranking.to_dict()["about"] == {"queries": "queries", "listeners": "panel"}


# By definition, over all possible grades; the sampled one is as accurate as 4,000 draws.
@pytest.mark.parametrize("written", ["CG@2", "DCG(gain=exponential)@2", "nDCG(ideal=user)@2", "P(min=2)@2"])
@pytest.mark.parametrize("judged", [{}, {0: 1.0, 5: 2.0}], ids=["none judged", "two judged"])
def test_between_queries_is_the_mean_sample_covariance_over_all_outcomes(doubt, definitions, written, judged):
    doubt, measure = doubt.judged(judged), parse_measure(written)
    definition = definitions[measure.name]
    expected = expected_scores(measure, doubt.pool, draws=4000)
    found = expected.between_queries(doubt.belief, expected.scores(doubt.belief))
    true = mean_sample_covariance_over(doubt, definition, measure)
    tolerance = 0.03 * true.max() if isinstance(expected, SampledScores) else 1e-12
    np.testing.assert_allclose(found, true, rtol=0, atol=tolerance)


def mean_sample_covariance_over(doubt, definition, measure):
    pairs = {query: [pair for pair in doubt.pool.pairs if pair.query == query] for query in doubt.pool.queries}
    score = cache(lambda *lists: definition(measure, doubt.pool.scale, *map(list, lists)))
    scores, chances = [], []
    for grades, chance in doubt.outcomes():
        of_query = {query: tuple(grades[pair] for pair in pairs[query]) for query in pairs}
        lists = [{q: ds[: measure.cutoff] for q, ds in run.rankings.items()} for run in doubt.runs]
        scores.append(
            [
                [score(tuple(grades[q, d] for d in ds[q]), of_query[q]) if q in ds else 0.0 for q in pairs]
                for ds in lists
            ]
        )
        chances.append(chance)
    off = np.array(scores) - np.mean(scores, axis=2, keepdims=True)
    return np.einsum("n,nsq,ntq->st", chances, off, off) / (len(pairs) - 1)


# Correlated gains: by drawing them; 20,000 draws of 24 queries leave an error of some 1 %.
@pytest.mark.slow
@pytest.mark.parametrize("judged", [0, 60])
def test_between_queries_of_correlated_gains_is_that_of_drawn_ones(demo, judged):
    pool, measure = build_pool(demo, 5), parse_measure("CG@5")
    grades = pool.spread(demo.grades())
    grades[np.random.default_rng(1).permutation(len(grades))[judged:]] = np.nan
    belief, expected = make_estimator(pool, "joint").predict(grades), LinearScores(measure, pool)
    found = expected.between_queries(belief, expected.scores(belief))
    draws, weights = 20_000, expected.weights.toarray()
    scores = np.zeros((len(pool.queries), len(pool.systems), draws))
    for rows, gains in belief.gains.draw(np.random.default_rng(0), draws):
        for code in np.unique(pool.query[rows]).tolist():
            own = pool.query[rows] == code
            scores[code] += len(pool.queries) * weights[:, rows[own]] @ gains[:, own].T
    off = scores - scores.mean(axis=0)
    true = np.einsum("qad,qbd->ab", off, off) / draws / (len(pool.queries) - 1)
    np.testing.assert_allclose(found, true, rtol=0, atol=0.02 * true.max())


@pytest.mark.slow
@pytest.mark.parametrize("model", ["joint", "uniform"])
@pytest.mark.parametrize("written", ["nDCG@5", "RBP@5"])
def test_between_queries_of_a_ratio_is_that_of_simulation(demo, written, model):
    pool, measure = build_pool(demo, 5), parse_measure(written)
    grades = pool.spread(demo.grades())
    grades[200:] = np.nan
    belief = make_estimator(pool, model).predict(grades)
    exact, drawn = expected_scores(measure, pool), SampledScores(measure, pool, 400)
    found, true = (one.between_queries(belief, one.scores(belief)) for one in (exact, drawn))
    np.testing.assert_allclose(found, true, rtol=0, atol=0.08 * true.max())


@pytest.mark.slow
@pytest.mark.parametrize("model", ["joint", "uniform"])
def test_shares_of_users_vary_over_queries_as_drawn_ones_do(demo, model):
    pool, measure = build_pool(demo, 5), parse_measure("CG@5")
    grades = pool.spread(demo.grades())
    grades[300:] = np.nan
    belief, mapping = make_estimator(pool, model).predict(grades), published_mapping(measure, pool.scale.name)
    linear, drawn = LinearScores(measure, pool), SampledScores(measure, pool, 1000)
    found, true = (one.between_queries(belief, one.satisfied(belief, mapping), mapping) for one in (linear, drawn))
    np.testing.assert_allclose(found, true, rtol=0, atol=0.08 * true.max())


@pytest.mark.slow
def test_widening_leaves_what_queries_vary_and_these_queries_come_back(demo):
    ranking = estimate(replace(demo, judgments=demo.judgments[:100]), about="queries")
    wider, here = ranking.scores.wider(2.0), ranking.scores.of_these
    np.testing.assert_allclose(wider.sampling, ranking.scores.sampling)
    np.testing.assert_allclose(wider.of_these.variance, 4 * here.variance)
    these = estimate(replace(demo, judgments=demo.judgments[:100]))
    np.testing.assert_allclose(here.covariance, these.scores.covariance, atol=1e-15)
    assert these.scores.of_these is these.scores
    assert ranking.confidence < these.confidence


def test_one_run_under_two_names_is_equal_about_any_queries_and_left_out(demo):
    twice = replace(demo, runs=(*demo.runs, Run("copy", demo.runs[0].rankings)), judgments=demo.judgments[:150])
    for about in ("these", "queries"):
        with_copy = estimate(twice, "uniform", about=about)
        ((a, b),) = [(row["a"], row["b"]) for row in with_copy.pair_rows() if row["equal"]]
        assert {a, b} == {"copy", demo.runs[0].system}
        first = demo.runs[0].system
        rest = [row["confidence"] for row in with_copy.pair_rows() if not row["equal"]]
        assert with_copy.confidence == pytest.approx(np.mean(rest))
        found = two_systems(twice, first, "copy", about)
        assert (found.verdict, found.confidence, found.again) == ("equal", 1.0, None)
        assert found.sentence.startswith(f"{first} and copy are equal on ")


def test_equal_systems_are_counted_in_the_verdict(demo):
    first = demo.runs[0]
    twins = tuple(Run(name, first.rankings) for name in ("copy", "again"))
    for runs, said in ((twins[:1], "are equal"), (twins, "are equal, as are 2 more pairs")):
        found = Verdicts(estimate(replace(demo, runs=(*demo.runs, *runs)), "uniform"))
        assert f"; {first.system} and copy {said}." in found.sentence


def two_systems(collection, a, b, about):
    pool = build_pool(collection, 5)
    grades = pool.spread(collection.grades())
    expected = expected_scores(parse_measure("CG@5"), pool)
    return two_systems_of_pool(expected, make_estimator(pool, "uniform"), grades, (a, b), 0.95, about=as_about(about))


@pytest.mark.slow
def test_a_verdict_says_what_it_is_about_with_the_other_beside_it(demo):
    a, b = demo.runs[0].system, demo.runs[1].system
    found = two_systems(demo, a, b, "queries")
    assert "on queries of this kind" in found.sentence
    assert "on these queries" in found.beside.sentence
    assert found.beside.confidence == 1
    other = two_systems(demo, a, b, "these")
    assert (other.confidence, other.beside.confidence) == (1, found.confidence)
    assert found.to_dict()["beside"]["about"] == {"queries": "these", "listeners": "panel"}
    assert found.to_frame().loc[0, "about_queries"] == "queries"
    place = found.ranking.scores.place_of(*map(found.ranking.systems.index, (a, b)))
    assert found.to_dict()["again"] == on_another_sample(found.ranking)[place] < found.confidence
    ahead = a if found.expectation > 0 else b
    assert sentence_again(found) == f"On another 24 queries, {ahead} is ahead with probability {found.again:.3f}."
    assert (other.again, sentence_again(other)) == (None, "")


def test_a_single_query_shows_nothing_of_others(tiny):
    alone = replace(tiny, runs=tuple(Run(run.system, {"q1": run.rankings["q1"]}) for run in tiny.runs))
    with pytest.raises(InputError, match=r"^a single query does not show how queries of this kind vary: expected a"):
        estimate(alone, "uniform", "CG@2", about="queries")


def test_a_stopping_rule_may_be_about_queries_of_this_kind(demo):
    rule = parse_stopping_rule("confidence(about=queries)=0.999")
    assert str(rule) == "confidence(about=queries)=0.999"
    pool = build_pool(demo, 5)
    judged = Selection.start(pool, parse_measure("CG@5"), make_estimator(pool, "uniform"), demo.judgments)
    assert not rule.reached(judged)
    assert parse_stopping_rule("confidence=0.999").reached(judged)
    assert rule.level(judged) == pytest.approx(judged.stated(OF_THIS_KIND).confidence)
    asked = replace(judged, about=OF_THIS_KIND)
    assert parse_stopping_rule("confidence=0.999").level(asked) == rule.level(judged)
    for sure in ("every({})=0.9", "users(share=0.05,{})=0.9", "difference(size=0.02,{})=0.9"):
        assert level(sure, "queries", judged) < level(sure, "these", judged)
    assert level("error({})=0.05", "queries", judged) > level("error({})=0.05", "these", judged)


def level(written, about, state):
    return parse_stopping_rule(written.format(f"about={about}")).level(state)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["judges"],
            "^a statement is about .*: expected these or queries, and panel, listeners or a number; got 'judges'$",
        ),
        (["panel", "listeners"], "^a statement is about panel or listeners, not both$"),
        (["these", "queries"], r"^a statement is about these or queries, not both$"),
    ],
)
def test_what_a_statement_cannot_be_about_is_refused(words, message):
    with pytest.raises(InputError, match=message):
        About.parse(words)


def test_words_of_one_axis_leave_the_other():
    assert About.parse("panel", OF_THIS_KIND) == OF_THIS_KIND
    assert About.parse(["these", "panel"], OF_THIS_KIND) == THESE == as_about(THESE)
    with pytest.raises(InputError, match=r"^unknown queries 'all' of a statement, expected these or queries$"):
        About("all")


def judged_by(demo, *people):
    """The demo's first 240 judgments, each by all of some people, who differ by two levels of the scale."""
    rng = np.random.default_rng(4)
    levels, said = np.array(demo.scale.levels), []
    for name in people:
        lean = rng.normal(0, 8)
        for one in demo.judgments[:240]:
            grade = levels[np.abs(levels - (one.grade + lean + rng.normal(0, 15))).argmin()]
            said.append(Judgment(one.query, one.document, float(grade), name))
    return replace(demo, judgments=tuple(said))


@pytest.mark.slow
def test_one_person_s_statement_is_that_of_one_whom_nobody_names(demo):
    nameless = replace(demo, judgments=demo.judgments[:240])
    named = replace(demo, judgments=tuple(replace(one, assessor="ann") for one in nameless.judgments))
    for about in ("panel", "1"):
        ours, theirs = estimate(named, about=about), estimate(nameless)
        np.testing.assert_array_equal(ours.scores.mean, theirs.scores.mean)
        np.testing.assert_array_equal(ours.scores.covariance, theirs.scores.covariance)
        assert ours.at_large is None


@pytest.mark.slow
def test_a_statement_about_more_people_than_judged_is_less_sure(demo):
    found = judged_by(demo, "ann", "bob")
    panel, six, listeners = (estimate(found, about=about) for about in ("panel", "6", "listeners"))
    for less, more in ((panel, six), (six, listeners)):
        assert np.all(np.diff(less.scores.interval(), axis=0) < np.diff(more.scores.interval(), axis=0))
    assert (panel.judges, listeners.about.words) == (2, "these queries, listeners at large")
    beside = panel.at_large
    np.testing.assert_allclose(beside.scores.covariance, listeners.scores.covariance, rtol=1e-12)
    assert panel.to_dict()["at_large"]["confidence"] == pytest.approx(listeners.confidence)
    assert listeners.at_large is None
    with pytest.raises(InputError, match="a number of people of at least the 2 who judged"):
        estimate(found, about="1")


def test_nothing_judged_can_be_said_of_listeners_too(demo):
    """True values of pairs vary less than one person's grades of them."""
    nothing = replace(demo, judgments=())
    panel, listeners = (estimate(nothing, about=about) for about in ("panel", "listeners"))
    assert (panel.judged, listeners.judged) == (0, 0)
    assert listeners.scores.mean == pytest.approx(panel.scores.mean)
    assert np.all(listeners.scores.variance < panel.scores.variance)


@pytest.mark.slow
def test_what_one_person_says_of_others_rests_on_other_collections_and_says_so(demo):
    alone = estimate(judged_by(demo, "ann"), about="listeners")
    known = estimate(judged_by(demo, "ann"))
    assert np.all(alone.scores.variance > known.scores.variance)
    assert "Only one person judged: the differences between people" in drawn_on_screen(alone)
    both = estimate(judged_by(demo, "ann", "bob"))
    assert "; the mean opinion of 2 people, who differ in severity and taste: confidence" in repr(both)
    assert "people" not in repr(known)
    beside = drawn_on_screen(both)
    assert "in the opinion of the 2 people who judged; 0." in beside
    assert "for listeners at large" in beside


def drawn_on_screen(ranking):
    console = Console(width=200, file=StringIO())
    console.print(ranking_view(ranking))
    return console.file.getvalue()


def test_a_model_that_knows_no_people_says_nothing_of_listeners_at_large(demo):
    with pytest.raises(InputError, match="does not model people who have not judged: use the model joint"):
        estimate(judged_by(demo, "ann", "bob"), "uniform", about="listeners")


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["nDCG@5", "CG(gain=exponential)@5", "RR(min=50)@5"])
def test_other_measures_are_less_sure_of_listeners_at_large_too(demo, measure):
    found = judged_by(demo, "ann", "bob")
    panel, listeners = (estimate(found, measure=measure, about=about) for about in ("panel", "listeners"))
    assert listeners.scores.variance.mean() > panel.scores.variance.mean()


@pytest.mark.slow
def test_a_loop_told_one_by_one_says_what_an_estimate_of_all_says(demo):
    found = judged_by(demo, "ann", "bob")
    pool, what = build_pool(demo, 5), parse_measure("CG@5")
    inside = [one for one in found.judgments if one.pair in pool.positions]
    said = [inside[place] for place in np.random.default_rng(1).permutation(len(inside))[:40]]
    selection = Selection.start(pool, what, make_estimator(pool, None))
    for one in said:
        selection = selection.tell(one)
    whole = Selection.start(pool, what, make_estimator(pool, None), said)
    for about in (THESE, About("these", "listeners")):
        ours, theirs = selection.stated(about), whole.stated(about)
        np.testing.assert_allclose(ours.scores.mean, theirs.scores.mean, rtol=1e-9)
        np.testing.assert_allclose(ours.scores.covariance, theirs.scores.covariance, rtol=1e-7, atol=1e-15)
    assert parse_stopping_rule("confidence(about=listeners)=0.9").level(selection) == pytest.approx(
        parse_stopping_rule("confidence=0.9").level(replace(selection, about=About("these", "listeners")))
    )
    assert str(parse_stopping_rule("confidence(about=queries+listeners)=0.9")).count("queries+listeners") == 1
    fewer = selection.withdraw(said[-1].pair, said[-1].assessor)
    assert len(fewer.panel.place) == len(said) - 1
