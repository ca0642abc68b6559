"""Statements about all systems at once, compared with studentized ranges, quadrature, brute force and simulation."""

import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm, studentized_range
from scipy.stats import t as student

from audiosim.errors import InputError
from audiosim.measures.measure import parse_measure
from audiosim.ranking.expected import estimate
from audiosim.ranking.ranking import Ranking
from audiosim.ranking.scores import SystemScores
from audiosim.ranking.two_systems import Condition, TwoSystems
from audiosim.ranking.verdicts import Verdicts, largest_sets, stretches
from audiosim.report.rank import verdict_view


def ranking(mean, covariance, queries=1000, distribution="t"):
    mean = np.asarray(mean, dtype=float)
    names = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ123"[: len(mean)])
    scores = SystemScores(mean, np.asarray(covariance, dtype=float), queries, 100, distribution=distribution)
    return Ranking(parse_measure("CG@5"), "made", names, scores, 10, 100)


def random_ranking(rng, systems=6, scale=0.02):
    factor = rng.normal(size=(systems, systems))
    return ranking(rng.normal(0.5, 0.05, systems), scale**2 * factor @ factor.T / systems, distribution="normal")


@pytest.mark.parametrize(("systems", "queries"), [(3, 11), (6, 31), (18, 101)])
def test_the_critical_value_of_independent_scores_is_that_of_the_studentized_range(systems, queries):
    # Tukey's: the range of k means over their standard deviation; that of a difference is sqrt(2) times as large.
    expected = studentized_range.ppf(0.95, systems, queries - 1) / np.sqrt(2)
    found = Verdicts(ranking(np.zeros(systems), np.eye(systems), queries)).critical
    assert found == pytest.approx(expected, rel=0.015)  # 10,000 draws: three standard errors of the quantile


@pytest.mark.parametrize("factor", [np.eye(6), np.tri(6)[:, :3], np.ones((6, 2)), np.tri(6)[:, ::2]])
def test_last_bits_of_the_covariance_change_no_probability(factor):
    # Equal eigenvalues, and those that are 0, leave the eigenvectors to rounding, which differs between machines.
    rng, mean = np.random.default_rng(8), np.linspace(0.5, 0.53, 6)
    found = []
    for _ in range(5):
        noise = 1e-15 * rng.normal(size=(6, 6))
        covariance = 4e-4 * (factor @ factor.T + noise + noise.T)
        found.append([Verdicts(ranking(mean, covariance)).top(k) for k in (1, 2, 3)])
    np.testing.assert_allclose(found, found[:1] * 5, atol=2e-4)  # two of 10,000 draws


def test_groups_are_the_largest_sets_of_which_no_two_are_told_apart():
    rng = np.random.default_rng(5)
    for _ in range(30):
        verdicts = Verdicts(random_ranking(rng))
        separated = verdicts.better | verdicts.better.T
        systems = range(len(separated))
        sets = [set(some) for size in range(1, 7) for some in combinations(systems, size)]
        alike = [one for one in sets if not any(separated[i, j] for i, j in combinations(one, 2))]
        largest = [one for one in alike if not any(one < other for other in alike)]
        assert sorted(map(sorted, verdicts.groups)) == sorted(map(sorted, largest))


def test_systems_share_a_letter_exactly_where_they_cannot_be_told_apart():
    verdicts = Verdicts(random_ranking(np.random.default_rng(2), scale=0.03))
    separated = verdicts.better | verdicts.better.T
    assert 0 < separated.sum() < separated.size - len(separated)
    for i, j in combinations(range(len(separated)), 2):
        assert bool(set(verdicts.letters[i]) & set(verdicts.letters[j])) != separated[i, j]


def test_up_to_26_groups_have_letters_and_more_have_none():
    # A chain of s systems, each like the next two, has s - 2 largest sets.
    for systems, groups in ((28, 26), (29, 0)):
        deviation = 0.65  # of a difference between systems at distance 1
        scores = ranking(-np.arange(systems), deviation**2 / 2 * np.eye(systems), distribution="normal")
        verdicts = Verdicts(scores)
        assert 2 < verdicts.critical * deviation < 3
        assert len(verdicts.groups) == groups
        assert verdicts.sentence.startswith("A, B and C lead and cannot be told apart; ")
    assert set(verdicts.letters) == {""}
    low, high = verdicts.ranks
    assert low.tolist() == [max(1, place - 2) for place in range(1, 30)]
    assert high.tolist() == [min(29, place + 2) for place in range(1, 30)]


