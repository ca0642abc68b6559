"""The report of record: intervals compared with SciPy and brute force, and a bundle that names its sources."""

import csv
import hashlib
import io
import json
import re
import zipfile
from contextlib import closing
from dataclasses import replace
from datetime import date
from functools import cache

import numpy as np
import pytest
from scipy import stats

from audiosim import compare, estimate
from audiosim.campaign import Campaign, DatabaseStore
from audiosim.campaign.event import Event
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import PairedComparison
from audiosim.errors import InputError
from audiosim.joint.estimators import estimator_of
from audiosim.measures.measure import parse_measure
from audiosim.measures.satisfaction import published_mapping
from audiosim.ordinal.model import load_model, save_model
from audiosim.ranking.about import About
from audiosim.report.page import Extras
from audiosim.report.publication import (
    bundle,
    collection_checksums,
    model_checksum,
    page_alone,
    write_bundle,
    write_report,
    zipped,
)
from audiosim.report.record import Pooled, record_of
from benchmarks.synthetic import Design, synthetic_collection

DAY = date(2026, 1, 2)


@pytest.fixture(scope="module")
def made():
    return synthetic_collection(np.random.default_rng(8), Design(5, 3, 12, 5, 40))


@pytest.fixture(scope="module")
def whole(made):
    return record_of(made)


@pytest.fixture(scope="module")
def some(made):
    judged = np.random.default_rng(0).permutation(len(made.judgments))[:70]
    twice = [replace(made.judgments[i], assessor="ben") for i in judged[:20]]
    return record_of(replace(made, judgments=(*(made.judgments[i] for i in judged), *twice)), imputations=6)


@pytest.fixture(scope="module")
def about(some):
    """The record of the collection judged in part, about what is asked for."""
    return cache(
        lambda what: (
            some
            if what == "these"
            else record_of(some.collection, imputations=2, about=About.parse(what), curve=some.curve)
        )
    )


@pytest.fixture(scope="module")
def alone():
    """The page of a record without anything beside it, made once."""
    return cache(lambda record: page_alone(record, DAY))


def test_of_one_completed_collection_it_is_the_t_interval_of_scipy():
    values = np.random.default_rng(0).normal(0.1, 1, 30)
    found = Pooled.of(values[None])
    test = stats.ttest_1samp(values, 0)
    assert (found.low, found.high) == pytest.approx(tuple(test.confidence_interval(0.95)))
    assert found.estimate == pytest.approx(values.mean())
    assert Pooled.of(np.full((1, 4), 0.5)) == Pooled(0.5, 0.5, 0.5)


def test_several_are_put_together_by_rubin_s_rules():
    values = np.random.default_rng(1).normal(0.3, 1, (5, 20)) + np.random.default_rng(2).normal(0, 0.3, (5, 1))
    within, between = np.mean([np.var(row, ddof=1) / 20 for row in values]), np.var(values.mean(axis=1), ddof=1)
    total = within + 1.2 * between
    # Rubin (1987), equation 3.1.6, by the relative increase r in variance; and the complete data's q - 1.
    increase = 1.2 * between / within
    nu = 4 * (1 + 1 / increase) ** 2
    expected = stats.t(1 / (1 / nu + 1 / 19), values.mean(), np.sqrt(total)).interval(0.95)
    found = Pooled.of(values)
    assert (found.low, found.high) == pytest.approx(expected)


@pytest.mark.slow
def test_intervals_of_imputed_means_hold_the_mean_of_the_population_at_least_as_often_as_they_say():
    rng, held = np.random.default_rng(3), 0
    for _ in range(2000):  # half of 30 values missing at random, drawn from the posterior of a normal sample
        seen = rng.normal(0, 1, 15)
        completed = []
        for _ in range(10):
            variance = seen.var(ddof=1) * 14 / rng.chisquare(14)
            mean = rng.normal(seen.mean(), np.sqrt(variance / 15))
            completed.append(np.concatenate([seen, rng.normal(mean, np.sqrt(variance), 15)]))
        found = Pooled.of(np.array(completed))
        held += found.low <= 0 <= found.high
    assert 0.95 - 3 * np.sqrt(0.95 * 0.05 / 2000) <= held / 2000 <= 0.98


