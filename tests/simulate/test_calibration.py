from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binned_statistic
from sklearn.metrics import brier_score_loss

from audiosim.corpus.collection import Collection
from audiosim.corpus.model import FINE, Judgment, Run
from audiosim.corpus.pool import build_pool
from audiosim.errors import InputError
from audiosim.measures.measure import Measure
from audiosim.relevance.estimators import uniform
from audiosim.selection import Selection
from audiosim.selection.stopping import Judgments
from audiosim.simulate import Claims, Design, part_of, repeat, replay, synthetic_collection

# The bins of Urbano (2013), Tables 8.2 and 8.4, as printed.
PRINTED = [(0.5, 0.6), (0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 0.95), (0.95, 0.99), (0.99, 1.0)]


def claims_of(stated, right, rankings=1):
    parts = [np.array_split(np.asarray(values, dtype=float), rankings) for values in (stated, right)]
    return Claims(tuple(parts[0]), tuple(parts[1]), tuple(range(rankings)))


@pytest.fixture(params=range(5))
def drawn(request):
    """300 claims in three rankings; some at the edges of bins, some right only by half."""
    rng = np.random.default_rng(request.param)
    stated = rng.choice([*rng.uniform(0.5, 1, 40), 0.5, 0.6, 0.7, 0.9, 0.95, 0.99, 1.0], 300)
    return stated, rng.choice([0.0, 0.5, 1.0], 300, p=[0.2, 0.1, 0.7])


def test_bins_are_those_that_the_thesis_prints_by_a_loop(drawn):
    stated, right = drawn
    found = claims_of(stated, right, 3).bins()
    assert [(row["low"], row["high"]) for row in found] == PRINTED
    for row, (low, high) in zip(found, PRINTED, strict=True):
        # The last bin has its upper end, [.99, 1]; the others do not.
        inside = [(s, r) for s, r in zip(stated, right, strict=True) if low <= s < high or s == high == 1]
        assert (row["claims"], row["share"]) == (len(inside), len(inside) / 300)
        assert row["stated"] == pytest.approx(sum(s for s, _ in inside) / len(inside))
        assert row["accuracy"] == pytest.approx(sum(r for _, r in inside) / len(inside))


def test_bins_and_calibration_error_are_those_of_scipy_s_binned_means(drawn):
    stated, right = drawn
    claims = claims_of(stated, right, 2)
    edges = [low for low, _ in PRINTED] + [1.0]
    means = [binned_statistic(stated, values, "mean", edges).statistic for values in (stated, right)]
    counts = binned_statistic(stated, stated, "count", edges).statistic
    np.testing.assert_allclose([row["stated"] for row in claims.bins()], means[0])
    np.testing.assert_allclose([row["accuracy"] for row in claims.bins()], means[1])
    assert claims.calibration_error == pytest.approx((np.abs(means[0] - means[1]) * counts).sum() / 300)


def test_brier_score_is_that_of_scikit_learn_where_nothing_is_tied():
    rng = np.random.default_rng(3)
    stated, right = rng.uniform(0.5, 1, 200), rng.integers(0, 2, 200)
    assert claims_of(stated, right, 4).brier == pytest.approx(brier_score_loss(right, stated))


def test_a_claim_about_a_tie_is_half_right(drawn):
    stated, right = drawn
    expected = sum((s - r) ** 2 for s, r in zip(stated, right, strict=True)) / 300
    assert claims_of(stated, right).brier == pytest.approx(expected)
    even = claims_of([0.5, 0.5], [0.5, 0.5])
    assert (even.brier, even.calibration_error) == (0, 0)


def test_empty_bins_have_no_means_and_count_for_nothing():
    claims = claims_of([0.97, 0.97], [1, 0])
    empty = [row for row in claims.bins() if row["low"] != 0.95]
    assert len(empty) == 6
    assert all(row["claims"] == row["share"] == 0 for row in empty)
    assert all(row["stated"] is row["accuracy"] is None for row in empty)
    assert claims.calibration_error == pytest.approx(0.47)


def test_a_confidence_a_rounding_error_below_a_half_is_in_the_first_bin():
    assert claims_of([0.5 - 1e-16], [1]).bins()[0]["claims"] == 1


