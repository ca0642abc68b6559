import json
import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from audiosim import package_files
from audiosim.collection.values import BROAD, FINE
from audiosim.errors import InputError
from audiosim.measures.measure import parse_measure
from audiosim.measures.satisfaction import (
    SatisfactionMapping,
    number_satisfied,
    published_mapping,
    published_scales,
    success,
    user_form,
    user_scores,
)
from audiosim.ordinal.model import checksum, model_names
from audiosim.stats.distributions import Empirical

SHIPPED = package_files.folder("models") / "satisfaction" / "published.json"
SCRIPT = Path(__file__).resolve().parents[2] / "models" / "make_satisfaction.py"
GRID = np.linspace(0, 1, 1001)
FALLING_THEN_RISING = SatisfactionMapping((0.9, -3.2, 3.2, 0.0), "made up: .9 at 0 and 1, .1 in the middle")


def shipped_rows():
    return json.loads(SHIPPED.read_text())["mappings"]


def test_all_forty_combinations_of_table_4_1_are_shipped():
    per_scale = [row["scale"] for row in shipped_rows()]
    counts = {scale: per_scale.count(scale) for scale in published_scales()}
    assert counts == {"broad": 9, "fine": 5, "graded-4": 9, "graded-5": 9, "binary-20": 4, "binary-40": 4}


def test_the_file_is_what_its_script_holds_and_no_model_of_relevance():
    fields = json.loads(SHIPPED.read_text())
    assert fields["checksum"] == checksum(fields)
    script = runpy.run_path(str(SCRIPT))
    held = {
        (str(script["user_oriented"](measure, gain)), scale): list(coefficients)
        for scale, table in script["TABLE_4_3"].items()
        for (measure, gain), coefficients in table.items()
    }
    assert held == {(row["measure"], row["scale"]): row["coefficients"] for row in fields["mappings"]}
    assert not any("published" in name for name in model_names())


def test_the_printed_example_of_a_cubic_comes_out():
    # Urbano (2013), section 4.1.2.
    mapping = published_mapping("GAP(ideal=user)@5", "broad")
    assert mapping.probability(np.array(0.32)) == pytest.approx(0.5116, abs=5e-5)
    assert "Table 4.3" in mapping.to_dict()["source"]


def test_the_printed_example_of_satisfied_users_comes_out():
    # Urbano (2013), section 4.1: P(Sat) about .7, 10 of 15 users with probability .2061.
    score = user_scores("Q@5", FINE, np.array([64.0, 35, 85, 87, 30]))
    assert score == pytest.approx(0.6095, abs=5e-5)
    assert published_mapping("Q(ideal=user)@5", "fine").probability(score) == pytest.approx(0.7, abs=0.005)
    assert number_satisfied(np.array(0.7), 15)[10] == pytest.approx(0.2061, abs=5e-5)


@pytest.mark.parametrize("row", shipped_rows(), ids=lambda row: f"{row['measure']} {row['scale']}")
def test_no_published_mapping_ever_leaves_zero_to_one(row):
    # Section 4.1: because users disagree, 0 and 1 are never expected.
    cubic = np.polyval(row["coefficients"][::-1], GRID)
    assert cubic.min() > 0.05
    assert cubic.max() < 0.95
    mapping = published_mapping(row["measure"], row["scale"])
    assert mapping.probability(GRID) == pytest.approx(cubic, abs=1e-12)


@pytest.mark.parametrize(
    ("measure", "scale", "same", "same_scale"),
    [
        ("nDCG(gain=exponential,ideal=user)@5", "graded-4", "DCG(gain=exponential)@5", "graded-4"),
        ("CG@5", "binary-20", "P@5", "binary-20"),
        ("CG(gain=exponential)@5", "binary-40", "P@5", "binary-40"),
        ("Q(beta=3,ideal=user)@5", "binary-40", "AP(ideal=user)@5", "binary-40"),
        ("GAP(ideal=user)@5", "binary-20", "AP(ideal=user)@5", "binary-20"),
        ("P(min=40)@5", "fine", "P@5", "binary-40"),
        ("AP(min=20,ideal=user)@5", "fine", "AP(ideal=user)@5", "binary-20"),
    ],
)
def test_a_combination_that_equals_another_has_its_mapping(measure, scale, same, same_scale):
    assert published_mapping(measure, scale) is published_mapping(same, same_scale)


@pytest.mark.parametrize(
    ("measure", "scale"),
    [("CG@10", "fine"), ("RBP(p=0.5,ideal=user)@5", "fine"), ("CG(gain=exponential)@5", "fine"), ("RR@5", "binary-20")],
)
def test_a_combination_without_a_published_mapping_is_refused(measure, scale):
    with pytest.raises(
        InputError, match=r"no published mapping to satisfaction for .* on the .* scale; there is one for "
    ):
        published_mapping(measure, scale)


def test_a_scale_without_published_mappings_is_refused():
    message = "on the graded-3 scale; scales: broad, fine, graded-4, graded-5, binary-20, binary-40"
    with pytest.raises(InputError, match=message):
        published_mapping("CG@5", "graded-3")


def test_scores_relative_to_the_judged_documents_are_refused():
    with pytest.raises(InputError, match=r"user-oriented scores: use Q\(ideal=user\)@5, not Q@5"):
        published_mapping("Q@5", "fine")
    with pytest.raises(InputError, match=r"use CG@5, not CG\(form=original\)@5"):
        published_mapping("CG(form=original)@5", "fine")


def test_the_user_form_keeps_all_but_ideal_and_form():
    assert str(user_form("Q(gain=exponential,beta=2)@7")) == "Q(gain=exponential,beta=2,ideal=user)@7"
    assert user_form(parse_measure("RR(min=3)@5")) == parse_measure("RR(min=3)@5")
    assert str(user_form("RBP(form=original)@5")) == "RBP(ideal=user)@5"


