import re
import shutil
import subprocess
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from scipy import stats

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import Judgment
from audiosim.errors import InputError
from audiosim.evaluation.evaluation import SYSTEM_TESTS, agreement_rows, evaluate
from audiosim.joint.estimators import estimator_of
from audiosim.measures.measure import parse_measure
from audiosim.measures.satisfaction import published_mapping
from audiosim.ranking import Selection, confidences
from audiosim.ranking.about import THESE
from audiosim.ranking.verdicts import Verdicts
from audiosim.report.page import Extras
from audiosim.report.publication import page_alone, write_report
from audiosim.report.record import record_of
from audiosim.simulation.worth import EvidenceWorth, PieceWorth

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
DAY = date(2026, 1, 2)
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)


def test_means_and_intervals_are_those_of_scipy(demo, scores, bounded_by_scipy):
    rows = evaluate(demo, "CG@5").rows()
    assert [row["mean"] for row in rows] == sorted((row["mean"] for row in rows), reverse=True)
    for row in rows:
        values = scores[row["system"]]
        assert (row["low"], row["high"]) == pytest.approx(bounded_by_scipy(values))
        assert row["mean"] == pytest.approx(values.mean())


@pytest.mark.parametrize("test", [one for one in SYSTEM_TESTS if one not in ("listeners", "friedman")])
@pytest.mark.parametrize("measure", ["nDCG@5", "P(min=50)@1", "RR(min=80)@5", "EDCG@5", "ADR@5"])
def test_no_interval_of_a_bounded_measure_leaves_its_bounds_even_with_two_queries(demo, measure, test):
    queries = list(demo.runs[0].rankings)
    for first, second in zip(queries[:12], queries[12:], strict=True):
        runs = tuple(replace(run, rankings={q: run.rankings[q] for q in (first, second)}) for run in demo.runs)
        found = evaluate(replace(demo, runs=runs), measure, test=test, resamples=20)
        for row in found.rows():
            assert 0 <= row["low"] <= row["mean"] <= row["high"] <= 1
            assert 0 <= row["new_query_low"] <= row["low"] <= row["high"] <= row["new_query_high"] <= 1
            if "satisfied" in row:
                assert 0 <= row["satisfied_low"] <= row["satisfied"] <= row["satisfied_high"] <= 1
        for row in found.pair_rows():
            assert -1 <= row["low"] <= row["high"] <= 1


def test_the_original_forms_keep_the_t_interval_and_no_upper_end(demo):
    for row in evaluate(demo, "DCG(form=original)@5").rows():
        assert row["new_query_high"] > row["high"] > row["mean"] > 1


@pytest.mark.parametrize(
    ("test", "peer"),
    [
        ("t", lambda a, b: stats.ttest_rel(a, b).pvalue),
        ("sign", lambda a, b: stats.binomtest(int((a > b).sum()), int((a != b).sum())).pvalue),
    ],
)
def test_pairs_are_compared_as_scipy_does_the_better_one_first(demo, scores, test, peer):
    for row in evaluate(demo, "CG@5", test=test).pair_rows():
        a, b = scores[row["a"]].round(12), scores[row["b"]].round(12)
        assert row["difference"] == pytest.approx((a - b).mean())
        assert row["difference"] >= 0
        assert row["p"] == pytest.approx(peer(a, b), rel=1e-6)
        assert row["p"] <= row["p_benjamini_hochberg"] <= row["p_holm"] <= 1


@pytest.mark.parametrize("test", [one for one in SYSTEM_TESTS if one != "listeners"])
def test_every_test_gives_every_pair_a_row_and_draws_the_same_with_the_same_seed(demo, test):
    once, again = (evaluate(demo, "CG@5", test=test, seed=3).to_dict() for _ in range(2))
    assert len(once["pairs"]) == 45
    assert once == again
    assert once["test"] == test