@pytest.mark.parametrize("seed", range(4))
def test_claims_that_are_true_as_often_as_they_say_have_no_calibration_error(seed):
    # By construction; what sampling leaves in each bin is a normal deviation of sqrt(mean p (1 - p) / n).
    rng = np.random.default_rng(seed)
    stated = rng.uniform(0.5, 1, 20_000)
    right = rng.random(20_000) < stated
    claims = claims_of(stated, right, 20)
    counts = [row["claims"] for row in claims.bins()]
    inside = [stated[(stated >= low) & (stated < high)] for low, high in PRINTED]
    noise = [np.sqrt((p * (1 - p)).mean() / len(p)) for p in inside]
    assert claims.calibration_error < 2 * np.average(noise, weights=counts)
    # The mean of p (1 - p) for p uniform in [1/2, 1] is 1/6.
    assert claims.brier == pytest.approx(1 / 6, abs=0.006)
    for row, error in zip(claims.bins(), noise, strict=True):
        assert abs(row["stated"] - row["accuracy"]) < 4.5 * error


def test_claims_that_are_too_bold_are_shown_to_be():
    rng = np.random.default_rng(1)
    stated = rng.uniform(0.7, 1, 20_000)
    claims = claims_of(stated, rng.random(20_000) < stated - 0.2, 10)
    assert claims.calibration_error == pytest.approx(0.2, abs=0.015)
    assert claims.to_dict()["excess"] == pytest.approx(0.2, abs=0.015)


def test_plain_values_hold_means_over_the_rankings_and_their_standard_errors():
    claims = Claims(
        (np.array([0.6, 0.8]), np.array([0.9, 0.9]), np.array([1.0, 0.8])),
        (np.array([1.0, 0.0]), np.array([1.0, 1.0]), np.array([1.0, 0.5])),
        (10, 20, 60),
    )
    said = claims.to_dict()
    stated, accuracy = [0.7, 0.9, 0.9], [0.5, 1.0, 0.75]
    for name, values in {
        "judged": [10, 20, 60],
        "stated": stated,
        "accuracy": accuracy,
        "excess": [0.2, -0.1, 0.15],
    }.items():
        assert said[name] == pytest.approx(np.mean(values))
        assert said[f"{name}_error"] == pytest.approx(np.std(values, ddof=1) / np.sqrt(3))
    assert list(said)[-3:] == ["calibration_error", "brier", "bins"]
    assert said["bins"] == claims.bins()


def test_a_single_ranking_has_no_standard_error():
    said = claims_of([0.6, 0.8], [1, 0]).to_dict()
    assert [said[f"{name}_error"] for name in ("judged", "stated", "accuracy", "excess")] == [None] * 4


@pytest.fixture(scope="module")
def collection():
    """7 systems of 4 teams, 9 queries."""
    return synthetic_collection(np.random.default_rng(2), Design(7, 4, 9, 3, 15))


def play(part):
    pool = build_pool(part)
    start = Selection.start(pool, Measure("CG", 3), uniform(pool), batch=5)
    return replay(start, pool.spread(part.grades()), Judgments(12))


class Played:
    """A campaign that keeps the parts it was played on and what came of it."""

    def __init__(self):
        self.parts, self.replays = [], []

    def __call__(self, part):
        self.parts.append(part)
        self.replays.append(play(part))
        return self.replays[-1]


def content(part):
    """The queries and the teams of a part."""
    return frozenset(q for run in part.runs for q in run.rankings), frozenset(part.team(r.system) for r in part.runs)


def test_parts_are_of_as_many_queries_and_teams_as_was_said_each_once(collection):
    played, rng = Played(), np.random.default_rng(0)
    found = repeat(collection, played, 12, rng, queries=4, teams=3)
    assert (found.queries, found.teams) == (4, 3)
    contents = [content(part) for part in played.parts]
    assert len(contents) == 12
    assert all((len(queries), len(teams)) == (4, 3) for queries, teams in contents)
    assert len(set(contents)) > 6
    for part, (queries, teams) in zip(played.parts, contents, strict=True):
        whole = [run for run in collection.runs if collection.teams[run.system] in teams]
        assert [run.system for run in part.runs] == [run.system for run in whole]
        for run, old in zip(part.runs, whole, strict=True):
            assert run.rankings == {query: old.rankings[query] for query in old.rankings if query in queries}


