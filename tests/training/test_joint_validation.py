"""Validation of joint models, compared with sums written out pair by pair and with collections of known effects."""

import json
import re
from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest

from audiosim.errors import InputError
from audiosim.joint.model import JointEstimator
from audiosim.ordinal.model import ALWAYS, METADATA, SOUND, fallbacks
from audiosim.report.screen import console
from audiosim.report.train import MEANINGS, component_table, spell, training_page, training_view
from audiosim.stats.normal.layout import REST
from audiosim.training.cross_validate import View
from audiosim.training.examples import Judged, draw, judged_pools, make_examples, seen_only, ways_to_hold_out
from audiosim.training.plan import Plan
from audiosim.training.train import train
from audiosim.training.validate_joint import (
    HALVINGS,
    JUDGED,
    PRIOR,
    halves,
    joint_intervals,
    joint_scores,
    means,
)
from benchmarks.synthetic import Design, synthetic_collection

LEVELS = np.arange(5.0, 100, 10)


def judged_in(*collections):
    pools = judged_pools(collections)
    return Judged(pools, make_examples(pools, ["fSYS", "sGEN"]))


@pytest.fixture(scope="module")
def judged(some_hundreds):
    return judged_in(some_hundreds)


def by_query(judged, folds):
    (way,) = ways_to_hold_out(judged.examples, np.ones(len(judged.examples.level), dtype=bool), folds)
    return way


def predicted(judged, model, seen):
    """Predictions of the model for the first pool when only the seen rows are judged."""
    (pool, given), *_ = judged.pools
    grades = np.where(seen, given, np.nan)
    return JointEstimator(pool, (model, *fallbacks(model))).predict(grades)