def test_the_best_list_scores_one_and_the_worst_none_in_the_user_form():
    for measure in ("AP@3", "RR@3", "nDCG@3", "ERR@3", "EDCG@3", "ADR@3"):
        assert user_scores(measure, BROAD, np.array([[2.0, 2, 2], [0, 0, 0]])) == pytest.approx([1, 0])


def test_a_mapping_is_cut_to_zero_and_one():
    mapping = SatisfactionMapping((-0.5, 2.0, 0.0, 0.0), "made up")
    assert mapping.probability(np.array([0, 0.25, 0.5, 1])).tolist() == [0, 0, 0.5, 1]


@pytest.mark.parametrize("score", [-0.001, 1.001, np.nan])
def test_scores_outside_zero_to_one_are_refused(score):
    with pytest.raises(InputError, match=rf"scores must lie in \[0, 1\], got {score:g}"):
        FALLING_THEN_RISING.probability(np.array([0.5, score]))


def test_a_score_that_rounding_carried_past_one_is_taken():
    assert FALLING_THEN_RISING.probability(np.array(1 + 1e-15)) == FALLING_THEN_RISING.probability(np.array(1.0))


@pytest.mark.parametrize("coefficients", [(1.0, 2.0, 3.0), (0.0, 0.0, 0.0, np.inf)])
def test_a_mapping_has_four_finite_coefficients(coefficients):
    with pytest.raises(InputError, match="needs four finite coefficients, got "):
        SatisfactionMapping(coefficients, "made up")


# scipy's own binomial overflows for the smallest probabilities of a float.
SHARES = st.integers(0, 10_000).map(lambda share: share / 10_000)


@pytest.mark.slow
@given(st.lists(SHARES, min_size=1, max_size=5), st.integers(1, 200))
def test_satisfied_users_are_binomial(shares, users):
    p = np.array(shares)
    found = number_satisfied(p, users)
    assert found.shape == (len(p), users + 1)
    assert found == pytest.approx(stats.binom.pmf(np.arange(users + 1), users, p[:, None]), abs=1e-10)
    assert found @ np.arange(users + 1) == pytest.approx(users * p)


def test_the_least_share_there_is_satisfies_nobody():
    assert number_satisfied(np.array(np.finfo(float).tiny), 4) == pytest.approx([1, 0, 0, 0, 0])


def test_numbers_of_users_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="expected 1 to 10,000 users, got 0"):
        number_satisfied(np.array(0.5), 0)
    with pytest.raises(InputError, match=r"probabilities must lie in \[0, 1\], got 1.5"):
        number_satisfied(np.array(1.5), 3)


MAPPINGS = [FALLING_THEN_RISING, *(published_mapping(row["measure"], row["scale"]) for row in shipped_rows()[::6])]


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("mapping", MAPPINGS)
def test_success_is_the_mass_of_scores_mapped_above_the_threshold(mapping, threshold):
    beta = stats.beta(2, 3)

    def density_of_success(score):
        return beta.pdf(score) * (np.polyval(mapping.coefficients[::-1], score) > threshold)

    roots = np.roots([*mapping.coefficients[:0:-1], mapping.coefficients[0] - threshold])
    breaks = [root.real for root in roots if abs(root.imag) < 1e-9 and 0 < root.real < 1]
    expected = quad(density_of_success, 0, 1, points=breaks or None)[0]
    assert success(beta, mapping, threshold) == pytest.approx(expected, abs=1e-7)


@pytest.mark.slow
@given(st.lists(st.integers(0, 100).map(lambda grade: grade / 100), min_size=1, max_size=50), st.floats(0, 1))
def test_success_of_observed_scores_is_the_fraction_mapped_above_the_threshold(scores, threshold):
    for mapping in MAPPINGS:
        found = success(Empirical(np.sort(scores)), mapping, threshold)
        satisfied = mapping.probability(np.array(scores))
        clear = np.abs(satisfied - threshold) > 1e-9
        assert found == pytest.approx(np.mean(satisfied > threshold), abs=1e-9 + np.mean(~clear))


def test_a_score_exactly_at_the_threshold_is_no_success():
    straight = SatisfactionMapping((0.0, 1.0, 0.0, 0.0), "made up")
    assert success(Empirical(np.array([0.25, 0.5, 0.75, 1.0])), straight, 0.5) == pytest.approx(0.5)
    falling = SatisfactionMapping((1.0, -1.0, 0.0, 0.0), "made up")
    assert success(Empirical(np.array([0.0, 0.25, 0.5, 0.75])), falling, 0.5) == pytest.approx(0.5)


def test_mass_outside_zero_to_one_counts_at_the_nearer_end():
    wide = stats.norm(0.5, 10.0)
    straight = SatisfactionMapping((0.0, 1.0, 0.0, 0.0), "made up")
    assert success(wide, straight, 0.5) == pytest.approx(0.5)
    assert success(wide, FALLING_THEN_RISING, 0.05) == pytest.approx(1)


@pytest.mark.parametrize(("level", "expected"), [(0.4, 0.0), (0.5, 0.0), (0.6, 1.0)])
def test_a_constant_mapping_succeeds_always_or_never(level, expected):
    assert success(stats.norm(0.5, 0.2), SatisfactionMapping((level, 0.0, 0.0, 0.0), "made up")) == expected


def test_a_threshold_is_a_share():
    with pytest.raises(InputError, match="a share of the users, from 0 to 1, got 50"):
        success(stats.norm(0.5, 0.2), FALLING_THEN_RISING, 50)