def test_every_query_and_team_is_drawn_equally_often(collection):
    played = Played()
    repeat(collection, played, 200, np.random.default_rng(1), queries=3, teams=2)
    queries = Counter(query for part in played.parts for query in sorted(content(part)[0]))
    teams = Counter(team for part in played.parts for team in sorted(content(part)[1]))
    # Binomial with 200 draws of chance 1/3 and 1/2: within four standard deviations.
    assert len(queries) == 9
    assert all(abs(count - 200 / 3) < 4 * np.sqrt(200 * 2 / 9) for count in queries.values())
    assert len(teams) == 4
    assert all(abs(count - 100) < 4 * np.sqrt(50) for count in teams.values())


def test_what_is_claimed_is_what_each_campaign_said_at_its_start_and_at_its_end(collection):
    played = Played()
    found = repeat(collection, played, 5, np.random.default_rng(3))
    assert (found.queries, found.teams) == (5, 3)  # a half of 9 and three quarters of 4, rounded up
    assert found.first.judged == (0,) * 5
    assert found.last.judged == (12,) * 5
    said = found.to_dict()
    assert list(said) == ["repeats", "queries", "teams", "start", "end"]
    assert (said["repeats"], said["queries"], said["teams"]) == (5, 5, 3)
    for moment, place in (("start", 0), ("end", -1)):
        curve = [one.curve[place] for one in played.replays]
        assert said[moment]["stated"] == pytest.approx(np.mean([point.confidence for point in curve]))
        assert said[moment]["accuracy"] == pytest.approx(np.mean([point.accuracy for point in curve]))
    assert sum(row["claims"] for row in said["end"]["bins"]) == sum(
        len(part.runs) * (len(part.runs) - 1) // 2 for part in played.parts
    )


def test_repeats_are_fixed_by_the_seed_and_tell_how_far_they_are(collection):
    seen = []
    rng = np.random.default_rng(3)
    one = repeat(collection, play, 3, rng, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert repeat(collection, play, 3, np.random.default_rng(3)).to_dict() == one.to_dict()
    assert repeat(collection, play, 3, np.random.default_rng(4)).to_dict() != one.to_dict()


def test_a_part_keeps_what_it_should_and_nothing_more(tiny, tiny_truth):
    tiny = replace(tiny, judgments=tuple(tiny_truth))
    part = part_of(tiny, {"q2"}, {"one"})
    assert [(run.system, dict(run.rankings)) for run in part.runs] == [
        ("A", {"q2": ("b", "e")}),
        ("B", {"q2": ("e", "b")}),
    ]
    assert part.judgments == tuple(judgment for judgment in tiny_truth if judgment.query == "q2")
    assert (part.scale, part.cutoff, part.documents, part.teams) == (tiny.scale, 2, tiny.documents, tiny.teams)
    assert len(tiny.runs) == 3
    assert build_pool(part).queries == ("q2",)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"times": 0}, "the number of repeats must be at least 1, got 0"),
        ({"queries": 10}, "a part must have 1 to 9 queries, got 10"),
        ({"queries": 0}, "a part must have 1 to 9 queries, got 0"),
        ({"teams": 5}, "a part must have 1 to 4 teams, got 5"),
        ({"teams": 0}, "a part must have 1 to 4 teams, got 0"),
        ({"teams": 1}, "a part needs two systems to compare, and one of 1 teams may have a single one"),
    ],
)
def test_numbers_that_no_part_can_have_are_refused(collection, numbers, message):
    options = {"times": 2} | numbers
    with pytest.raises(InputError, match=f"^{message}$"):
        repeat(collection, play, rng=np.random.default_rng(0), **options)


def test_teams_that_all_have_two_systems_may_be_drawn_alone():
    runs = tuple(Run(f"s{i}", {"q": (f"d{i}",), "p": (f"d{i}",)}) for i in range(4))
    judgments = tuple(Judgment(q, f"d{i}", 10.0 * i) for q in "qp" for i in range(4))
    teams = {f"s{i}": f"t{i // 2}" for i in range(4)}
    pairs = Collection("pairs", "pairs", FINE, 1, runs, teams=teams, judgments=judgments)

    def campaign(part):
        pool = build_pool(part)
        return replay(Selection.start(pool, Measure("CG", 1), uniform(pool)), pool.spread(part.grades()), 0.9)

    assert repeat(pairs, campaign, 2, np.random.default_rng(0), teams=1).to_dict()["teams"] == 1
