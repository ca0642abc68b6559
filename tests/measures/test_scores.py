"""The measures, compared with their definitions as loops over ranks, and with published worked examples."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audiosim.collection.values import BINARY, BROAD, FINE, Scale
from audiosim.errors import InputError
from audiosim.measures.levels import adr_of_groups
from audiosim.measures.measure import MEASURES, Measure, parse_measure, score

FIVE = Scale("five", (0.0, 1.0, 2.0, 3.0, 4.0))


def gain_of(measure, grade):
    return measure.number("gain_base") ** grade - 1 if measure.word("gain") == "exponential" else grade


def discount_of(measure, rank):
    b = measure.number("base")
    if measure.word("form") == "original":
        return 1 if rank < b else math.log(rank, b)
    return math.log(rank + b - 1, b)


def ideal_of(measure, scale, judged):
    """The grades of the ideal ranking, down to the cutoff."""
    if measure.word("ideal") == "user":
        return [scale.maximum] * measure.cutoff
    ideal = sorted(judged, reverse=True)
    return (ideal + [0.0] * measure.cutoff)[: measure.cutoff]


def most(measure, number):
    """Number of relevant documents that count: equations 2.6 and 2.11, 3.1 and 3.5, 5.6 and 5.7."""
    if measure.word("ideal") == "user":
        return measure.cutoff
    return number if measure.word("form") == "original" or measure.number("rel") else min(number, measure.cutoff)


def ratio(score, best):
    return score / best if best else 0.0


def is_relevant(measure, grade):
    least = measure.number("min") or measure.number("rel")
    return grade >= least if least else grade > 0


def p_by_definition(measure, scale, grades, judged):
    return sum(is_relevant(measure, r) for r in grades) / measure.cutoff


def ap_by_definition(measure, scale, grades, judged):
    total = 0.0
    for i in range(1, len(grades) + 1):
        if is_relevant(measure, grades[i - 1]):
            total += sum(is_relevant(measure, r) for r in grades[:i]) / i
    return ratio(total, most(measure, sum(is_relevant(measure, r) for r in judged)))


def rr_by_definition(measure, scale, grades, judged):
    return next((1 / i for i, r in enumerate(grades, start=1) if is_relevant(measure, r)), 0.0)


def cg_by_definition(measure, scale, grades, judged):
    total = sum(gain_of(measure, r) for r in grades)
    if measure.word("form") == "original":
        return total
    return total / (measure.cutoff * gain_of(measure, scale.maximum))


def discounted_by_definition(measure, grades):
    return sum(gain_of(measure, r) / discount_of(measure, i) for i, r in enumerate(grades, start=1))


def dcg_by_definition(measure, scale, grades, judged):
    total = discounted_by_definition(measure, grades)
    if measure.word("form") == "original":
        return total
    return total / discounted_by_definition(measure, [scale.maximum] * measure.cutoff)


def ndcg_by_definition(measure, scale, grades, judged):
    best = discounted_by_definition(measure, ideal_of(measure, scale, judged))
    return ratio(discounted_by_definition(measure, grades), best)


def q_by_definition(measure, scale, grades, judged):
    ideal, beta, total = ideal_of(measure, scale, judged), measure.number("beta"), 0.0
    for i in range(1, len(grades) + 1):
        if grades[i - 1] > 0:
            relevant = sum(r > 0 for r in grades[:i])
            gained = sum(gain_of(measure, r) for r in grades[:i])
            total += (relevant + beta * gained) / (i + beta * sum(gain_of(measure, r) for r in ideal[:i]))
    return ratio(total, most(measure, sum(r > 0 for r in judged)))


def rbp_by_definition(measure, scale, grades, judged):
    p = measure.number("p")
    if measure.number("rel"):  # Moffat & Zobel (2008)
        return (1 - p) * sum(p**i for i, r in enumerate(grades) if is_relevant(measure, r))

    def total(ranking):
        return sum(gain_of(measure, r) * p**i for i, r in enumerate(ranking))

    if measure.word("form") == "original":
        return (1 - p) / gain_of(measure, scale.maximum) * total(grades)
    return ratio(total(grades), total(ideal_of(measure, scale, judged)))


def cascade_by_definition(measure, scale, grades, judged, contribution):
    def total(ranking):
        expected, goes_on = 0.0, 1.0
        for i, r in enumerate(ranking, start=1):
            stops = gain_of(measure, r) / (gain_of(measure, scale.maximum) + 1)
            expected += goes_on * stops * contribution(i, r)
            goes_on *= 1 - stops
        return expected

    if measure.word("form") == "original":
        return total(grades)
    return ratio(total(grades), total(ideal_of(measure, scale, judged)))


def err_by_definition(measure, scale, grades, judged):
    return cascade_by_definition(measure, scale, grades, judged, lambda i, _: 1 / i)


def edcg_by_definition(measure, scale, grades, judged):
    return cascade_by_definition(measure, scale, grades, judged, lambda _, r: gain_of(measure, r))


def gap_by_definition(measure, scale, grades, judged):
    # From the text before 2.16: levels by number, and p_l uniform, or only for the highest level.
    levels = list(scale.levels)
    chance = [0.0, *[1 / (len(levels) - 1)] * (len(levels) - 1)]
    if measure.word("thresholds") != "uniform":
        chance = [0.0] * (len(levels) - 1) + [1.0]
    rank_of = levels.index
    total = 0.0
    for i in range(1, len(grades) + 1):
        for level in range(1, rank_of(grades[i - 1]) + 1):
            total += chance[level] * sum(rank_of(r) >= level for r in grades[:i]) / i
    counted = {"original": judged, "bounded": ideal_of(measure, scale, judged)}[measure.word("form")]
    return ratio(total, sum(chance[level] for r in counted for level in range(1, rank_of(r) + 1)))


def adr_by_definition(measure, scale, grades, judged):
    ideal = ideal_of(measure, scale, judged)
    form = measure.word("form"), measure.word("ideal")
    n = min(measure.cutoff, sum(r > 0 for r in judged)) if form == ("bounded", "judged") else measure.cutoff
    total = sum(sum(r >= ideal[i - 1] for r in grades[:i]) / i for i in range(1, n + 1))
    return ratio(total, n)


DEFINITIONS = {
    "P": p_by_definition,
    "AP": ap_by_definition,
    "RR": rr_by_definition,
    "CG": cg_by_definition,
    "DCG": dcg_by_definition,
    "nDCG": ndcg_by_definition,
    "Q": q_by_definition,
    "RBP": rbp_by_definition,
    "ERR": err_by_definition,
    "EDCG": edcg_by_definition,
    "GAP": gap_by_definition,
    "ADR": adr_by_definition,
}
CHOICES = {
    "gain": ["linear", "exponential"],
    "gain_base": [1.5, 2, 10],
    "thresholds": ["uniform", "highest"],
    "min": [0.5, 1, 2, 3],
    "rel": [0.5, 1, 2, 5],
    "base": [2, 3, 10, 1.5],
    "beta": [0, 1, 0.3, 10],
    "p": [0.8, 0.5, 0.95],
}


@st.composite
def cases(draw):
    """A measure with any parameters, a scale, and a ranking of some judged documents."""
    name = draw(st.sampled_from(list(MEASURES)))
    choices = {p.name: st.sampled_from(CHOICES.get(p.name, p.choices)) for p in MEASURES[name].parameters}
    chosen = draw(st.fixed_dictionaries({}, optional=choices))
    if chosen.get("form") == "original":
        chosen.pop("ideal", None)
    if "rel" in chosen:
        chosen = {name: value for name, value in chosen.items() if name in ("rel", "p")}
    if chosen.get("gain") != "exponential":
        chosen.pop("gain_base", None)
    scale = draw(st.sampled_from([BINARY, BROAD, FIVE, Scale("custom", (0.0, 0.5, 1.0, 3.0))]))
    if chosen.get("thresholds") == "highest":
        chosen["thresholds"] = f"{scale.maximum:g}:1"
    judged = draw(st.lists(st.sampled_from(scale.levels), max_size=14))
    retrieved = draw(st.permutations(judged))[: draw(st.integers(0, 14))]
    return Measure(MEASURES[name], draw(st.integers(1, 12)), tuple(chosen.items())), scale, retrieved, judged


@pytest.mark.slow
@given(cases())
def test_every_measure_is_its_definition(case):
    # Sums of at most 14 terms in another order differ by some roundings: 1e-12 is far above them.
    measure, scale, retrieved, judged = case
    found = score(measure, scale, np.array(retrieved, dtype=float), np.sort(np.array(judged, dtype=float))[::-1])
    expected = DEFINITIONS[measure.name](measure, scale, retrieved[: measure.cutoff], judged)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.slow
@given(cases())
def test_bounded_scores_are_0_to_1(case):
    measure, scale, retrieved, judged = case
    found = score(measure, scale, np.array(retrieved, dtype=float), np.sort(np.array(judged, dtype=float))[::-1])
    assert found >= 0
    assert found <= 1 + 1e-12 or (measure.name in ("CG", "DCG", "EDCG") and measure.word("form") == "original")


@pytest.mark.slow
@given(cases(), st.integers(1, 4))
def test_what_is_not_retrieved_changes_nothing(case, missing):
    measure, scale, retrieved, judged = case
    judged = np.sort(np.array(judged, dtype=float))[::-1]
    shorter = score(measure, scale, np.array(retrieved, dtype=float), judged)
    padded = score(measure, scale, np.array([*retrieved, *[np.nan] * missing]), np.append(judged, np.zeros(missing)))
    assert padded == pytest.approx(shorter, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("name", list(MEASURES))
@pytest.mark.parametrize("chosen", ["", "(form=original)", "(ideal=user)", "(gain=exponential)"])
def test_all_rankings_at_once_score_as_one_by_one(name, chosen):
    allowed = {parameter.name for parameter in MEASURES[name].parameters}
    if chosen and chosen.strip("()").split("=")[0] not in allowed:
        chosen = ""
    rng = np.random.default_rng(2)
    grades = rng.integers(0, 5, (4, 6, 7)).astype(float)
    grades[rng.random(grades.shape) < 0.1] = np.nan
    judged = -np.sort(-rng.integers(0, 5, (6, 9)).astype(float))
    measure = parse_measure(f"{name}{chosen}@5")
    together = score(measure, FIVE, grades, judged)
    alone = [[score(measure, FIVE, grades[s, q], judged[q]) for q in range(6)] for s in range(4)]
    np.testing.assert_allclose(together, alone, rtol=1e-13)


# Järvelin & Kekäläinen (2002), worked example: gain vector G', base 2, printed to two decimals.
GAINS = np.array([3, 2, 3, 0, 0, 1, 2, 2, 3, 0], dtype=float)
CUMULATED = [3, 5, 8, 8, 8, 9, 11, 13, 16, 16]
DISCOUNTED = [3, 5, 6.89, 6.89, 6.89, 7.28, 7.99, 8.66, 9.61, 9.61]


@pytest.mark.parametrize("cutoff", range(1, 11))
def test_cg_and_dcg_as_first_published_match_the_published_example(cutoff):
    four = Scale("four", (0.0, 1.0, 2.0, 3.0))
    ours = [
        score(Measure(MEASURES[name], cutoff, (("form", "original"),)), four, GAINS, GAINS) for name in ("CG", "DCG")
    ]
    assert ours[0] == CUMULATED[cutoff - 1]
    assert ours[1] == pytest.approx(DISCOUNTED[cutoff - 1], abs=0.005)


# Urbano (2013), section 4.1: the score printed to four decimals.
def test_the_user_oriented_q_of_the_thesis_comes_out():
    grades = np.array([64.0, 35, 85, 87, 30])
    assert score(parse_measure("Q(ideal=user)@5"), FINE, grades, grades) == pytest.approx(0.6095, abs=5e-5)


# Urbano (2013), section 5.2.1: differences of two systems, for queries with 5 and with 1 relevant documents, and with
# 1,000 of them for the original form.
def test_average_precision_differs_as_the_thesis_says():
    five, one = np.ones(5), np.array([1.0, 0, 0, 0, 0])
    first_four, thousand = np.array([1.0, 1, 1, 1, 0]), np.ones(1000)

    def difference(written, a, b, judged):
        return float(np.diff([score(parse_measure(written), BINARY, x, judged) for x in (b, a)])[0])

    assert difference("AP(ideal=user)@5", five, first_four, five) == pytest.approx(0.2)
    assert difference("AP(ideal=user)@5", one, np.zeros(5), one) == pytest.approx(0.2)
    assert difference("AP@5", five, first_four, five) == pytest.approx(0.2)
    assert difference("AP@5", one, np.zeros(5), one) == pytest.approx(1)
    assert difference("AP(form=original)@5", five, first_four, thousand) == pytest.approx(0.001)
    assert difference("AP@5", five, first_four, thousand) == pytest.approx(0.2)


# Urbano (2013), section 3.1, after Al-Maskari et al. (2007): nDCG is 1 for the only relevant document of the lowest
# relevance, and below 1 for four highly relevant ones after it.
def test_ndcg_behaves_as_counter_intuitively_as_the_thesis_says():
    ndcg = parse_measure("nDCG@5")
    lowest = np.array([1.0, 0, 0, 0, 0])
    assert score(ndcg, FIVE, lowest, lowest) == 1
    late = np.array([1.0, 4, 4, 4, 4])
    assert score(ndcg, FIVE, late, np.sort(late)[::-1]) < 1


binary_rankings = st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=8)


# Urbano (2013), Table 3.1: measures that are equal on a binary scale.
@pytest.mark.slow
@given(binary_rankings, binary_rankings)
def test_measures_that_the_thesis_calls_equivalent_on_a_binary_scale_are(retrieved, more):
    grades = np.array(retrieved)
    judged = np.sort(np.array(retrieved + more))[::-1]

    def of(written):
        return score(parse_measure(written), BINARY, grades, judged)

    assert of("CG@5") == pytest.approx(of("P@5"), rel=1e-13)
    for form in ("ideal=user", "ideal=judged", "form=original"):
        assert of(f"GAP({form})@5") == pytest.approx(of(f"AP({form})@5"), rel=1e-13)
        assert of(f"Q({form},beta=0)@5") == pytest.approx(of(f"AP({form})@5"), rel=1e-13)
    for name in ("CG", "DCG", "Q", "RBP", "ERR", "EDCG"):
        assert of(f"{name}(gain=exponential)@5") == pytest.approx(of(f"{name}@5"), rel=1e-13)


@pytest.mark.slow
@given(cases())
def test_a_user_s_ndcg_is_dcg(case):
    # Urbano (2013), section 3.1.1.
    _, scale, retrieved, judged = case
    grades, judged = np.array(retrieved, dtype=float), np.sort(np.array(judged, dtype=float))[::-1]
    ours = [score(parse_measure(written), scale, grades, judged) for written in ("nDCG(ideal=user)@6", "DCG@6")]
    assert ours[0] == pytest.approx(ours[1], rel=1e-13)


@pytest.mark.slow
@given(st.lists(st.sampled_from(FIVE.levels), min_size=1, max_size=10), st.randoms())
def test_adr_is_that_of_the_paper_on_groups_of_equal_grade(judged, random):
    # Typke et al. (2006) have only documents that are relevant in the ground truth, and ranks for all of them.
    documents = dict(enumerate(judged))
    ranking = list(documents)
    random.shuffle(ranking)
    groups = [[d for d, r in documents.items() if r == level] for level in (4, 3, 2, 1)]
    groups = [group for group in groups if group]
    found = score(
        parse_measure("ADR@10"), FIVE, np.array([documents[d] for d in ranking]), np.sort(np.array(judged))[::-1]
    )
    assert found == pytest.approx(adr_of_groups(ranking, groups) if groups else 0, rel=1e-12)


@pytest.mark.parametrize("name", list(MEASURES))
def test_the_ideal_ranking_scores_1_and_nothing_relevant_scores_0(name):
    judged = np.array([100.0, 80, 80, 60, 40, 20, 1, 0, 0])
    assert score(parse_measure(f"{name}@5"), FINE, judged, judged) == pytest.approx(
        {"CG": 0.72, "DCG": float(score(parse_measure("nDCG(ideal=user)@5"), FINE, judged, judged))}.get(name, 1)
    )
    for form in ("", "(form=original)", "(ideal=user)"):
        if not form or form[1:5] in {parameter.name[:4] for parameter in MEASURES[name].parameters}:
            expected = 1 if (name, form) == ("ADR", "(form=original)") else 0
            assert score(parse_measure(f"{name}{form}@5"), FINE, np.zeros(5), np.zeros(9)) == expected


@pytest.mark.parametrize("name", sorted(set(MEASURES) - {"P", "CG", "DCG"}))
def test_ranks_after_the_last_document_change_nothing_in_measures_relative_to_the_judged_ones(name):
    grades, judged = np.array([3.0, 0, 4]), np.array([4.0, 3, 0])
    far, near = (score(parse_measure(f"{name}@{cutoff}"), FIVE, grades, judged) for cutoff in (999_999, 3))
    assert far == pytest.approx(near, rel=1e-12)


def test_exponential_gains_of_fine_grades_are_finite():
    grades = np.array([100.0, 99, 0])
    for name in ("CG", "DCG", "nDCG", "Q", "RBP", "ERR", "EDCG"):
        assert 0 < score(parse_measure(f"{name}(gain=exponential)@3"), FINE, grades, grades) <= 1


@pytest.mark.slow
@given(st.lists(st.integers(0, 100), min_size=1, max_size=12), st.sampled_from(["", "form=original", "ideal=user"]))
def test_gap_of_users_with_some_thresholds_is_their_mean_of_ap_weighted_by_what_they_could_find(grades, form):
    # Robertson et al. (2010), section 3: a user whose threshold is l has AP(min=l); GAP divides once for all of them.
    list_of, judged = np.array(grades, dtype=float), -np.sort(-np.array(grades, dtype=float))
    more = f",{form}" if form else ""
    both = score(parse_measure(f"GAP(thresholds=40:0.3/70:0.7{more})@5"), FINE, list_of, judged)
    share, total, best = {40: 0.3, 70: 0.7}, 0.0, 0.0
    for minimum, weight in share.items():
        able = 5 if form == "ideal=user" else sum(g >= minimum for g in (judged if form else judged[:5]))
        total += weight * able * float(score(parse_measure(f"AP(min={minimum}{more})@5"), FINE, list_of, judged))
        best += weight * able
    assert both == pytest.approx(total / best if best else 0.0, rel=1e-12)


def test_thresholds_of_gap_must_be_on_the_scale_and_add_up():
    for written, message in {
        "35.5:1": "thresholds of GAP must be different levels above the lowest of the fine scale",
        "0:1": "thresholds of GAP must be different levels above the lowest of the fine scale",
        "40:0.5/40:0.5": "thresholds of GAP must be different levels",
        "40:0.5/60:0.4": "the shares of thresholds=40:0.5/60:0.4 must add up to 1, got 0.9",
    }.items():
        with pytest.raises(InputError, match=message):
            score(parse_measure(f"GAP(thresholds={written})@5"), FINE, np.zeros(5), np.zeros(5))