@pytest.mark.slow
def test_judged_in_full_it_says_what_the_scores_of_the_queries_say(made, whole, bounded_by_scipy):
    mapping = published_mapping("CG@5", "fine")
    grades = made.grades()
    for row in whole.rows():
        run = next(run for run in made.runs if run.system == row["system"])
        scores = np.array([np.mean([grades[q, d] for d in top]) / 100 for q, top in run.rankings.items()])
        shares = mapping.probability(scores)
        assert (row["expectation"], row["score"]) == pytest.approx((scores.mean(),) * 2)
        assert (row["satisfied_low"], row["satisfied_high"]) == pytest.approx(bounded_by_scipy(shares))
        assert (row["score_low"], row["score_high"]) == pytest.approx(bounded_by_scipy(scores))
        assert row["success"] == pytest.approx(np.mean(shares > 0.5))
        assert row["satisfied_above"] == pytest.approx(np.quantile(shares, 0.05))
        assert (row["low"], row["high"]) == pytest.approx((scores.mean(),) * 2)  # all about these queries is known
    assert whole.complete
    assert (whole.model, whole.curve) == (None, ())


def test_differences_are_of_pairs_of_queries(made, whole):
    first = whole.pair_rows()[0]
    grades, lists = made.grades(), {run.system: run.rankings for run in made.runs}
    a, b = (
        np.array([np.mean([grades[q, d] for d in top]) / 100 for q, top in lists[first[name]].items()]) for name in "ab"
    )
    test = stats.ttest_rel(a, b)
    assert first["p"] == pytest.approx(test.pvalue)
    assert first["difference"] == pytest.approx(np.mean(a - b))
    assert (first["difference_low"], first["difference_high"]) == pytest.approx(tuple(test.confidence_interval(0.95)))
    assert first["success_difference_low"] <= first["success_difference"] <= first["success_difference_high"]


@pytest.mark.slow
def test_the_threshold_of_success_is_chosen(made, whole):
    none, every = record_of(made, threshold=1.0), record_of(made, threshold=0.0)
    assert [row["success"] for row in none.rows()] == [0] * 5
    assert [row["success"] for row in every.rows()] == [1] * 5
    with pytest.raises(InputError, match=r"threshold of success is a share of the users, from 0 to 1, got 2"):
        record_of(made, threshold=2)
    with pytest.raises(InputError, match="number of imputations must be at least 2, got 1"):
        record_of(made, imputations=1)


@pytest.mark.slow
def test_judged_in_part_statements_on_such_queries_are_wider(whole, some):
    assert not some.complete
    assert some.model["name"] == "joint-fine"
    wide = [np.mean([row["score_high"] - row["score_low"] for row in of.rows()]) for of in (whole, some)]
    assert wide[1] > wide[0]
    assert some.agreement.pairs == 20
    assert some.curve[-1][0] == 90


