"""Equal systems are nowhere first: drawn collections whose first two systems have the same grades in another order."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import rankdata

from audiosim import compare, estimate, evaluate, history
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Judgment, Pair, Run
from audiosim.joint.estimators import uniform
from audiosim.measures.measure import MEASURES, parse_measure
from audiosim.people.effects import judge_effect
from audiosim.ranking import Selection
from audiosim.ranking.expected import expected_scores
from audiosim.ranking.scores import SystemScores
from audiosim.ranking.verdicts import Verdicts
from audiosim.report.publication import write_report
from audiosim.stats.inference.ties import equalised, shared_ranks

SEEDS = range(24)


def drawn(seed):
    """Four systems with one result for each query: C equals A and B in another order of queries, D is worse."""
    rng = np.random.default_rng(seed)
    a = (2 * rng.integers(0, 51, rng.integers(5, 15))).tolist()
    grades = {"A": a, "B": rng.permutation(a).tolist(), "C": rng.permutation(a).tolist(), "D": [g // 3 for g in a]}
    assert sum(map(Fraction, grades["A"])) == sum(map(Fraction, grades["B"]))
    runs = tuple(Run(s, {f"q{q}": (f"{s}{q}",) for q in range(len(a))}) for s in grades)
    said = [
        Judgment(f"q{q}", f"{s}{q}", float(grade), name)
        for s, given in grades.items()
        for q, grade in enumerate(given)
        for name in ("ann", "bob")
    ]
    return Collection("tied", "tied", FINE, 1, runs, judgments=tuple(said))


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_asks_who_is_best_finds_equal_systems_equal(seed):
    made = drawn(seed)
    found = estimate(made, "uniform", "CG@1")
    verdicts = Verdicts(found, k=2)
    assert found.leaders == ("A", "B", "C")
    assert found.scores.ranks.tolist() == [1, 1, 1, 4]
    assert found.scores.order.tolist() == [0, 1, 2, 3]
    assert len(set(found.scores.mean[:3])) == 1
    assert verdicts.best == pytest.approx([1 / 3] * 3 + [0])
    assert verdicts.top(2) == pytest.approx([2 / 3] * 3 + [0])
    assert [low.tolist() for low in verdicts.ranks] == [[1, 1, 1, 4], [3, 3, 3, 4]]
    for a, b in ("AB", "BA", "BC"):
        two = compare(made, a, b, "uniform", "CG@1", about="these")
        assert (two.verdict, two.expectation, two.above(0)) == ("equal", 0, 0.5)
    looks = history(made, model="uniform", measure="CG@1", looks=2)
    assert looks.look_rows()[-1]["best"] == "A, B and C"
    assert [one.rank for one in looks.looks[-1].ranked] == [1, 1, 1, 4]
    whole = evaluate(made, "CG@1")
    assert len({row["mean"] for row in whole.rows()[:3]}) == 1
    assert repr(whole).startswith(f"CG@1 of 4 systems on {len(whole.scores.queries)} queries: best A, B and C at")
    pool = build_pool(made, 1)
    measure = parse_measure("CG@1")
    assert Selection.start(pool, measure, uniform(pool), made.judgments).reached("every=0.95")
    one = judge_effect(expected_scores(measure, pool), uniform(pool), made.judgments, "ann")
    assert one.summary()["best_without"] == "A, B and C"
    assert one.change.turned == ()
    assert [row["rank_without"] for row in one.rows()] == [1, 1, 1, 4]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_difference_of_a_known_size_is_neither_above_nor_below_it(seed):
    made = drawn(seed)
    shift = tuple(replace(one, grade=one.grade * (0.5 if one.document[0] == "B" else 1)) for one in made.judgments)
    found = estimate(replace(made, judgments=shift), "uniform", "CG@1")
    size = float(found.scores.mean[0]) / 2
    place = found.scores.place_of(0, 1)
    assert found.scores.above(size)[place] == 0.5
    assert found.scores.larger(size)[place] == 0.5


@pytest.mark.parametrize("name", [name for name in MEASURES if name not in {"GAP", "ADR"}])
def test_no_score_is_above_one_by_rounding(name):
    rng = np.random.default_rng(3)
    for _ in range(5):
        queries = [f"q{q}" for q in range(12)]
        runs = tuple(Run(s, {q: tuple(f"{q}d{d}" for d in rng.permutation(7)) for q in queries}) for s in "AB")
        said = [
            Judgment(*Pair(q, f"{q}d{d}"), float(rng.choice([100, 100, 70])), "") for q in queries for d in range(7)
        ]
        made = Collection("high", "high", FINE, 7, runs, judgments=tuple(said))
        measure = f"{name}@7"
        values = evaluate(made, measure).scores
        means = estimate(made, "uniform", measure).scores.mean
        if values.measure.bounded:
            assert max(values.values.max(), values.means.max(), means.max()) <= 1


def test_a_report_calls_equal_systems_equal_and_neither_the_better_one(tmp_path):
    made = drawn(0)
    page = write_report(made, tmp_path / "judged.html", ["CG@1"], "uniform").read_text(encoding="utf-8")
    assert page.count("<td>equal</td>") == 2  # of A and B, and of B and C
    alike = replace(made, runs=(made.runs[0], Run("same as A", made.runs[0].rankings)), judgments=())
    page = write_report(alike, tmp_path / "open.html", ["CG@1"], "uniform").read_text(encoding="utf-8")
    assert ("<td>equal</td>" in page, '<td class="open">=</td>' in page) == (True, True)
    assert '<td class="sure">' not in page


def test_scores_within_rounding_are_equal_and_others_keep_their_order():
    rng = np.random.default_rng(5)
    for _ in range(200):
        exact = rng.integers(0, 6, (7, 3)) / 7
        noisy = exact * (1 + rng.integers(-3, 4, exact.shape) * 2.0**-52)
        found = equalised(noisy)
        assert np.abs(found - exact).max() < 1e-14
        for mine, true in zip(found.T, exact.T, strict=True):
            assert (np.sign(np.subtract.outer(mine, mine)) == np.sign(np.subtract.outer(true, true))).all()
            assert (shared_ranks(mine) == rankdata(-true, "min")).all()
    assert np.isnan(equalised(np.array([0.5, np.nan]))).tolist() == [False, True]
    assert equalised(np.array([1 + 2.0**-52, 1e-17, 0.5]), bounded=True).tolist() == [1, 0, 0.5]


def test_equal_systems_have_one_interval_and_one_error_though_their_variances_were_summed_in_another_order():
    one, other = 0.04, np.nextafter(0.04, 1)
    covariance = np.array([[one, one, 0.01], [one, other, 0.01], [0.01, 0.01, 0.09]])
    scores = SystemScores(np.array([0.5, 0.5, 0.3]), covariance, queries=9, pool=100, draws=50)
    assert scores.firsts.tolist() == [0, 0, 2]
    for values in (*scores.interval(), scores.errors):
        assert values[0] == values[1] != values[2]
    assert scores.errors == pytest.approx(np.sqrt(np.diagonal(covariance) / 50), rel=1e-12)
