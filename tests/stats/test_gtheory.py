import csv
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audiosim.errors import InputError
from audiosim.stats.generalizability import Crossed, Nested, crossed, nested

# From R's aov and lme4, and from gt4ireval; gtheory.R in the same folder wrote both files.
REFERENCE = Path(__file__).resolve().parents[1] / "reference"


def cubes():
    """(systems, queries, assessors) by name."""
    found = defaultdict(dict)
    with (REFERENCE / "gtheory_data.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            place = tuple(int(row[name]) - 1 for name in ("system", "query", "assessor"))
            found[row["data"]][place] = float(row["score"])
    scores = {name: np.empty(1 + np.max(list(cells), axis=0)) for name, cells in found.items()}
    for name, cells in found.items():
        for place, score in cells.items():
            scores[name][place] = score
    return scores


def reference():
    found = defaultdict(dict)
    with (REFERENCE / "gtheory.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found[row["data"], row["source"]][row["quantity"]] = float(row["value"])
    return found


SCORES, R = cubes(), reference()
SCORES["items"] = SCORES["brennan"].reshape(10, 12, 1)
BRENNAN, ITEMS = SCORES["brennan"], SCORES["items"][:, :, 0]


def matrix(collection):
    """CG@5 of MIREX 2011: the mean of the five grades, out of 100."""
    grades = collection.grades()
    queries = sorted(collection.runs[0].rankings)
    return np.array(
        [[sum(grades[q, d] for d in run.rankings[q][:5]) / 500 for q in queries] for run in collection.runs]
    )


def assert_is_r_s(found, data):
    r, sizes = R[data, "aov"], (found.queries, found.systems)
    squares = [r["ms_system"], r["ms_query"], r["ms_residual"]]
    np.testing.assert_allclose(found.mean_squares, squares, rtol=1e-10)
    raw = [(squares[0] - squares[2]) / sizes[0], (squares[1] - squares[2]) / sizes[1], squares[2]]
    np.testing.assert_allclose([found.system, found.query, found.residual], np.maximum(raw, 0), rtol=1e-10)
    ireval = R[data, "gt4ireval"]
    for n in (1, 10, found.queries, 250):
        assert found.relative(n) == pytest.approx(ireval[f"relative_{n}"], abs=1e-10)
        assert found.absolute(n) == pytest.approx(ireval[f"absolute_{n}"], abs=1e-10)


def assert_intervals_are_gt4ireval_s(found, data):
    ireval = R[data, "gt4ireval"]
    for n in (1, 10, found.queries, 250):
        for name, interval in (("relative", found.relative_interval(n)), ("absolute", found.absolute_interval(n))):
            ends = [ireval[f"{name}_{end}_{n}"] for end in ("lower", "upper")]
            np.testing.assert_allclose(interval, ends, atol=1e-10)


@pytest.mark.parametrize("data", ["crossed", "items"])
def test_a_crossed_design_is_that_of_aov_and_gt4ireval(data):
    found = crossed(SCORES[data][:, :, 0])
    assert_is_r_s(found, data)
    assert_intervals_are_gt4ireval_s(found, data)
    assert found.queries_for_relative(0.95) == R[data, "gt4ireval"]["relative_queries"]
    assert found.queries_for_absolute(0.95) == R[data, "gt4ireval"]["absolute_queries"]
    assert found.negative == ()


def test_negative_components_are_0_and_named():
    found = crossed(SCORES["few"][:, :, 0])
    assert_is_r_s(found, "few")
    assert found.negative == ("system", "query")
    assert (found.system, found.query) == (0, 0)
    assert found.shares() == {"system": 0, "query": 0, "residual": 1}
    assert found.relative() == found.absolute() == 0
    assert found.queries_for_relative(0.95) is None
    assert found.queries_for_absolute(0.95) is None


@pytest.mark.parametrize("scores", [[[0.1, 0.7], [0.3, 0.7]], [[0.1, 0.37], [0.9, 0.37]], [[0.2, 0.2], [0.6, 0.4]]])
def test_a_component_that_is_0_but_for_rounding_needs_no_number_of_queries(scores):
    # With (a, b) and (c, d): MS_system - MS_residual = (a - c) (b - d), which is 0 in the first two.
    study, alike = crossed(scores), scores[0][1] == scores[1][1]
    assert (study.system == 0) == alike
    assert (study.queries_for_relative(0.95) is None) == alike
    assert "system" not in study.negative


def test_intervals_start_at_0_where_systems_may_not_differ():
    found = crossed(SCORES["few"][:, :, 0])
    (low, high), (lower, upper) = found.relative_interval(), found.absolute_interval()
    assert low == lower == 0
    # gt4ireval prints lower ends of -39.3 and 1.07: Spearman-Brown of a ratio below 0. Above 0 it agrees.
    assert high == pytest.approx(R["few", "gt4ireval"]["relative_upper_6"], abs=1e-10)
    assert upper == pytest.approx(R["few", "gt4ireval"]["absolute_upper_6"], abs=1e-10)
    alike = crossed([[0, 1, 0, 1], [1, 0, 1, 0], [0.5, 0.5, 0.5, 0.501]])
    assert [float(end) for end in (*alike.relative_interval(), *alike.absolute_interval())] == [0, 0, 0, 0]


@pytest.mark.parametrize("data", ["crossed", "items"])
def test_components_above_0_are_those_of_lme4(data):
    # For balanced data, REML equals the analysis of variance if no component is negative; lme4 stops at about 1e-7.
    found = crossed(SCORES[data][:, :, 0])
    for name, value in R[data, "lme4"].items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("data", ["nested", "brennan"])
def test_a_nested_design_is_that_of_aov_and_lme4(data):
    found = nested(SCORES[data])
    names = ("ms_system", "ms_query", "ms_assessor", "ms_system_query", "ms_residual")
    np.testing.assert_allclose(found.mean_squares, [R[data, "aov"][name] for name in names], rtol=1e-10)
    assert found.negative == ()
    for name, value in R[data, "lme4"].items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-6)


def test_brennan_s_published_numbers_of_a_crossed_design():
    # Brennan (2001): Table 6.2 on page 182, and Table 6.5 on page 198 with 80% intervals, to the printed digits.
    found = crossed(ITEMS)
    assert [round(x, 4) for x in found.mean_squares] == [10.2963, 11.6273, 2.7872]
    assert [round(x, 4) for x in (found.system, found.query, found.residual)] == [0.6258, 0.8840, 2.7872]
    assert round(float(found.relative()), 3) == 0.729
    assert round(float(found.absolute()), 3) == 0.672
    assert [round(float(x), 3) for x in found.relative_interval(confidence=0.8)] == [0.541, 0.876]
    assert [round(float(x), 3) for x in found.absolute_interval(confidence=0.8)] == [0.457, 0.845]


# Urbano (2013), Tables 6.1, 6.2, 6.3: CG@5, Fine, 2011.
def test_the_2011_row_of_the_thesis_comes_out_to_every_printed_digit(mirex2011):
    scores = matrix(mirex2011)
    assert scores.shape == (18, 100)
    found = crossed(scores)
    assert [round(share, 3) for share in found.shares().values()] == [0.184, 0.511, 0.304]
    assert (round(float(found.relative()), 4), found.queries_for_relative(0.95)) == (0.9838, 32)
    assert (round(float(found.absolute()), 4), found.queries_for_absolute(0.95)) == (0.9576, 85)
    assert_is_r_s(found, "mirex2011")
    assert_intervals_are_gt4ireval_s(found, "mirex2011")


# Closed forms: components are given, coefficients computed by hand.
CHOSEN = Crossed(10, 20, (0, 0, 0), system=1.0, query=2.0, residual=4.0, negative=())
ASSESSED = Nested(10, 20, 2, (0, 0, 0, 0, 0), 1.0, 2.0, 0.5, 3.0, 4.0, ())


def test_coefficients_are_the_formulae():
    assert CHOSEN.relative(4) == 1 / 2
    assert CHOSEN.absolute(6) == 1 / 2
    np.testing.assert_allclose(CHOSEN.relative([1, 4, 16]), [1 / 5, 1 / 2, 4 / 5])
    assert CHOSEN.relative() == CHOSEN.relative(20)
    assert ASSESSED.relative(5, 2) == 1 / 2  # 3 / 5 + 4 / 10
    assert ASSESSED.absolute(7.25, 2) == 1 / 2  # (2 + 3) / 7.25 + 4.5 / 14.5
    assert ASSESSED.relative() == ASSESSED.relative(20, 2)
    np.testing.assert_allclose(ASSESSED.relative(5, [1, 2, 4]), [1 / 2.4, 1 / 2, 1 / 1.8])


def test_required_sizes_are_the_formulae_and_exact_ones_are_not_rounded_up():
    assert CHOSEN.queries_for_relative(0.5) == 4
    assert CHOSEN.queries_for_relative(0.8) == 16
    assert CHOSEN.queries_for_absolute(0.9) == 54
    assert CHOSEN.queries_for_relative(0.501) == 5
    assert CHOSEN.queries_for_relative(0.01) == 1
    assert ASSESSED.queries_for_relative(0.5) == 5  # by two assessors
    assert replace(ASSESSED, assessors=1).queries_for_absolute(0.5) == 10  # 2 + 3 + 4.5
    assert replace(ASSESSED, queries=5).assessors_for_relative(0.5) == 2
    assert replace(ASSESSED, queries=7).assessors_for_relative(0.5) == 1
    assert replace(ASSESSED, queries=3).assessors_for_relative(0.5) is None  # there are too few queries
    assert replace(ASSESSED, queries=6).assessors_for_absolute(0.5) == 5  # 5 / 6 + 4.5 / (6 h) <= 1
    assert ASSESSED.assessors_for_absolute(0.5) == 1


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 1000), st.sampled_from([0.3, 0.8, 0.95]))
def test_one_query_or_assessor_fewer_is_too_few(seed, stability):
    rng = np.random.default_rng(seed)
    found = nested(rng.normal(size=(5, 6, 3)) + rng.normal(size=(5, 1, 1)) + rng.normal(size=(1, 6, 3)))
    for coefficient, queries, assessors in (
        (found.relative, found.queries_for_relative, found.assessors_for_relative),
        (found.absolute, found.queries_for_absolute, found.assessors_for_absolute),
    ):
        n = queries(stability)
        if n is not None:
            assert coefficient(n) >= stability - 1e-9
            assert n == 1 or coefficient(n - 1) < stability
        h = assessors(stability)
        if h is not None:
            assert coefficient(assessors=h) >= stability - 1e-9
            assert h == 1 or coefficient(assessors=h - 1) < stability
        elif found.system > 0:
            assert coefficient(assessors=1e9) < stability