@pytest.mark.slow
@pytest.mark.parametrize("what", ["queries", "these", "these+listeners"])
def test_estimate_and_compare_state_the_same_about_queries_of_this_kind(some, about, what):
    record, kind = about(what), what.replace("these", "queries")
    ranking = estimate(some.collection, about=kind)
    scores = {row["system"]: (row["expectation"], row["low"], row["high"]) for row in ranking.rows()}
    for row in record.rows():
        assert (row["score"], row["score_low"], row["score_high"]) == pytest.approx(scores[row["system"]], rel=1e-9)
    pairs = record.pair_rows()
    for row in (pairs[0], pairs[-1]):  # each is predicted anew
        found = compare(some.collection, row["a"], row["b"], about=kind)
        stated = (found.expectation, *found.interval, 2 * (1 - found.confidence))
        said = (row["difference"], row["difference_low"], row["difference_high"], row["p"])
        assert said == pytest.approx(stated, rel=1e-9, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("people", ["", ", listeners at large"])
def test_a_page_says_of_which_people_its_scores_and_shares_are(about, alone, people):
    page, words = alone(about("these+listeners" if people else "these")), f"queries of this kind{people}"
    assert f"<h2>Scores on {words}</h2>" in page
    assert f"p are about {words}" in page
    options = "--about queries --about listeners" if people else "--about queries"
    assert f"<code>audiosim estimate {options}</code>" in page
    assert ("by the grades of the people who judged" in page) == bool(people)


@pytest.mark.slow
def test_a_measure_without_a_published_mapping_says_nothing_of_users(made):
    record = record_of(made, "ERR@5")
    assert "satisfied" not in record.rows()[0]
    assert b"so nothing is said about users" in bundle(record, DAY)["index.html"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["whole", "some"])
def test_a_bundle_has_all_that_is_stated_and_its_checksums(request, kind):
    record = request.getfixturevalue(kind)
    files = bundle(record, DAY, {"runs.tsv": "ab" * 32}, ['{"number": 1}'])
    assert {"index.html", "systems.csv", "pairs.csv", "judgments.csv", "record.json", "CITATION.cff"} <= set(files)
    assert files["log.jsonl"] == b'{"number": 1}\n'
    sums = dict(reversed(line.split("  ")) for line in files["SHA256SUMS"].decode().splitlines())
    assert sums == {name: hashlib.sha256(text).hexdigest() for name, text in files.items() if name != "SHA256SUMS"}
    rows = list(csv.DictReader(io.StringIO(files["systems.csv"].decode())))
    assert [row["system"] for row in rows] == [row["system"] for row in record.rows()]
    assert len(list(csv.DictReader(io.StringIO(files["judgments.csv"].decode())))) == len(record.collection.judgments)
    value = json.loads(files["record.json"])
    assert (value["sources"], value["written"]) == ({"runs.tsv": "ab" * 32}, "2026-01-02")
    assert ("calibration.csv" in files) is (kind == "some")
    assert bundle(record, DAY, {"runs.tsv": "ab" * 32}, ['{"number": 1}']) == files


@pytest.mark.slow
def test_the_page_asks_for_nothing_from_elsewhere_and_names_neither_mark_it_up_nor_turn_it_around(some):
    runs = tuple(replace(run, system=f"\u202e{run.system}<b>&") for run in some.collection.runs)
    files = bundle(record_of(replace(some.collection, runs=runs, teams={}), imputations=2, curve=some.curve), DAY)
    page = files["index.html"].decode()
    assert "<b>&" not in page
    assert "&lt;b&gt;&amp;" in page
    links = set(re.findall(r'(?:src|href)="([^"#]+)"', page))
    assert links <= {*files}  # only files in the bundle
    assert "<script" not in page
    said = re.search(r"<strong>.*?</p>\s*<p>.*?</p>", page, re.S)[0]
    assert "\u202e" in said
    assert "\u202e" not in re.sub(r"<bdi>[^<]*</bdi>", "", said)


@pytest.mark.slow
def test_the_page_credits_people_with_their_own_grades_only(whole, some, alone):
    def who(record):
        return re.search("<dt>Who judged</dt><dd>(.*?)</dd>", alone(record))[1]

    assert who(whole) == f"{len(whole.judgments)} grades."
    assert who(some) == "90 grades: 20 by 1 person, the others by people who are not named."
    named = [replace(one, assessor=one.assessor or "ann", time="2026-01-01T12:00:00Z") for one in some.judgments]
    known = replace(some, collection=replace(some.collection, judgments=tuple(named)))
    assert who(known) == "2 people gave 90 grades on 2026-01-01."
    assert who(replace(some, collection=replace(some.collection, judgments=()))).startswith("Nobody yet")
    assert re.search(r"\[data set\]\. \d+ judged pairs\.", alone(some))  # some were judged twice


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["whole", "some"])
def test_the_page_alone_is_that_of_the_bundle_without_its_links(request, kind):
    record, extras = request.getfixturevalue(kind), Extras({"q": "<i>calm</i>"}, {"q": b"jpeg"}, left_out=["x: y"])
    alone, inside = page_alone(record, DAY, extras=extras), bundle(record, DAY, extras=extras)["index.html"].decode()
    assert not re.findall(r'(?:src|href)="(?!data:)', alone)
    for part in (r"<h[1-3]>.*?</h[1-3]>", "<table.*?</table>", "<figure>.*?</figure>"):
        assert re.findall(part, alone, re.DOTALL) == re.findall(part, inside, re.DOTALL)
    for part in ("&lt;i&gt;calm", "base64,anBlZw==", "Left out: x: y."):
        assert part in alone
    assert ("CG@5: stability" in alone) == record.complete == ("Confidence in each pair" not in alone)