@pytest.mark.slow
def test_scores_are_those_of_the_rows_left_where_only_those_drawn_are_known(judged, joined):
    model, way, group = joined(), by_query(judged, 3), judged.examples.group
    lot = draw(group, 0.1, 5)
    every = np.ones(len(group), dtype=bool)
    views = [View("nothing", every), View("a tenth", ~lot, lot)]
    found = joint_scores(judged, way, views, lambda _: model, LEVELS, lambda: None)
    assert [(row.predictor, row.sample) for row in found] == [
        ("model", "nothing"),
        ("model", "a tenth"),
        (PRIOR, "a tenth"),
    ]
    truth = judged.pools[0][1]
    squares, logs = [], []
    for fold in range(3):
        prediction = predicted(judged, model, lot & (way.fold == fold))
        for row in np.flatnonzero(~lot & (way.fold == fold)):
            chances = prediction.probabilities[row]
            squares.append((chances @ LEVELS / 100 - truth[row] / 100) ** 2)
            logs.append(-np.log(chances[min(9, int(truth[row] // 10))]))
    assert found[1].rows == len(squares) == np.sum(~lot)
    assert found[1].rmse == pytest.approx(np.mean(squares) ** 0.5, rel=1e-12)
    assert found[1].log_score == pytest.approx(np.mean(logs), rel=1e-12)
    alone = predicted(judged, model, np.zeros(len(lot), dtype=bool))
    ordinal = alone.marginals @ LEVELS
    assert found[2].rmse == pytest.approx(np.mean((ordinal - truth)[~lot] ** 2) ** 0.5 / 100, rel=1e-12)
    # With grades of known components, judged pairs inform about the others.
    assert found[1].rmse < found[0].rmse


@pytest.mark.slow
def test_learning_sees_no_judgment_of_a_held_out_query_and_prediction_none_that_is_not_drawn(judged, joined):
    way, group = by_query(judged, 3), judged.examples.group
    lot, rows = draw(group, 0.2, 1), []
    views = [View("a fifth", ~lot, lot)]

    def learn(seen):
        rows.append(seen)
        return joined()

    before = joint_scores(judged, way, views, learn, LEVELS, lambda: None)
    assert len(rows) == 3
    for fold, seen in enumerate(rows):
        np.testing.assert_array_equal(seen, way.fold != fold)
    # Other grades without a drawn pair: the statements about them do not change, only their errors.
    (pool, given), turned = judged.pools[0], 100 - judged.pools[0][1]
    pools = [(pool, np.where(lot, given, turned))]
    after = joint_scores(Judged(pools, make_examples(pools, ["fSYS"])), way, views, learn, LEVELS, lambda: None)
    assert after[0].mean_variance == pytest.approx(before[0].mean_variance, rel=1e-12)
    assert after[0].rmse != pytest.approx(before[0].rmse, rel=0.01)


@pytest.mark.slow
def test_a_model_is_told_of_progress_once_per_fold_and_once_per_half(judged, joined):
    calls = []
    view = [View("all", np.ones(len(judged.examples.group), dtype=bool))]
    joint_scores(judged, by_query(judged, 7), view, lambda _: joined(), LEVELS, lambda: calls.append("fold"))
    joint_intervals(judged, lambda _: joined(), 0, lambda: calls.append("half"))
    assert calls == ["fold"] * 7 + ["half"] * 2 * HALVINGS


def test_without_a_row_left_to_predict_there_is_no_score(judged, joined):
    none = np.zeros(len(judged.examples.group), dtype=bool)
    with pytest.raises(InputError, match="^nobody: no judgment is left to predict$"):
        joint_scores(judged, by_query(judged, 2), [View("nobody", none)], lambda _: joined(), LEVELS, lambda: None)


def test_the_pools_show_the_judgments_of_the_rows_seen_and_no_others(some_hundreds, judged):
    rng = np.random.default_rng(0)
    other = replace(
        some_hundreds, identifier="other", judgments=tuple(j for j in some_hundreds.judgments if rng.random() < 0.6)
    )
    both = judged_in(some_hundreds, other)
    seen = rng.random(len(both.examples.level)) < 0.5
    shown = [(pool, grades) for pool, grades in seen_only(both.pools, seen)]
    found = np.concatenate([grades[~np.isnan(grades)] for _, grades in shown])
    np.testing.assert_array_equal(found / 100, both.examples.truth[seen])
    for (pool, grades), (same, given) in zip(shown, both.pools, strict=True):
        assert pool is same
        known = ~np.isnan(grades)
        np.testing.assert_array_equal(grades[known], given[known])
    assert len(judged_pools([other])[0][1]) == len(shown[1][1])


def test_weights_make_the_means_of_queries_and_systems_and_their_differences(some_hundreds, judged):
    (pool, given), *_ = judged.pools
    rng = np.random.default_rng(1)
    pairs = np.flatnonzero((rng.random(len(given)) < 0.5) & (pool.query != 3))
    found = {what: weights @ given for what, weights in means(pool, pairs).items()}
    by_query, by_system = {}, {system: [] for system in pool.systems}
    grades = some_hundreds.grades()
    for place in pairs:
        pair = pool.pairs[place]
        by_query.setdefault(pair.query, []).append(grades[pair])
        for run in some_hundreds.runs:
            if pair.document in run.rankings[pair.query][: some_hundreds.cutoff]:
                by_system[run.system].append(grades[pair])
    expected = [np.mean(by_query[query]) for query in pool.queries if query in by_query]
    assert len(expected) == 13
    np.testing.assert_allclose(found["query means"], expected, rtol=1e-12)
    systems = [np.mean(by_system[system]) for system in pool.systems]
    np.testing.assert_allclose(found["system means"], systems, rtol=1e-12)
    differences = [systems[a] - systems[b] for a in range(8) for b in range(a + 1, 8)]
    np.testing.assert_allclose(found["differences of systems"], differences, atol=1e-10)


def test_halves_are_of_whole_queries_and_drawn_anew():
    group = np.repeat(np.arange(11), np.arange(1, 12))
    found = list(halves(group, 4))
    assert len(found) == HALVINGS
    for half in found:
        counts = [len({bool(half[row]) for row in np.flatnonzero(group == query)}) for query in range(11)]
        assert counts == [1] * 11
        assert sum(half[group == query][0] for query in range(11)) in {5, 6}
    assert any(np.any(found[0] != half) for half in found[1:])
    np.testing.assert_array_equal(found, list(halves(group, 4)))


def dense(field):
    return np.array([field.column(place) for place in range(len(field.mean))])


@pytest.mark.slow
def test_intervals_hold_as_often_as_their_means_and_variances_say_pair_by_pair(judged, joined):
    (pool, given), model = judged.pools[0], joined()
    found = {(row.judged, row.what): row for row in joint_intervals(judged, lambda _: model, 2, lambda: None)}
    assert {share for share, _ in found} == {0.0, JUDGED}
    held = {key: [] for key in found}
    for halving, half in enumerate(halves(judged.examples.group, 2)):
        for side in (half, ~half):
            for share in (0.0, JUDGED):
                field = predicted(judged, model, side & draw(judged.examples.group, share, 2 + halving)).gains
                covariance = dense(field)
                for query in np.unique(pool.query[side]):
                    rows = np.flatnonzero(pool.query == query)
                    off = np.mean(given[rows] / 100 - field.mean[rows])
                    deviation = covariance[np.ix_(rows, rows)].mean() ** 0.5
                    held[share, "query means"].append(abs(off) <= 1.959964 * deviation)
                one, other = (np.flatnonzero(side & (pool.retrieved.toarray()[system] > 0)) for system in (0, 1))
                assert len(one) == len(other) == 35
                weights = np.zeros(len(given))
                weights[one] += 1 / 35
                weights[other] -= 1 / 35
                off = weights @ (given / 100 - field.mean)
                first = abs(off) <= 1.959964 * (weights @ covariance @ weights) ** 0.5
                held[share, "differences of systems"].append(first)
    for share in (0.0, JUDGED):
        row = found[share, "query means"]
        assert (row.nominal, row.number) == (0.95, 14 * HALVINGS)
        assert row.actual == pytest.approx(np.mean(held[share, "query means"]), abs=1e-12)
        assert found[share, "system means"].number == 2 * HALVINGS * 8
        row = found[share, "differences of systems"]
        assert row.number == 2 * HALVINGS * 28
        # These include the differences counted above: each is counted once.
        assert sum(held[share, "differences of systems"]) <= round(row.actual * row.number)


@pytest.mark.slow
def test_a_difference_that_is_known_does_not_count(some_hundreds, joined):
    # Two systems with the same results differ by 0 for certain.
    twin = replace(some_hundreds.runs[0], system="twin")
    both = judged_in(replace(some_hundreds, runs=(*some_hundreds.runs, twin)))
    found = joint_intervals(both, lambda _: joined(), 0, lambda: None)
    numbers = {row.number for row in found if row.what == "differences of systems"}
    assert numbers == {2 * HALVINGS * (9 * 8 // 2 - 1)}


@pytest.fixture(scope="module")
def simulated():
    """Many queries with few pairs each, of known effects."""
    return synthetic_collection(np.random.default_rng(3), Design(5, 3, 24, 4, 25))


@pytest.fixture(scope="module")
def few():
    """Fewer pairs, for tests of the contents and not of the quality of a validation."""
    return synthetic_collection(np.random.default_rng(3), Design(4, 2, 10, 4, 16))


PLAN = Plan(("fSYS", "sGEN", "fGEN"), "joint", 2, judged=(0.0, 0.25), seed=1, joint=True)


@pytest.fixture(scope="module")
def trained(simulated):
    seen = []
    return train([simulated], PLAN, progress=lambda done, total: seen.append((done, total))), seen


def scores_of(found):
    return {(row.predictor, row.sample): row for row in found.scores}


@pytest.mark.slow
def test_on_grades_of_known_components_intervals_hold_as_often_as_they_say(trained):
    # Means of 24 queries, each in three halvings: a standard error of at most sqrt(.95 x .05 / 24) = .044. There are
    # only 5 systems, all judged with the same two halves: their means only rule out large mistakes.
    found = {(row.what, row.judged): row for row in trained[0].findings.intervals}
    for share in (0.0, JUDGED):
        assert found["query means", share].number == 24 * HALVINGS
        assert found["query means", share].actual > 0.95 - 3 * 0.044
        assert found["system means", share].actual > 0.8
        assert found["differences of systems", share].actual > 0.8


@pytest.mark.slow
def test_a_joint_model_is_scored_beside_its_ordinal_part_on_the_same_rows(simulated, trained):
    scores = scores_of(trained[0].findings)
    held, part = "2 folds by query", "2 folds by query, 25 % of each judged"
    assert {sample for _, sample in scores} == {"in sample", held, part}
    assert ("model", "in sample") not in scores
    assert scores["model", held].rows == scores[PRIOR, held].rows == len(simulated.judgments)
    assert scores["model", part].rows == scores[PRIOR, part].rows < len(simulated.judgments)
    assert scores["model", part].rmse < 0.95 * scores[PRIOR, part].rmse
    assert scores["model", part].log_score < scores[PRIOR, part].log_score
    # About 200 sets: four standard errors of sqrt(.95 x .05 / 200).
    assert abs(scores["model", part].coverage_95 - 0.95) <= 4 * 0.0154
    # Trained without joint, the same terms have the scores of the ordinal part.
    plain = scores_of(train([simulated], replace(PLAN, joint=False, judged=())).findings)
    assert plain["model", held]._replace(predictor=PRIOR) == scores[PRIOR, held]
    assert [sample for sample, _ in groupby(row.sample for row in trained[0].findings.scores)] == [
        "in sample",
        held,
        part,
    ]


@pytest.mark.slow
def test_progress_counts_the_fits_of_both_parts_and_of_the_halves(trained):
    total = 2 * (2 + HALVINGS)
    assert trained[1] == [(done, total) for done in range(1, total + 1)]


@pytest.mark.slow
def test_where_no_share_is_named_a_tenth_is_judged_and_without_folds_nothing_is_validated(few):
    found = train([few], replace(PLAN, judged=())).findings
    assert ("model", "2 folds by query, 10 % of each judged") in scores_of(found)
    assert any(note.startswith("10 % of each judged: from each held-out query this share") for note in found.notes)
    without = train([few], replace(PLAN, judged=(), folds=0))
    assert {row.sample for row in without.findings.scores} == {"in sample"}
    assert without.findings.intervals == ()
    assert [row.component for row in without.findings.components] == list(without.model.components)


def test_components_are_given_in_units_of_the_scale(simulated, trained):
    model, findings = trained[0].model, trained[0].findings
    (pool, _), *_ = judged_pools([simulated])
    chances = JointEstimator(pool, (model, *fallbacks(model))).predict(np.full(len(pool.pairs), np.nan)).marginals
    deviation = np.sqrt(chances @ LEVELS**2 - (chances @ LEVELS) ** 2).mean()
    for row in findings.components:
        size, error = model.components[row.component]
        assert (row.size, row.standard_error) == (size, error)
        assert row.points == pytest.approx(size * deviation, rel=1e-9)
        assert row.points_error == (None if error is None else pytest.approx(error * deviation, rel=1e-9))
    # The effects were drawn in these units: .11, .12 and .14 times 100.
    points = {row.component: (row.points, row.points_error) for row in findings.components}
    for name, true in (("query", 11), ("query_genre", 12), ("rest", 14)):
        assert abs(points[name][0] - true) < 4 * points[name][1]


@pytest.mark.slow
def test_the_file_of_a_joint_model_holds_its_components_and_intervals(trained):
    report = json.loads(json.dumps(trained[0].to_dict(), allow_nan=False))["report"]
    assert report["components"][0].keys() == {"component", "size", "standard_error", "points", "points_error"}
    assert report["intervals"][0].keys() == {"what", "judged", "nominal", "actual", "number"}
    assert len(report["intervals"]) == 6


@pytest.mark.slow
def test_left_out_collections_are_predicted_by_a_joint_model_too(few):
    other = replace(few, identifier="other", judgments=few.judgments[::2])
    found = train([few, other], PLAN).findings
    scores = scores_of(found)
    for sample in ("leaving out a collection", "leaving out a collection, 25 % of each judged"):
        assert scores["model", sample].rows == scores[PRIOR, sample].rows
    assert scores["model", "leaving out a collection"].rows == len(few.judgments) + len(other.judgments)


@pytest.mark.slow
def test_where_half_of_the_queries_lack_a_level_there_are_no_intervals_and_the_report_says_why(simulated):
    # Only two queries have judgments below 10, one in each fold: each fold learns that level, but not each random half.
    queries = list(dict.fromkeys(judgment.query for judgment in simulated.judgments))
    rare = {next(j.pair for j in simulated.judgments if j.query == query) for query in queries[:2]}
    judgments = tuple(replace(j, grade=0.0 if j.pair in rare else max(10.0, j.grade)) for j in simulated.judgments)
    found = train([replace(simulated, judgments=judgments)], PLAN).findings
    assert found.intervals == ()
    why = "no intervals, which need halves of the queries: not every level has a judgment to learn from"
    assert why in found.notes


@pytest.mark.slow
def test_a_joint_model_does_without_features_that_are_known_for_no_pair(simulated):
    said = []
    found = train([replace(simulated, documents={})], replace(PLAN, folds=0, judged=()), said.append)
    assert found.model.terms == ("fSYS",)
    assert said[:2] == [f"{name} is unknown for every judged pair: left out" for name in ("sGEN", "fGEN")]
    # Artists and genres are unknown, so effects shared by a query's pairs cannot be separated from the rest.
    errors = {name: error for name, (_, error) in found.model.components.items()}
    assert errors["query_genre"] is errors["query_artist"] is errors["rest"] is None
    assert errors["query"] > 0
    with pytest.raises(InputError, match=r"every one of the \d+ judged pairs has an unknown feature: sGEN for \d+"):
        train([replace(simulated, documents={})], replace(PLAN, terms=("sGEN",), folds=0, judged=()))


def shown(trained):
    screen = console()
    with screen.capture() as captured:
        screen.print(training_view(trained))
    return captured.get()


@pytest.mark.slow
def test_the_report_shows_components_and_intervals_on_a_terminal_and_as_a_page(trained):
    text, page = shown(trained[0]), training_page(trained[0])
    for title in ("Correlation of grades", "Coverage of the true mean by intervals"):
        assert title in text
        assert f"<h2>{title}</h2>" in page
    for row in component_table(trained[0].findings):
        line = next(line for line in text.splitlines() if line.startswith(f"{row['component']} "))
        assert MEANINGS[row["component"]] in line
        assert spell("size", row["size"]) in line
        assert f'<td class="word">{row["component"]}</td>' in page
    line = next(line for line in text.splitlines() if line.startswith("query means"))
    assert line.split()[2:6] == ["0", "%", "95", "%"]
    assert page.count("differences of systems") == 2
    assert "Trend, in standard deviations of a grade" in re.sub(r"\s+", " ", text)
    assert "Trend, in standard deviations of a grade" in page


@pytest.mark.slow
def test_the_report_of_another_model_has_neither(simulated):
    plain = train([simulated], replace(PLAN, joint=False, judged=()))
    assert plain.findings.components == plain.findings.intervals == ()
    for report in (shown(plain), training_page(plain)):
        assert "Correlation of grades" not in report
        assert "Coverage of the true mean" not in report
        assert "Trend" not in report


def test_every_component_of_a_joint_model_is_explained():
    assert set(MEANINGS) == {*ALWAYS, *METADATA, SOUND, REST}


def test_shares_and_counts_are_spelled_as_people_read_them():
    assert [spell("judged", 0.1), spell("nominal", 0.95), spell("actual", 0.91666), spell("number", 1234)] == [
        "10 %",
        "95 %",
        "0.917",
        "1,234",
    ]
    assert spell("standard_error", None) == "–"
