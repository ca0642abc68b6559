import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from audiosim.collection.values import BROAD, FINE
from audiosim.errors import InputError
from audiosim.measures.satisfaction import published_mapping, user_form
from audiosim.people.answers import Answers, read_answers
from audiosim.people.preferences import bins, fit_cubic, held_against, preferences, shares, thousandths

CHOICES = ("a", "b", "good", "bad")
PEOPLE = Path(__file__).resolve().parents[3] / "shared" / "data" / "preferences" / "answers.tsv"

# Urbano (2013), Tables 3.2, 3.3 and 3.4, column Broad; Table 4.2, column Broad, for measures in it.
PRINTED = {
    "CG@5": (0.1159, 0.5688, 0.0453, 0.0254),
    "CG(gain=exponential)@5": (0.1175, 0.5309, 0.0450, 0.0334),
    "DCG@5": (0.1202, 0.5310, 0.0479, 0.0265),
    "DCG(gain=exponential)@5": (0.1226, 0.5313, 0.0503, 0.0265),
    "EDCG@5": (0.1726, 0.5630, 0.0639, None),
    "EDCG(gain=exponential)@5": (0.2145, 0.5942, 0.0730, None),
    "Q@5": (0.1327, 0.5432, 0.0519, 0.0155),
    "Q(gain=exponential)@5": (0.1306, 0.5387, 0.0490, 0.0302),
    "RBP@5": (0.1202, 0.5274, 0.0486, 0.0272),
    "RBP(gain=exponential)@5": (0.1270, 0.5272, 0.0495, 0.0229),
    "ERR@5": (0.1812, 0.5672, 0.0573, None),
    "ERR(gain=exponential)@5": (0.1930, 0.5741, 0.0570, None),
    "GAP@5": (0.1224, 0.5229, 0.0478, 0.0302),
    "ADR@5": (0.1874, 0.5827, 0.0574, None),
}


@pytest.fixture(scope="module")
def people() -> Answers:
    if not PEOPLE.is_file():
        pytest.skip("people's answers are not here: shared/data/preferences/answers.tsv beside the checkout")
    return read_answers(PEOPLE)


@pytest.mark.parametrize("measure", PRINTED)
def test_the_printed_tables_come_out_to_every_digit(people, measure):
    bias, agreement, opposition, residual = PRINTED[measure]
    found = preferences(people, measure)
    assert round(found.endpoint_bias, 4) == bias
    assert round(found.distance_from_agreement, 4) == agreement
    assert round(found.distance_from_no_opposition, 4) == opposition
    if residual is not None:
        assert round(found.cubic.residual, 4) == residual
        printed = published_mapping(user_form(measure), "broad").coefficients
        assert tuple(round(a, 4) for a in found.cubic.mapping.coefficients) == printed


def test_the_fits_explain_as_much_as_the_thesis_says(people):
    # Section 4.1.2: R^2 from .9561 to .9998 over the forty combinations.
    explained = [preferences(people, name).cubic.r2 for name, printed in PRINTED.items() if printed[3] is not None]
    assert min(explained) >= 0.9561
    assert max(explained) <= 0.9998


def test_the_counts_are_those_of_the_thesis(people):
    # Sections 3.2.1 and 3.3.1: 4,115 examples, 4,050 lists judged good or bad; CG_e has bins of 165 and 178 examples.
    found = preferences(people, "CG(gain=exponential)@5")
    assert (found.answers, found.satisfied.counts.sum(), found.agreeing.counts.sum()) == (4115, 4050, 4115)
    assert found.agreeing.counts[[5, 7]].tolist() == [165, 178]


# Brute force: one answer at a time, as in the thesis.

GRADES = st.lists(st.lists(st.sampled_from([0, 20, 50, 80, 100]), min_size=3, max_size=3), min_size=2, max_size=2)
SAID = st.lists(st.tuples(st.sampled_from(CHOICES), GRADES), min_size=1, max_size=30)


def answers_of(said):
    return Answers(tuple(choice for choice, _ in said), np.array([g for _, g in said], dtype=float), FINE)