def effects(rng, s, q, h):
    """Scores of known components: system 1, query 2, assessor 1/2, system by query 3, residual 4."""
    normal = rng.normal
    return (
        normal(size=(s, 1, 1))
        + np.sqrt(2) * normal(size=(1, q, 1))
        + np.sqrt(0.5) * normal(size=(1, q, h))
        + np.sqrt(3) * normal(size=(s, q, 1))
        + 2 * normal(size=(s, q, h))
    )


def test_components_are_unbiased_in_a_simulation():
    rng = np.random.default_rng(1)
    found = [nested(effects(rng, 30, 30, 3)) for _ in range(200)]
    truth = {"system": 1, "query": 2, "assessor": 0.5, "system_query": 3, "residual": 4}
    for name, value in truth.items():
        estimates = np.array([getattr(one, name) for one in found])
        assert estimates.mean() == pytest.approx(value, abs=4 * estimates.std() / np.sqrt(200))


@pytest.mark.slow
def test_nested_intervals_hold_the_truth_as_often_as_they_say():
    # 400 matrices of 12 x 15 x 3; the standard error of a share of 0.9 is 0.015.
    rng = np.random.default_rng(2)
    truth = Nested(12, 15, 3, (0, 0, 0, 0, 0), 1.0, 2.0, 0.5, 3.0, 4.0, ())
    held = np.zeros(2)
    for _ in range(400):
        curve = nested(effects(rng, 12, 15, 3)).curve(30, rng, assessors=2, confidence=0.9, draws=600)
        held += [
            curve.relative_lower[0] <= truth.relative(30, 2) <= curve.relative_upper[0],
            curve.absolute_lower[0] <= truth.absolute(30, 2) <= curve.absolute_upper[0],
        ]
    np.testing.assert_allclose(held / 400, 0.9, atol=0.055)