def test_success_and_satisfied_users_follow_the_published_cubic(demo, scores):
    # Table 4.3, CG linear, Fine: coefficients read from the thesis, applied to scores by plain arithmetic.
    a = published_mapping("CG@5", "fine").coefficients
    for row in evaluate(demo, "CG@5").rows():
        x = scores[row["system"]]
        shares = a[0] + a[1] * x + a[2] * x**2 + a[3] * x**3
        assert row["satisfied"] == pytest.approx(shares.mean())
        assert row["success"] == pytest.approx((shares > 0.5).mean())


def test_a_measure_without_a_published_mapping_says_nothing_of_people(demo):
    found = evaluate(demo, "P(min=55)@5")
    assert found.satisfied is None
    assert "satisfied" not in found.rows()[0]


def test_an_evaluation_turns_into_pandas(demo):
    frame = evaluate(demo, "nDCG@5").to_frame()
    assert len(frame) == 10
    assert frame["mean"].is_monotonic_decreasing


def test_friedman_s_test_and_tukey_s_differences_are_those_of_scipy(demo, scores):
    # MIREX's official test: Friedman on the scores by query, then Tukey's HSD of the mean ranks, with infinite degrees
    # of freedom because the variance of ranks is known.
    found = evaluate(demo, "CG@5", test="friedman")
    peer = stats.friedmanchisquare(*(row.round(9) for row in scores.values()))
    assert found.to_dict()["friedman"] == pytest.approx({"chi_squared": peer.statistic, "freedom": 9, "p": peer.pvalue})
    ranks = stats.rankdata(np.stack(list(scores.values())).round(9), axis=0)
    means = dict(zip(scores, ranks.mean(axis=1), strict=True))
    assert {row["system"]: row["mean_rank"] for row in found.rows()} == pytest.approx(means)
    error = np.sqrt(ranks.var(axis=0, ddof=1).mean() / 24)
    reach = stats.studentized_range.ppf(0.95, 10, np.inf) * error
    for row in found.pair_rows():
        assert means[row["a"]] >= means[row["b"]]
        difference = means[row["a"]] - means[row["b"]]
        expected = {"difference": difference, "low": difference - reach, "high": difference + reach}
        assert {key: row[key] for key in expected} == pytest.approx(expected, rel=1e-6)
        assert row["p"] == pytest.approx(stats.studentized_range.sf(abs(difference) / error, 10, np.inf), abs=1e-7)
    assert found.significant == sum(row["p"] < 0.05 for row in found.pair_rows())


def test_with_friedman_s_test_the_better_system_is_that_of_the_higher_mean_rank():
    # A has the higher mean for one query's sake, B the better rank in five of six.
    grades = {"A": [100, 10, 10, 10, 10, 10], "B": [0, 20, 20, 20, 20, 20]}
    runs = {system: {f"q{query}": [system] for query in range(6)} for system in grades}
    qrels = {f"q{query}": {system: grades[system][query] for system in grades} for query in range(6)}
    given = {"collection": Collection.from_runs(runs, qrels, scale="fine"), "measure": "CG@1"}
    apart = np.subtract(*stats.rankdata([grades["B"], grades["A"]], axis=0).mean(axis=1))
    (row,) = evaluate(**given, test="friedman").pair_rows()
    assert (row["a"], row["b"], row["difference"]) == ("B", "A", pytest.approx(apart))
    assert row["low"] + row["high"] == pytest.approx(2 * apart)
    (row,) = evaluate(**given, test="t").pair_rows()
    assert (row["a"], row["b"]) == ("A", "B")


def test_so_many_of_n_users_are_satisfied_as_the_binomial_has_it(demo, scores):
    # Urbano (2013), equation 4.2, the mean over the queries, with the cubic of Table 4.3 for CG on Fine.
    a = published_mapping("CG@5", "fine").coefficients
    found = evaluate(demo, "CG@5", users=15)
    for row in found.rows():
        x = scores[row["system"]]
        shares = a[0] + a[1] * x + a[2] * x**2 + a[3] * x**3
        expected = stats.binom.pmf(np.arange(16), 15, shares[:, None]).mean(axis=0)
        assert row["users_probabilities"] == pytest.approx(expected)
        assert row["users_satisfied"] == pytest.approx(15 * row["satisfied"])
        assert row["most_satisfied"] == pytest.approx(expected[8:].sum())
    with pytest.raises(InputError, match="there is no published mapping to satisfaction for ADR"):
        evaluate(demo, "ADR@5", users=15)


