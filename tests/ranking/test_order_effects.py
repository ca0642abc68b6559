"""Effects of order, compared with statsmodels, scipy's exact test, and campaigns with known effects."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest, t
from statsmodels.stats.meta_analysis import combine_effects
from typer.testing import CliRunner

from audiosim import judges
from audiosim.cli import app
from audiosim.collection.collection import Collection
from audiosim.collection.values import FINE, Judgment, PairedComparison, Run
from audiosim.errors import InputError
from audiosim.people.effects import first_preferred, mean_of_people, order_effects

QUERIES = [f"q{number}" for number in range(12)]


@pytest.fixture(scope="module")
def collection():
    """Two systems with separate documents, and no judgments."""
    runs = tuple(Run(s, {q: tuple(f"{s}{q}{rank}" for rank in range(2)) for q in QUERIES}) for s in "AB")
    return Collection("two", "two", FINE, 2, runs)


def compared(answers):
    asked = zip(QUERIES, answers, strict=True)
    return tuple(PairedComparison(q, f"A{q}0", f"B{q}0", answer, "ann") for q, answer in asked)


@pytest.mark.parametrize("drifts", [[0.1, 0.2, -0.1, 0.4], [0.3, 0.1]])
def test_the_mean_drift_of_people_who_differ_is_that_of_statsmodels(drifts):
    errors = np.array([0.1, 0.14, 0.05, 0.17])[: len(drifts)] / len(drifts)
    expected = combine_effects(np.array(drifts), errors**2, method_re="dl")
    found = mean_of_people("drift", drifts, errors)
    assert expected.tau2 > 0
    assert found.between**2 == pytest.approx(expected.tau2, rel=1e-12)
    assert found.value == pytest.approx(expected.mean_effect_re, rel=1e-12)
    error = np.sqrt(max(expected.var_hksj_re, expected.sd_eff_w_re**2))
    reach = t.ppf(0.975, len(drifts) - 1) * error
    assert [found.low, found.high] == pytest.approx(
        np.clip([found.value - reach, found.value + reach], -1, 1), rel=1e-9
    )
    assert found.by_chance


def test_people_who_differ_less_than_their_errors_are_weighted_by_these_alone():
    found = mean_of_people("drift", [0.2, 0.21, 0.23], [0.01, 0.02, 0.02])
    assert found.between == 0
    # Weights 4, 1, 1 in units of 1 / 0.02^2; the standard error of their mean is 0.02 / sqrt(6).
    assert found.value == pytest.approx((4 * 0.2 + 0.21 + 0.23) / 6, rel=1e-12)
    assert found.high - found.value == pytest.approx(t.ppf(0.975, 2) * 0.02 / np.sqrt(6), rel=1e-9)
    assert not found.by_chance
    assert found.sentence == (
        "Drift of 3 people, on average: +0.21 of the scale from first to last judgment "
        "(95 % interval +0.17 to +0.24): more than chance explains."
    )


def test_the_mean_drift_is_within_its_interval_as_often_as_stated():
    rng = np.random.default_rng(4)
    errors = np.array([0.02, 0.05, 0.05, 0.1])
    drawn = 0.1 + 0.05 * rng.standard_normal((2000, 4)) + errors * rng.standard_normal((2000, 4))
    within = np.mean(
        [one.low < 0.1 < one.high for one in (mean_of_people("drift", drifts, errors) for drifts in drawn)]
    )
    assert 0.93 < within < 0.99


@pytest.mark.parametrize(("preferred", "count"), [(0, 10), (10, 10), (5, 10), (1, 10), (2, 10), (60, 100), (61, 100)])
def test_the_share_of_the_first_document_has_the_exact_interval_and_test_of_scipy(preferred, count):
    found, expected = first_preferred(preferred, count), binomtest(preferred, count)
    interval = expected.proportion_ci(0.95, "exact")
    assert [found.value, found.low, found.high] == pytest.approx([preferred / count, *interval], rel=1e-9)
    assert found.by_chance == (expected.pvalue > 0.05)


def test_ties_are_left_out_and_of_few_comparisons_nothing_is_said():
    assert order_effects([], compared("aaaaaaaaa===")) == ()
    (found,) = order_effects([], compared("aaaaaaaaab=="))
    assert (found.effect, found.value, found.count, found.by_chance) == ("first", 0.9, 10, False)
    assert found.sentence.startswith("The document shown first was preferred in 90 % of 10 comparisons without ties")


@pytest.mark.slow
def test_people_whose_grades_rise_together_are_reported(collection):
    rng = np.random.default_rng(5)
    pairs = [(q, f"{s}{q}{rank}") for q in QUERIES for s in "AB" for rank in range(2)]
    said = [
        Judgment(*pairs[place], float(np.rint(30 + 40 * step / len(pairs) + 3 * rng.standard_normal())), name)
        for name in ("ann", "bob", "cid")
        for step, place in enumerate(rng.permutation(len(pairs)))
    ]
    (found,) = judges(replace(collection, judgments=tuple(said))).order_effects
    assert (found.effect, found.count, found.by_chance) == ("drift", 3, False)
    assert found.low < 0.4 < found.high
    alone = replace(collection, judgments=tuple(one for one in said if one.assessor == "ann"))
    assert judges(alone).order_effects == ()
    nobody = replace(
        collection, judgments=tuple(replace(one, assessor="") if one.assessor == "cid" else one for one in said)
    )
    (found,) = judges(nobody).order_effects
    assert found.count == 2  # a file without names may have them in any order


@pytest.mark.slow
def test_the_command_shows_them_and_lists_them_alone(tmp_path):
    folder = tmp_path / "two"
    folder.mkdir()
    runs = "".join(f"{q} Q0 {s}{q} 1 9 {s}\n" for s in "AB" for q in QUERIES)
    (folder / "runs.trec").write_text(runs, encoding="utf-8")
    (folder / "judgments.csv").write_text("query,document,grade,assessor\nq0,Aq0,50,ann\n", encoding="utf-8")
    (folder / "collection.toml").write_text('scale = "fine"\ncutoff = 1\n', encoding="utf-8")
    lines = "".join(f"{q}\tA{q}\tB{q}\t{'b' if q == 'q3' else 'a'}\n" for q in QUERIES)
    (folder / "comparisons.tsv").write_text(f"query\tdocument_a\tdocument_b\tanswer\n{lines}", encoding="utf-8")
    shown = CliRunner().invoke(app, ["judges", str(folder), "--measure", "CG@1"]).stdout
    command = ["order-effects", str(folder)]
    assert "in 92 % of 12 comparisons without ties" in " ".join(shown.split())
    (row,) = json.loads(CliRunner().invoke(app, [*command, "--format", "json"]).stdout)
    assert (row["effect"], row["value"], row["count"], row["by_chance"]) == ("first", 11 / 12, 12, False)
    (folder / "comparisons.tsv").unlink()
    told = CliRunner().invoke(app, command).stdout
    assert "Too few judgments and comparisons to estimate effects of order." in " ".join(told.split())


def test_comparisons_alone_are_enough_for_a_report(collection):
    reports = judges(replace(collection, comparisons=compared("abababababab")))
    assert [(one.value, one.by_chance) for one in reports.order_effects] == [(0.5, True)]
    assert reports.to_dict() == []
    with pytest.raises(InputError, match="no person and no machine has judged a pair of two"):
        judges(collection)


def test_of_two_people_who_differ_much_the_interval_ends_where_grades_do():
    found = mean_of_people("drift", [0.3, -0.7], [0.1, 0.1])
    assert (found.low, found.high) == (-1, 1)
    assert found.by_chance