@pytest.mark.slow
def test_crossed_intervals_hold_the_truth_as_often_as_they_say():
    # 2,000 matrices of 8 x 20; the standard error is 0.007.
    rng = np.random.default_rng(3)
    truth = Crossed(8, 20, (0, 0, 0), system=1.0, query=2.0, residual=4.0, negative=())
    held = np.zeros(2)
    for _ in range(2000):
        scores = rng.normal(size=(8, 1)) + np.sqrt(2) * rng.normal(size=(1, 20)) + 2 * rng.normal(size=(8, 20))
        found = crossed(scores)
        (low, high), (lower, upper) = found.relative_interval(50, 0.9), found.absolute_interval(50, 0.9)
        held += [low <= truth.relative(50) <= high, lower <= truth.absolute(50) <= upper]
    np.testing.assert_allclose(held / 2000, 0.9, atol=0.025)


def test_where_the_assessors_stay_as_many_the_nested_interval_is_feldt_s():
    # With h' = h, the mean over assessors is a crossed design: the exact interval, up to the error of 40,000 draws.
    found = nested(SCORES["nested"])
    curve = found.curve([5, 40], np.random.default_rng(0), draws=40_000)
    averaged = crossed(SCORES["nested"].mean(axis=2))
    lower, upper = averaged.relative_interval([5, 40])
    np.testing.assert_allclose(curve.relative, averaged.relative([5, 40]), rtol=1e-10)
    np.testing.assert_allclose(curve.relative_lower, lower, atol=0.01)
    np.testing.assert_allclose(curve.relative_upper, upper, atol=0.01)