@pytest.mark.parametrize(
    ("scale", "measure", "by_hand"),
    [
        ("graded-4", "CG@5", lambda g: np.searchsorted([25, 51, 76], g, side="right") / 3),
        ("binary-40", "P@5", lambda g: g >= 40),
    ],
)
def test_judgments_are_read_on_an_artificial_scale_and_its_published_mapping_answers(demo, scale, measure, by_hand):
    grades = demo.grades()
    rows = evaluate(demo, measure, scale=scale).rows()
    for row in rows:
        (run,) = [run for run in demo.runs if run.system == row["system"]]
        values = [by_hand(np.array([grades[q, d] for d in run.rankings[q][:5]])).mean() for q in run.rankings]
        assert row["mean"] == pytest.approx(np.mean(values))
        assert 0 < row["satisfied"] < 1


def test_more_resamples_are_drawn_where_more_are_asked_for(demo):
    few, many = (evaluate(demo, "CG@5", test="bootstrap", resamples=n).pair_rows() for n in (9, 1999))
    # p = (1 + draws at least as far off) / (1 + draws): a whole number times a tenth or a two-thousandth.
    assert all(row["p"] * 10 == pytest.approx(round(row["p"] * 10)) for row in few)
    assert any(row["p"] * 10 != pytest.approx(round(row["p"] * 10)) for row in many)


def test_what_cannot_be_evaluated_is_refused(demo, tiny):
    with pytest.raises(InputError, match="test must be one of t, .*, permutation, friedman, listeners, got 'z'"):
        evaluate(demo, "CG@5", test="z")
    with pytest.raises(InputError, match="resamples must be at least 1, got 0"):
        evaluate(demo, "CG@5", resamples=0)
    with pytest.raises(InputError, match="tiny: nothing is judged, expected judgments"):
        evaluate(tiny, "CG@2")
    some = replace(tiny, judgments=(Judgment("q1", "b", 1),))
    with pytest.raises(
        InputError, match="tiny: 6 retrieved pairs are not judged, the first is document a for query q1"
    ):
        evaluate(some, "CG@2")


def of_one_query(collection):
    runs = tuple(replace(run, rankings={"q01": run.rankings["q01"]}) for run in collection.runs)
    return replace(collection, runs=runs, judgments=tuple(one for one in collection.judgments if one.query == "q01"))


@pytest.mark.parametrize("test", SYSTEM_TESTS)
@pytest.mark.parametrize("measure", ["CG@5", "DCG(form=original)@5"])
def test_a_single_query_gives_scores_without_tests(demo, scores, measure, test):
    found = evaluate(of_one_query(demo), measure, test=test)
    assert found.pair_rows() == []
    value = found.to_dict()
    assert value["test"] is None
    for row in value["systems"]:
        if measure == "CG@5":
            assert row["mean"] == pytest.approx(scores[row["system"]][0])
            assert 0 <= row["low"] < row["mean"] < row["high"] <= 1
            assert (row["new_query_low"], row["new_query_high"]) == (0, 1)
        else:
            assert (row["low"], row["high"], row["new_query_high"]) == (None, None, None)


@pytest.mark.parametrize("judged", [True, False])
def test_a_page_says_which_part_could_not_be_computed(demo, tmp_path, judged):
    collection = replace(of_one_query(demo), sounds=None) if judged else replace(demo, sounds=None, judgments=())
    page = write_report(collection, tmp_path / "page.html", ["CG@5"], evidence=not judged, pictures=True).read_text()
    left_out = re.findall("Left out: (.*?):", page)
    assert left_out == (["pictures", "stability by CG@5"] if judged else ["worth of the evidence", "pictures"])
    assert ("CG@5: ranking</h2>" in page) is judged