@pytest.mark.slow
@given(st.integers(1, 9), st.integers(0, 2**32), st.floats(0, 1))
def test_largest_sets_and_stretches_are_those_of_brute_force(systems, seed, share):
    upper = np.triu(np.random.default_rng(seed).random((systems, systems)) < share, 1)
    separated = upper | upper.T
    sets = [set(one) for size in range(1, systems + 1) for one in combinations(range(systems), size)]
    alike = [one for one in sets if not separated[np.ix_(list(one), list(one))].any()]
    largest = [tuple(sorted(one)) for one in alike if not any(one < other for other in alike)]
    assert largest_sets(~separated, 1000) == sorted(largest)
    assert largest_sets(~separated, len(largest) - 1) is None
    runs = [one for one in alike if max(one) - min(one) == len(one) - 1]
    longest = [(min(one), max(one) + 1) for one in runs if not any(one < other for other in runs)]
    assert stretches(separated) == sorted(longest)


@pytest.mark.slow
def test_all_intervals_of_ranks_hold_the_true_ranks_at_least_as_often_as_stated():
    rng, hold, trials = np.random.default_rng(9), 0, 300
    for _ in range(trials):
        stated = random_ranking(rng, systems=5)
        true = rng.multivariate_normal(stated.scores.mean, stated.scores.covariance)
        ranks = 1 + (true[:, None] < true).sum(axis=1)
        low, high = Verdicts(stated, level=0.8).ranks
        hold += bool(np.all((low <= ranks) & (ranks <= high)))
    assert hold / trials >= 0.8 - 3 * np.sqrt(0.8 * 0.2 / trials)


def test_ranks_and_groups_of_systems_far_apart_are_their_places():
    verdicts = Verdicts(ranking([0.1, 0.9, 0.5], 1e-6 * np.eye(3)))
    low, high = verdicts.ranks
    assert low.tolist() == high.tolist() == [3, 1, 2]
    assert verdicts.groups == ((1,), (2,), (0,))
    assert verdicts.letters == ("c", "a", "b")
    assert verdicts.best.tolist() == [0, 1, 0]
    assert verdicts.sentence.startswith("B is the best system; 3 of 3 pairs of systems can be told apart")


def test_known_ties_share_a_group_and_the_probability_to_be_best():
    verdicts = Verdicts(ranking([0.5, 0.5, 0.2], np.zeros((3, 3))))
    assert verdicts.groups == ((0, 1), (2,))
    assert verdicts.best.tolist() == [0.5, 0.5, 0]
    # Equal systems are called equal, and not also systems that cannot be told apart.
    assert verdicts.sentence.startswith("A and B lead; 2 of 3 pairs of systems can be told apart ")
    assert verdicts.sentence.endswith("; A and B are equal.")
    below = Verdicts(ranking([0.2, 0.5, 0.2], np.zeros((3, 3)))).sentence
    assert below.startswith("B is the best system; 2 of 3 pairs of systems can be told apart ")
    assert below.endswith("; A and C are equal.")
    assert Verdicts(ranking([0.5] * 3, np.zeros((3, 3)))).sentence == "A, B and C are equal on these queries."


def test_the_probability_to_be_best_is_the_integral_of_being_above_all_others():
    mean, deviation = np.array([0.50, 0.52, 0.47]), np.array([0.03, 0.02, 0.05])
    found = Verdicts(ranking(mean, np.diag(deviation**2), distribution="normal")).best
    for i in range(3):
        others = [j for j in range(3) if j != i]
        expected, _ = quad(
            lambda x, i=i, others=others: norm.pdf(x, mean[i], deviation[i])
            * np.prod(norm.cdf(x, mean[others], deviation[others])),
            0.2, 0.8, points=[mean[i]],
        )  # fmt: skip
        assert found[i] == pytest.approx(expected, abs=0.015)  # three standard errors of 10,000 draws
    assert found.sum() == pytest.approx(1)


def test_the_rows_of_an_estimate_are_those_of_its_verdicts(demo):
    found = estimate(demo, "uniform")
    assert found.rows() == Verdicts(found).rows() == [found[name] for name in found.to_frame().index]
    assert {"group", "rank_low", "rank_high", "best", "top"} <= set(found.to_frame())


def test_the_best_k_are_k_in_all():
    verdicts = Verdicts(random_ranking(np.random.default_rng(1)))
    assert [verdicts.top(k).sum() for k in range(1, 7)] == pytest.approx(range(1, 7))
    with pytest.raises(InputError, match="must be from 1 to 6, got 7"):
        verdicts.top(7)


def test_no_two_systems_told_apart_is_said():
    said = Verdicts(ranking([0.5, 0.51, 0.49], 0.01 * np.eye(3))).sentence
    assert said == "No two of the 3 systems can be told apart on these queries, at 95 % for all pairs together."