@pytest.mark.slow
@pytest.mark.parametrize("judged", [0, 7, None])
def test_a_single_query_has_a_report_without_statements_on_others(made, judged):
    query = made.judgments[0].query
    runs = tuple(replace(run, rankings={query: run.rankings[query]}) for run in made.runs)
    own = tuple(one for one in made.judgments if one.query == query)[:judged]
    record = record_of(replace(made, runs=runs, judgments=own))
    files = bundle(record, DAY)
    assert "queries of this kind" not in files["index.html"].decode()
    assert record.headline is record.verdicts
    assert not {"score", "satisfied", "difference"}.intersection(*(record.rows(), record.pair_rows())[0])


@pytest.mark.slow
def test_the_citation_has_what_the_format_asks_for(whole):
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    found = yaml.safe_load(bundle(whole, DAY)["CITATION.cff"])
    # Citation File Format 1.2.0: these keys are required; authors that are entities have a name.
    assert {"cff-version", "message", "title", "authors"} <= set(found)
    assert (found["cff-version"], found["type"], found["date-released"]) == ("1.2.0", "dataset", DAY)
    assert found["authors"] == [{"name": "The organisers of synthetic"}]


@pytest.mark.slow
def test_a_bundle_is_a_zip_file_or_a_new_folder(whole, tmp_path):
    files = bundle(whole, DAY)
    write_bundle(files, tmp_path / "made.zip")
    with zipfile.ZipFile(tmp_path / "made.zip") as archive:
        assert {name.removeprefix("made/"): archive.read(name) for name in archive.namelist()} == files
        assert {entry.external_attr >> 16 & 0o777 for entry in archive.infolist()} == {0o644}
    assert (tmp_path / "made.zip").read_bytes() == zipped(files, "made")
    write_bundle(files, tmp_path / "folder")
    assert {path.name: path.read_bytes() for path in (tmp_path / "folder").iterdir()} == files
    with pytest.raises(InputError, match=r"nowhere/made\.zip: cannot be written: expected a file in an existing"):
        write_bundle(files, tmp_path / "nowhere/made.zip")
    with pytest.raises(
        InputError, match=r"made\.pdf: expected a name that ends in \.html for a page or in \.zip for a"
    ):
        write_bundle(files, tmp_path / "made.pdf")
    assert not (tmp_path / "made.pdf").exists()
    with pytest.raises(InputError, match=r"expected a name that ends in \.zip, or a folder that is new or empty"):
        write_bundle(files, tmp_path / "folder")
    with pytest.raises(InputError, match=r"made\.zip/in: cannot be written: expected a folder, new or empty, in a"):
        write_bundle(files, tmp_path / "made.zip" / "in")


@pytest.mark.slow
def test_the_command_writes_it_from_a_collection_judged_in_part(run, some, tmp_path):
    some.collection.save(tmp_path / "some")
    code, _, err = run("report", tmp_path / "some", "--success", "0.6", "-o", tmp_path / "out.zip")
    assert (code, "error" in err) == (0, False)
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        value = json.loads(archive.read("out/record.json"))
    assert value["threshold"] == 0.6
    judgments = next(name for name in value["sources"] if name.startswith("judgments"))
    content = (tmp_path / "some" / judgments).read_bytes()
    assert value["sources"][judgments] == hashlib.sha256(content).hexdigest()
    assert "model joint-fine.json" in value["sources"]


