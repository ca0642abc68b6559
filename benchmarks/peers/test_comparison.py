import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from synthetic import Design, synthetic_collection

from audiosim.collection.pool import build_pool
from audiosim.errors import InputError
from audiosim.joint.estimators import uniform
from audiosim.measures.measure import parse_measure
from audiosim.ranking import Selection
from audiosim.simulation.trials import Trial, draw_parts, follow
from peers import comparison
from peers.comparison import across, compare_methods, statement_of
from peers.model_peers import gaussian_process
from peers.sampling import means_by_t, shrunken
from peers.statement import order_alone

BUDGETS = (0, 12, 30)
PEERS = {"means": means_by_t, "shrunken": shrunken}


@pytest.fixture(scope="module")
def parts(collection):
    return draw_parts(collection, 3, np.random.default_rng(3), held_out="queries")


def begin(part, model=None):
    pool = build_pool(part)
    return Selection.start(pool, parse_measure("CG@3"), uniform(pool), batch=5)


@pytest.fixture(scope="module")
def trial(collection):
    return Trial(collection, begin)


@pytest.fixture(scope="module")
def found(trial, parts):
    return compare_methods(trial, parts, PEERS, BUDGETS)


def test_audiosim_s_rows_are_those_of_the_campaigns_that_are_followed(trial, parts, found):
    # The results of `calibration --at` on the same campaigns, by another path through the code.
    curve = follow(trial, parts, BUDGETS).curve()
    rows = [row for row in found.rows() if row["method"] == "audiosim"]
    for row, other in zip(rows, curve, strict=True):
        assert row["budget"] == other["judged"]
        for name, key in (("right", "accuracy"), ("stated", "stated"), ("excess", "excess")):
            assert row[name] == pytest.approx(other[key])
            assert row[f"{name}_error"] == pytest.approx(other[f"{key}_error"])
        for kind in ("systems", "differences"):
            assert row[kind] == pytest.approx(other["coverage"][kind])
            assert row[f"{kind}_error"] == pytest.approx(other["coverage"][f"{kind}_error"])


def test_pairs_of_systems_keep_their_intervals_when_they_are_put_in_order(collection):
    ranking = begin(collection).ranking
    said, mean, covariance = statement_of(ranking), ranking.scores.mean, ranking.scores.covariance
    place = 0
    for a in range(7):
        for b in range(a + 1, 7):
            half = ranking.scores.quantile(0.95) * np.sqrt(covariance[a, a] + covariance[b, b] - 2 * covariance[a, b])
            assert said.differences[place] == pytest.approx(mean[a] - mean[b])
            assert said.half_differences[place] == pytest.approx(half)
            place += 1


def test_a_method_of_one_s_own_is_compared_by_its_own_numbers(trial, parts):
    told = []

    def knows_all(task, grader, rng):
        gains = grader(np.arange(len(task.pool.pairs)))[: grader.budget] if grader.budget > 90 else None
        told.append((grader.budget, gains))
        return order_alone(np.arange(7.0))

    rows = compare_methods(trial, parts, {"mine": knows_all}, BUDGETS).rows()
    assert [budget for budget, _ in told] == list(BUDGETS) * 3
    mine = [row for row in rows if row["method"] == "mine"]
    true = [begin(part.of(trial.collection)) for part in parts]
    scores = []
    for part, start in zip(parts, true, strict=True):
        grades = start.pool.spread(part.of(trial.collection).grades())
        scores.append(start.expected.scores(start.belief.certain(grades)).mean)
    right = [np.mean([values[b] > values[a] for a in range(7) for b in range(a + 1, 7)]) for values in scores]
    assert [row["right"] for row in mine] == pytest.approx([np.mean(right)] * 3)
    assert {row["stated"] for row in mine} == {None}


def test_what_was_played_is_kept_and_read(trial, parts, found, tmp_path, monkeypatch):
    first = compare_methods(trial, parts[:2], {"means": means_by_t}, BUDGETS, keep=tmp_path / "kept")
    assert len(list((tmp_path / "kept").iterdir())) == 4  # two parts, two methods
    played = []
    monkeypatch.setattr(comparison, "_own", lambda *told, own=comparison._own: played.append(1) or own(*told))
    whole = compare_methods(trial, parts, PEERS, BUDGETS, keep=tmp_path / "kept")
    assert len(played) == 1  # audiosim's campaign on the third part
    assert whole.rows() == found.rows()
    assert first.methods == ["audiosim", "means"]