def test_success_is_counted_above_any_share_of_users(demo, scores):
    mapping = published_mapping("CG@5", "fine")
    for row in evaluate(demo, "CG@5", success=0.7).rows():
        assert row["success"] == pytest.approx((mapping.probability(scores[row["system"]]) > 0.7).mean())
    with pytest.raises(InputError, match="the threshold of success is a share of the users, from 0 to 1, got 2"):
        evaluate(demo, "CG@5", success=2)


def test_a_single_system_is_evaluated_without_pairs(demo):
    found = evaluate(replace(demo, runs=demo.runs[:1]), "CG@5")
    assert found.pair_rows() == []
    assert found.to_dict()["test"] is None


def test_confidence_over_time_is_that_of_the_selections(demo):
    pool = build_pool(demo, 5)
    judgments = [judgment for judgment in demo.judgments if judgment.pair in pool.positions][:50]
    measure, estimator = parse_measure("CG@5"), estimator_of(pool, "joint")  # which learns from 25 on
    curve = confidences(pool, measure, estimator, judgments, moments=6)
    assert [judged for judged, _ in curve] == [0, 10, 20, 30, 40, 50]
    assert curve[0][1] == Selection.start(pool, measure, estimator).confidence
    assert curve[-1][1] == Selection.start(pool, measure, estimator, judgments).confidence