def bin_of(score):
    return min(math.floor(round(score * 1000)) // 100, 9)


@pytest.mark.slow
@given(SAID)
def test_bins_count_what_a_loop_over_the_answers_counts(said):
    good, lists, better, worse, pairs = (np.zeros(10) for _ in range(5))
    for choice, (a, b) in said:
        first, second = round(np.mean(a) / 100, 3), round(np.mean(b) / 100, 3)
        for score in (first, second):
            if choice in {"good", "bad"}:
                lists[bin_of(score)] += 1
                good[bin_of(score)] += choice == "good"
        place = bin_of(abs(first - second))
        pairs[place] += 1
        better[place] += (choice == "a" and first > second) or (choice == "b" and second > first)
        worse[place] += (choice == "b" and first > second) or (choice == "a" and second > first)
    found = preferences(answers_of(said), "CG@3")
    assert found.satisfied.counts.tolist() == lists.tolist()
    assert found.agreeing.counts.tolist() == found.opposed.counts.tolist() == pairs.tolist()
    assert np.nan_to_num(found.satisfied.shares * lists) == pytest.approx(good)
    assert np.nan_to_num(found.agreeing.shares * pairs) == pytest.approx(better)
    assert np.nan_to_num(found.opposed.shares * pairs) == pytest.approx(worse)


@pytest.mark.slow
@given(SAID)
def test_swapping_the_lists_changes_nothing(said):
    swapped = [({"a": "b", "b": "a"}.get(choice, choice), grades[::-1]) for choice, grades in said]
    assert preferences(answers_of(said), "DCG@3").to_dict() == preferences(answers_of(swapped), "DCG@3").to_dict()


@pytest.mark.slow
@given(SAID)
def test_all_that_is_known_fits_json_and_a_table(said):
    found = preferences(answers_of(said), "Q@3")
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["measure"] == "Q(ideal=user)@3"
    assert len(found.to_frame()) == 10
    assert found.to_frame()["pairs"].sum() == len(said)


def test_errors_are_binomial_where_each_answer_is_one_case():
    hits = np.array([True, True, False, True, False, False, False])
    found = shares(np.full(7, 4), hits, np.arange(7))
    assert found.errors[4] == pytest.approx(stats.binom.std(7, 3 / 7) / 7)
    assert np.isnan(found.errors[0])


def test_two_lists_of_one_answer_are_one_opinion():
    hits = np.array([True, True, False, False, True, True])
    found = shares(np.full(6, 2), hits, np.array([0, 0, 1, 1, 2, 2]))
    assert found.counts[2] == 6
    assert found.errors[2] == pytest.approx(stats.binom.std(3, 2 / 3) / 3)


@pytest.mark.slow
def test_errors_are_what_drawing_the_answers_again_shows():
    # The bootstrap over answers, 4,000 draws: its own error is about 1.1 %, so 5 % is far beyond chance.
    rng = np.random.default_rng(5)
    places = rng.integers(0, 3, size=(200, 2))
    hits = rng.random(200) < 0.3 + 0.2 * places.mean(axis=1)
    number = np.arange(200)
    found = shares(places.ravel(), np.repeat(hits, 2), np.repeat(number, 2))
    drawn = [
        shares(places[again].ravel(), np.repeat(hits[again], 2), np.repeat(number, 2)).shares
        for again in rng.integers(0, 200, size=(4000, 200))
    ]
    assert found.errors[:3] == pytest.approx(np.std([draw[:3] for draw in drawn], axis=0), rel=0.05)


@pytest.mark.parametrize(
    ("score", "expected"),
    [(0.0, 0), (0.0994, 0), (0.0996, 1), (0.1, 1), (0.3, 3), (0.7, 7), (0.1 + 0.2, 3), (0.8999, 9), (1.0, 9)],
)
def test_scores_are_binned_as_they_round_to_three_decimals(score, expected):
    assert bins(thousandths(np.array(score))) == expected


def test_the_cubic_is_that_of_polyfit_on_the_bins_that_hold_answers():
    rng = np.random.default_rng(3)
    places = rng.choice([0, 2, 3, 4, 6, 9], size=300)
    found = shares(places, rng.random(300) < 0.2 + 0.06 * places, np.arange(300))
    there = np.array([0, 2, 3, 4, 6, 9])
    expected = np.polyfit(there / 10 + 0.05, found.shares[there], 3)
    fit = fit_cubic(found, "made up")
    assert fit.mapping.coefficients == pytest.approx(expected[::-1], abs=1e-9)
    residuals = found.shares[there] - np.polyval(expected, there / 10 + 0.05)
    assert fit.residual == pytest.approx(np.sqrt(np.mean(residuals**2)))
    assert fit.r2 == pytest.approx(1 - residuals.var() / found.shares[there].var())


def test_a_cubic_needs_four_bins_with_answers():
    three = shares(np.array([0, 4, 9]), np.array([False, True, True]), np.arange(3))
    assert fit_cubic(three, "made up") is None
    four = shares(np.array([0, 3, 6, 9]), np.array([False, True, False, True]), np.arange(4))
    assert fit_cubic(four, "made up").residual == pytest.approx(0, abs=1e-12)
    same = shares(np.array([0, 3, 6, 9]), np.full(4, True), np.arange(4))
    assert fit_cubic(same, "made up").r2 == 1


def test_where_nobody_finds_both_good_or_bad_nothing_is_said_of_satisfaction():
    found = preferences(answers_of([("a", [[80, 50, 0], [0, 0, 0]])]), "CG@3").to_dict()
    assert found["cubic"] is found["endpoint_bias"] is None
    assert {row["satisfied"] for row in found["bins"]} == {None}
    assert found["distance_from_agreement"] == 0


def test_lists_of_one_score_leave_nobody_to_agree():
    found = preferences(answers_of([("a", [[80, 50, 0], [0, 50, 80]]), ("bad", [[0, 0, 0], [0, 20, 0]])]), "CG@3")
    assert (found.ties, found.agreeing.shares[0], found.opposed.shares[0]) == (1, 0, 0)


def test_agreement_at_a_difference_is_that_of_its_bin():
    said = [("a", [[100] * 3, [0] * 3]), ("b", [[100] * 3, [0] * 3]), ("good", [[100] * 3, [0] * 3])]
    found = preferences(answers_of([*said, said[0]]), "CG@3")
    assert found.agreement(np.array([0.95, 1.0])).tolist() == [[0.5, 0.25, 0.25]] * 2
    assert np.isnan(found.agreement(np.array([0.5]))).all()
    with pytest.raises(InputError, match=r"differences of scores must lie in \[0, 1\], better minus worse"):
        found.agreement(np.array([-0.1]))


def test_a_measure_deeper_than_the_lists_is_refused():
    with pytest.raises(InputError, match="CG@5 needs lists of 5 documents, the answers are about 3"):
        preferences(answers_of([("a", [[80, 50, 0], [0, 0, 0]])]), "CG@5")


def test_scores_must_match_the_answers():
    answers = Answers(("a", "b"), np.zeros((2, 2, 3)), BROAD)
    for scores in (np.zeros((1, 2)), np.full((2, 2), 1.5), np.full((2, 2), np.nan)):
        with pytest.raises(InputError, match=r"the scores of made up must be two in \[0, 1\] for each of 2 answers"):
            held_against(answers, scores, "made up")