def test_curves_rise_with_the_queries_and_stay_within_their_intervals():
    sizes = [1, 5, 20, 100]
    for curve in (crossed(ITEMS).curve(sizes), nested(BRENNAN).curve(sizes, np.random.default_rng(0))):
        frame = curve.to_frame()
        assert frame["queries"].tolist() == sizes
        assert (frame.drop(columns="queries").diff().iloc[1:] >= 0).all(axis=None)
        for name in ("relative", "absolute"):
            assert (frame[f"{name}_lower"] <= frame[name]).all()
            assert (frame[name] <= frame[f"{name}_upper"]).all()
        assert (frame["absolute"] <= frame["relative"]).all()


def test_scores_without_residual_are_perfectly_stable():
    found = crossed(np.add.outer([0.1, 0.2, 0.4], [0.0, 0.3, 0.5, 0.6]))
    assert found.mean_squares[2] == 0
    assert found.relative() == 1
    assert found.queries_for_relative(0.99) == 1
    assert [float(end) for end in found.relative_interval()] == [1, 1]
    by_query = crossed(np.tile([0.1, 0.2, 0.4], (3, 1)))  # only queries differ
    assert by_query.relative() == by_query.absolute() == 0
    assert [float(end) for end in by_query.relative_interval()] == [0, 0]


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 1000), st.sampled_from([1e-3, 1.0, 100.0]), st.sampled_from([0.0, -5.0]))
def test_units_and_offsets_change_no_share_and_no_coefficient(seed, unit, offset):
    scores = np.random.default_rng(seed).normal(size=(4, 7)) + np.arange(4)[:, None]
    plain, moved = crossed(scores), crossed(unit * scores + offset)
    np.testing.assert_allclose(list(moved.shares().values()), list(plain.shares().values()), atol=1e-9)
    np.testing.assert_allclose(moved.absolute_interval(), plain.absolute_interval(), atol=1e-9)
    assert sum(nested(scores[:, :6].reshape(4, 3, 2)).shares().values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("study", "scores", "message"),
    [
        (crossed, np.ones(3), r"scores must be \(systems, queries\), got \(3,\)"),
        (crossed, np.ones((1, 3)), "expected at least 2 systems to compare, got 1"),
        (crossed, np.ones((3, 1)), "expected at least 2 queries, got 1"),
        (crossed, [[1, 2], [np.nan, 1]], "the score of system 1 on query 0 is nan, expected finite numbers"),
        (crossed, np.full((3, 4), 0.1 + 0.2), "the scores are all the same: there is no variance to divide"),
        (nested, np.ones((3, 3)), r"scores must be \(systems, queries, assessors\), got \(3, 3\)"),
        (nested, np.ones((3, 3, 1)), "expected at least 2 assessors of each query, got 1"),
        (nested, np.ones((3, 1, 2)), "expected at least 2 queries, got 1"),
        (nested, np.full((2, 2, 2), np.inf), "the score of system 0 on query 0 is inf, expected finite numbers"),
        (nested, np.ones((2, 2, 2)), "the scores are all the same: there is no variance to divide"),
    ],
)
def test_scores_that_cannot_be_studied_are_refused(study, scores, message):
    with pytest.raises(InputError, match=message):
        study(scores)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: CHOSEN.relative(0), "queries must be at least 1, got 0"),
        (lambda: CHOSEN.absolute([3, np.nan]), "queries must be at least 1, got nan"),
        (lambda: ASSESSED.relative(3, 0), "assessors must be at least 1, got 0"),
        (lambda: CHOSEN.queries_for_relative(1), "stability must be between 0 and 1, got 1"),
        (lambda: CHOSEN.queries_for_absolute(0), "stability must be between 0 and 1, got 0"),
        (lambda: ASSESSED.assessors_for_relative(95), "stability must be between 0 and 1, got 95"),
        (lambda: crossed(ITEMS).relative_interval(confidence=95), "confidence must be between 0 and 1, got 95"),
        (lambda: crossed(ITEMS).absolute_interval(confidence=0), "confidence must be between 0 and 1, got 0"),
        (lambda: nested(BRENNAN).curve(3, np.random.default_rng(0), draws=0), "draws must be at least 1, got 0"),
        (
            lambda: nested(BRENNAN).curve(3, np.random.default_rng(0), confidence=2),
            "confidence must be between 0 and 1, got 2",
        ),
    ],
)
def test_impossible_questions_are_refused(ask, message):
    with pytest.raises(InputError, match=message):
        ask()