@pytest.mark.slow
def test_the_command_s_bundle_of_a_campaign_has_its_log_and_the_checksum_of_the_model_s_own_file(run, some, tmp_path):
    replace(some.collection, judgments=()).save(tmp_path / "some")
    database = f"sqlite:///{tmp_path / 'campaign.db'}"
    collection = Collection.load(tmp_path / "some")
    estimator = estimator_of(build_pool(collection), load_model("joint-fine"))
    with closing(DatabaseStore(database, "some")) as store:
        campaign = Campaign(collection, estimator, parse_measure("CG@5"), store)
        for judgment in some.collection.judgments[:5]:
            campaign.tell(judgment)
        judged = [(record.number, record.event.kind) for record in campaign.log()]
        about_ann = {"moment": "before", "age": 33}  # must not be published
        campaign.tell(Event("questionnaire", "2026-01-01T12:00:00Z", "ann", details=about_ann))
    own = tmp_path / "mine.json"
    save_model(replace(load_model("joint-fine"), name="mine"), own)
    code, _, err = run("report", tmp_path / "some", "--judgments", database, "--model", own, "-o", tmp_path / "out")
    assert (code, "error" in err) == (0, False)
    log = [json.loads(line) for line in (tmp_path / "out" / "log.jsonl").read_text().splitlines()]
    assert [(line["number"], line["kind"]) for line in log] == judged
    value = json.loads((tmp_path / "out" / "record.json").read_text())
    assert value["judged"] == 5
    assert value["sources"]["model mine.json"] == hashlib.sha256(own.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("own", "asked"),
    [("", "Which candidate sounds closer to the query?"), ("Own?", "Own? Which of the two fits better?")],
)
def test_a_page_says_what_comparisons_were_asked_by(tiny, own, asked):
    compared = (PairedComparison("q1", "a", "b", "a", "ann"),)
    collection = replace(tiny, judgments=(), comparisons=compared, task=own)
    assert f"{asked}<" in page_alone(record_of(collection, "CG@2"), DAY).replace("\n", "<")


@pytest.mark.slow
def test_the_command_names_the_same_earlier_questions_as_the_function(run, some, tmp_path):
    replace(some.collection, judgments=()).save(tmp_path / "some")
    (tmp_path / "some" / "task.toml").write_text('question = "First?"\n', encoding="utf-8")
    collection, database = Collection.load(tmp_path / "some"), f"sqlite:///{tmp_path / 'campaign.db'}"
    with closing(DatabaseStore(database, "some")) as store:
        campaign = Campaign(collection, store=store)
        for judgment, question in zip(some.collection.judgments[:3], ("Second?", "Third?", None), strict=True):
            campaign.tell(judgment)
            if question is not None:
                campaign.rewording.make({"question": question}, "organiser")
    pages = [tmp_path / "command.html", tmp_path / "function.html"]
    assert run("report", tmp_path / "some", "--judgments", database, "-o", pages[0])[0] == 0
    write_report(tmp_path / "some", pages[1], judgments=database)
    said = "Third? This is the last wording. Some grades were given when the question was “First?” or “Second?”."
    assert [said in page.read_text(encoding="utf-8") for page in pages] == [True, True]


def test_checksums_are_of_every_file_of_a_collection_but_recordings_hidden_ones_and_databases(tmp_path):
    for name in ("runs/one", "runs/two.gz", "sounds.index/rows.f4", "evidence/clap.npy", "documents.tsv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    (tmp_path / ".git").mkdir()
    for other in (".git/head", "a.WAV", "b.mp3", "campaign.db", "campaign.db-wal"):
        (tmp_path / other).write_bytes(b"other")
    expected = ("documents.tsv", "evidence/clap.npy", "runs/one", "runs/two.gz", "sounds.index/rows.f4")
    found = collection_checksums(tmp_path)
    assert found == {name: hashlib.sha256(name.encode()).hexdigest() for name in expected}
    assert model_checksum(None, "an estimator of somebody's") == {}