def test_systems_that_follow_the_leaders_and_are_alike_are_named():
    verdicts = Verdicts(ranking([0.9, 0.5, 0.51, 0.1, 0.1], 1e-6 * np.eye(5) + np.diag([0, 1e-3, 1e-3, 0, 1e-9])))
    assert verdicts.sentence == (
        "A is the best system; C and B cannot be told apart; 8 of 10 pairs of systems can be told apart on "
        "these queries, at 95 % for all pairs together."
    )
    with pytest.raises(InputError, match="systems at the top must be at least 1, got 0"):
        Verdicts(verdicts.ranking, k=0)


def test_a_verdict_on_two_systems_is_the_t_test_of_their_difference():
    covariance = np.array([[4e-4, 1e-4, 0], [1e-4, 2e-4, 0], [0, 0, 1e-4]])
    found = TwoSystems(ranking([0.5, 0.46, 0.3], covariance, queries=21), "B", "A", 0.9)
    deviation = np.sqrt(4e-4 + 2e-4 - 2e-4)
    assert found.expectation == pytest.approx(-0.04)
    assert found.interval == pytest.approx(student.interval(0.9, 20, -0.04, deviation))
    assert found.confidence == pytest.approx(student.cdf(0.04 / deviation, 20))
    assert found.verdict == "worse"
    assert found.above(-0.05) == pytest.approx(student.sf(-0.05, 20, -0.04, deviation))
    assert found.probability(Condition.parse("B not worse by 0.1", "B", "A")) >= found.level
    assert found.probability(Condition.parse("B not worse by 0.05", "B", "A")) < found.level
    assert found.probability(Condition.parse("not worse", "B", "A")) < found.level
    assert found.probability(Condition.parse("A better", "B", "A")) >= found.level
    assert found.probability(Condition.parse("A not worse than B by 0.01", "B", "A")) == pytest.approx(
        student.cdf(0.05 / deviation, 20)
    )


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("deviations", [0.2, 1.0, 1.5, 1.8, 2.2, 3.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_sentence_says_on_which_sides_confidence_and_interval_are_and_when_the_interval_excludes_0(
    level, deviations, sign
):
    found = TwoSystems(ranking([0.5, 0.5 - sign * deviations * 0.02], np.diag([4e-4, 0]), queries=21), "A", "B", level)
    assert f"confidence {found.confidence:.3f} in their order (one-sided), {100 * level:g} % interval" in found.sentence
    assert found.sentence.endswith("(two-sided).")
    assert found.sentence.startswith(
        "A is " if student.cdf(deviations, 20) >= level else "A and B cannot be told apart"
    )
    said = "".join(str(line) for line in verdict_view(found).renderables)
    from_on = float(re.search(r"excludes 0 from confidence (\S+) on", said)[1])
    low, high = found.interval
    assert (low > 0 or high < 0) == (student.cdf(deviations, 20) > from_on)
    assert "excludes 0" not in str(verdict_view(TwoSystems(ranking([0.5, 0.5], 0 * np.eye(2)), "A", "B")).renderables)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *[("A not worse by 0.02", -0.02), ("A better", 0.0), ("better by .01 than B", 0.01), ("not worse by 0", 0.0)],
        *[("A not worse than B by 0.02", -0.02), ("B better than A by 0.5", 0.5), ("not worse than B", 0.0)],
    ],
)
def test_conditions_are_read(text, size):
    assert Condition.parse(text, "A", "B").size == size


@pytest.mark.parametrize(
    "text",
    [
        "A is better",
        "C better",
        "",
        "A not worse by",
        "A better than A",
        "A better than B by 0.1 than A",
        "better than A",
    ],
)
def test_other_conditions_are_refused(text):
    with pytest.raises(InputError, match=r"expected a condition such as \"A not worse by 0.02\""):
        Condition.parse(text, "A", "B")


@pytest.mark.parametrize("word", ["much", "-1", "nan", "inf"])
def test_a_size_must_be_a_number(word):
    with pytest.raises(InputError, match=f"must be a number, 0 or more, got '{word}'"):
        Condition.parse(f"A better by {word}", "A", "B")


@pytest.mark.parametrize(
    ("a", "b", "level", "said"),
    [
        ("A", "X", 0.95, "unknown system 'X', expected one of A, B, C"),
        ("A", "A", 0.95, "expected two systems to compare, got A twice"),
        ("A", "B", 0.5, "must be between .5 and 1, got 0.5"),
    ],
)
def test_two_systems_are_of_the_ranking_and_differ(a, b, level, said):
    with pytest.raises(InputError, match=said):
        TwoSystems(ranking([0, 1, 2], np.eye(3)), a, b, level)


@pytest.mark.parametrize("level", [0, 1, np.nan])
def test_a_family_wise_level_is_a_probability(level):
    with pytest.raises(InputError, match="must be between 0 and 1"):
        Verdicts(ranking([0, 1], np.eye(2)), level)