def test_a_process_judges_the_same_pairs_whether_the_campaign_was_kept_or_played(trial, parts, tmp_path):
    gp = {"gp": gaussian_process}
    played = compare_methods(trial, parts[:1], gp, BUDGETS)
    compare_methods(trial, parts[:1], {}, BUDGETS, keep=tmp_path)
    assert compare_methods(trial, parts[:1], gp, BUDGETS, keep=tmp_path).rows() == played.rows()


def test_a_kept_file_that_is_none_is_named(trial, parts, tmp_path):
    compare_methods(trial, parts[:1], {}, BUDGETS, keep=tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_text("[]")
    with pytest.raises(InputError, match=f"{path.name}: expected the outcomes of audiosim; remove it"):
        compare_methods(trial, parts[:1], {}, BUDGETS, keep=tmp_path)


def test_several_collections_count_alike(found):
    rows = {(row["method"], row["budget"]): row for row in found.rows()}
    one = replace(found, played=found.played[:2])
    other = {(row["method"], row["budget"]): row for row in one.rows()}
    for row in across([found, one]):
        key = row["method"], row["budget"]
        assert row["collections"] == 2
        assert row["right"] == pytest.approx((rows[key]["right"] + other[key]["right"]) / 2)
        both = rows[key]["right_error"] ** 2 + other[key]["right_error"] ** 2
        assert row["right_error"] == pytest.approx(np.sqrt(both) / 2)
        if row["method"] == "shrunken":
            assert row["rms"] is None
        else:
            assert row["rms"] == pytest.approx(np.sqrt((rows[key]["excess"] ** 2 + other[key]["excess"] ** 2) / 2))


@pytest.mark.parametrize(
    ("budgets", "told"),
    [
        ((), "budgets must rise from 0 or more, got none"),
        ((20, 20), "budgets must rise from 0 or more, got 20, 20"),
        ((10, 4000), r"part 1 has \d+ pairs; expected budgets below that, got 4000"),
    ],
)
def test_budgets_that_are_none_are_refused(trial, parts, budgets, told):
    with pytest.raises(InputError, match=told):
        compare_methods(trial, parts, {}, budgets)


def fails(task, grader, rng):
    raise KeyError("nothing here")


@pytest.mark.parametrize(
    ("peer", "told"),
    [
        (fails, "peer mine fails: KeyError: 'nothing here'"),
        (lambda task, grader, rng: None, "peer mine must return a StatedRanking of 7 systems, got NoneType"),
        (lambda task, grader, rng: grader(range(40)), "peer mine: a method requested 40 judgments, but had only 0"),
    ],
)
def test_what_goes_wrong_in_a_method_names_it(trial, parts, peer, told):
    with pytest.raises(InputError, match=told):
        compare_methods(trial, parts, {"mine": peer}, BUDGETS)


def test_nobody_else_is_called_audiosim(trial, parts):
    with pytest.raises(InputError, match="a peer cannot be called audiosim"):
        compare_methods(trial, parts, {"audiosim": means_by_t}, BUDGETS)


@pytest.mark.slow
def test_the_benchmark_compares_methods_on_a_collection_of_one_s_own(tmp_path):
    synthetic_collection(np.random.default_rng(2), Design(6, 3, 6, 3, 12)).save(tmp_path / "small")
    script = Path(__file__).resolve().parents[1] / "honesty.py"

    def call(*options):
        command = [sys.executable, script, "--collection", tmp_path / "small", "--parts", "2", *options]
        ran = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        return ran.returncode, ran.stdout, ran.stderr

    code, out, err = call("--peers", ",".join(PEERS), "--at", "0,12", "--measure", "DCG")
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines() if "right" in line]
    assert [row[:3] for row in rows] == [[name, at, "right"] for name in ("audiosim", *PEERS) for at in ("0", "12")]
    assert all(0 <= float(row[3]) <= 1 for row in rows)
    for options, told in (
        (("--peers", "gauss"), "unknown peer 'gauss', expected one of gp, mtc, "),
        (("--peers", "means", "--measure", "nDCG"), "peers estimate weighted sums of grades, such as CG@5 or DCG@10"),
        (("--peers", "means"), "expected budgets below that, got 400"),
    ):
        code, out, err = call(*options)
        assert code == 1
        assert told in err
        assert len(err.splitlines()) == 1