def shown(page, tmp_path):
    """The page in a browser: the picture's size in bytes, and the browser's complaints."""
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    quiet = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
    picture = tmp_path / "page.png"
    command = [CHROMIUM, "--headless", *quiet, "--disable-component-update", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--enable-logging=stderr", "--v=0", "--window-size=400,2000", f"--screenshot={picture}"]
    ran = subprocess.run(
        [*command, (tmp_path / "page.html").as_uri()], capture_output=True, text=True, timeout=180, check=True
    )
    complaints = [line for line in ran.stderr.splitlines() if "CONSOLE" in line]
    return picture.stat().st_size, complaints


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: Debian's package chromium-headless-shell")
@pytest.mark.parametrize("judged", ["all", "some"])
def test_the_page_opens_in_a_browser_without_a_complaint(demo, tmp_path, judged):
    some = demo.judgments if judged == "all" else demo.judgments[:99]
    record = record_of(replace(demo, name="Demo <&>", judgments=some), "CG@5", "mjud", others=["nDCG@5"])
    page = page_alone(record, DAY)
    size, complaints = shown(page, tmp_path)
    assert size > 20_000
    assert complaints == []
    assert "Demo &lt;&amp;&gt;" in page
    assert "http" not in page.replace("http-equiv", "")
    assert page.count("<svg") == page.count("aria-label=")


@pytest.mark.slow
def test_the_report_says_in_words_what_estimate_says(demo):
    pool = build_pool(demo, 5)
    selection = Selection.start(pool, parse_measure("nDCG@5"), estimator_of(pool, "mjud"), demo.judgments[:99])
    verdicts = Verdicts(selection.ranking)
    judged = replace(demo, judgments=demo.judgments[:99])
    page = re.sub(r"</?bdi>", "", page_alone(record_of(judged, "nDCG@5", "mjud", about=THESE, curve=()), DAY))
    assert f"<strong>{verdicts.sentence}" in page
    pairs = f"{len(pool.pairs)} pairs of a query and a result"
    assert f"<dd>{len(demo.runs)} systems, on {len(pool.queries)} queries: {pairs}.</dd>" in page
    assert f"{selection.ranking.judged} of {selection.ranking.pool} pairs judged" in page
    assert f"<p>{selection.ranking.check.sentence}</p>" in page
    assert (
        "<dd>nDCG@5: gain of the first 5 results, less for lower ranks, as a share of the best possible.</dd>" in page
    )
    for system, low, high in zip(verdicts.ranking.systems, *verdicts.ranks, strict=True):
        ranks = f"{low}" if low == high else f"{low} – {high}"
        row = re.search(rf'<tr><td class="word">{system}</td>.*?</tr>', page)[0]
        assert f">{ranks}</td>" in row


@pytest.mark.slow
def test_the_report_says_what_each_piece_of_evidence_is_worth(demo):
    piece = PieceWorth("sound <x>", 1.0, 0.1, 0.0123, 0.0011, 0.0234, 0.05, -0.01, 0.1, 132.0)
    unplayed = PieceWorth("genre", 0.9, 0.1, -0.002, -0.01, 0.004, 0.0, -0.1, 0.1, None)
    record, prompts = record_of(demo, "CG@5"), {"q1": "<i>calm</i>\npiano"}
    page = page_alone(record, DAY, extras=Extras(prompts, worth=EvidenceWorth((piece, unplayed), {}, False, 0.9)))
    row = ["sound &lt;x&gt;", "10%", "+0.0123 (+0.0011 to +0.0234)", "+0.0500 (-0.0100 to +0.1000)", "+132"]
    assert "".join(f'<td class="word">{cell}</td>' for cell in row) in page
    assert '<td class="word">not replayed</td>' in page
    assert "until the confidence in the ranking is 0.9." in page
    assert ">&lt;i&gt;calm&lt;/i&gt;\npiano</dd>" in page
    assert "Worth of the evidence" not in page_alone(record, DAY)


def test_measures_agree_on_the_ranking_as_scipy_has_it(demo):
    found = {name: evaluate(demo, name) for name in ("CG@5", "nDCG@5", "RR(min=40)@5")}
    rows = agreement_rows(found)
    assert [(row["a"], row["b"]) for row in rows] == [
        ("CG@5", "nDCG@5"),
        ("CG@5", "RR(min=40)@5"),
        ("nDCG@5", "RR(min=40)@5"),
    ]
    for row in rows:
        one, other = ({line["system"]: line["mean"] for line in found[row[key]].rows()} for key in "ab")
        values = [(one[system], other[system]) for system in one]
        assert row["rho"] == pytest.approx(stats.spearmanr(*zip(*values, strict=True)).statistic)
        gaps = np.subtract(*np.array(values).T)
        pairs = gaps[:, None] - gaps
        assert row["rmse_differences"] == pytest.approx(np.sqrt((pairs[np.triu_indices(len(gaps), 1)] ** 2).mean()))


@pytest.mark.slow
def test_listeners_are_a_sample_where_all_of_them_judged_everything(demo):
    rng = np.random.default_rng(0)
    people = {name: rng.normal(0, 8, len(demo.judgments)) for name in ("ann", "bob", "cid")}
    said = tuple(
        replace(one, assessor=name, grade=float(np.clip(round(one.grade + off), 0, 100)))
        for name, more in people.items()
        for one, off in zip(demo.judgments, more, strict=True)
    )
    found = evaluate(replace(demo, judgments=said), "CG@5", test="listeners")
    usual = evaluate(replace(demo, judgments=said), "CG@5")
    rows, others = found.pair_rows(), usual.pair_rows()
    assert [row["difference"] for row in rows] == pytest.approx([row["difference"] for row in others])
    assert sum(row["high"] - row["low"] for row in rows) >= sum(row["high"] - row["low"] for row in others)
    first = build_pool(demo, 5).pairs[0]
    fewer = tuple(one for one in said if one.assessor != "cid" or one.pair != first)
    with pytest.raises(InputError, match=r"^the test listeners needs two people or more .*; 2 of 3 did\. `audiosim co"):
        evaluate(replace(demo, judgments=fewer), "CG@5", test="listeners")
    with pytest.raises(InputError, match="; 1 of 1 did"):
        evaluate(demo, "CG@5", test="listeners")
