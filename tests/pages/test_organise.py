"""The organiser's page in a real Chromium: it shows the service's state as it changes."""

import csv
import hashlib
import io
import json
import math
import re
import time
import zipfile
from datetime import UTC, datetime, timedelta
from itertools import count, cycle, product
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Document, Run
from audiosim.service.access.tokens import TokenStore

from .conftest import CALM, LOOKS, copy_demo

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

GOAL = 0.79  # soon met, so that simulating the remaining judgments takes little time
PATIENCE_S = 180
QUERIES = ("q1", "q2", "q3")
DEMO_QUERIES, POOL = 8, 202  # those of the demo that are kept, and their pairs
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}


class Campaign:
    """A separate campaign of the demo collection."""

    def __init__(self, http, name):
        self.http, self.page, self.path = http, f"/organise/{name}", f"/v1/collections/{name}"

    def get(self, what):
        answer = self.http.get(f"{self.path}/{what}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def next(self, assessor):
        return self.http.post(f"{self.path}/next", json={"assessor": assessor})

    def judge(self, assessor, count=1, grade=80, **said):
        """Judge some pairs, or report that they cannot be judged."""
        for _ in range(count):
            (pair,) = self.next(assessor).json()["pairs"]
            body = {"query": pair["query"], "document": pair["document"], "assessor": assessor}
            answer = self.http.post(f"{self.path}/judgments", json=body | (said or {"fine": grade}))
            assert answer.status_code == 201, answer.text


def crowd():
    """Forty systems with names of 38 characters."""
    rng = np.random.default_rng(0)
    names = [f"d{number:02}" for number in range(40)]
    runs = tuple(
        Run(f"Submission{number:02}_spectral-rhythm-fusion-x", {q: tuple(rng.permutation(names)[:5]) for q in QUERIES})
        for number in range(40)
    )
    documents = {name: Document(name) for name in [*names, *QUERIES]}
    return Collection("crowd", "A crowd of systems", FINE, 5, runs, documents)


def single():
    """One system, so that there is nothing to order."""
    documents = {name: Document(name) for name in ("d1", "d2", *QUERIES)}
    run = Run("alone", dict.fromkeys(QUERIES, ("d1", "d2")))
    return Collection("single", "A single system", FINE, 2, (run,), documents)


@pytest.fixture(scope="module")
def live(demo, commanded, tmp_path_factory, request):
    """One server for all tests, with a copy of the demo collection for each of them, and one to read."""
    root = tmp_path_factory.mktemp("organise")
    those = [test for test in request.session.items if test.path == request.path and "campaign" in test.fixturenames]
    folders = [root / f"demo {number}" for number in range(len(those) + 1)]
    for folder in folders:
        copy_demo(demo, folder, queries=DEMO_QUERIES)
    for other in (crowd(), single()):
        other.save(root / other.identifier)
        folders.append(root / other.identifier)
    database = f"sqlite:///{root / 'campaign.db'}"
    options = ("--db", database, "--stopping-rule", f"confidence={GOAL}", "--model", "mjud")
    with commanded(folders, root / "log", *options, AUDIOSIM_SOUNDS=str(demo)) as running:
        yield running


@pytest.fixture(scope="module")
def joint(demo, commanded, tmp_path_factory):
    """A server with three campaigns of the demo collection that have the usual model."""
    root = tmp_path_factory.mktemp("joint")
    folders = [copy_demo(demo, root / name, queries=DEMO_QUERIES) for name in ("disputed", "counted", "unfit")]
    settings = {"AUDIOSIM_SOUNDS": str(demo), "AUDIOSIM_UNASKED": "count"}
    with commanded(folders, root / "log", "--db", f"sqlite:///{root / 'campaign.db'}", **settings) as running:
        yield running


NUMBERS = count()


@pytest.fixture(scope="module")
def truth(live):
    """Query, document and grade of each pair of a campaign's pool."""
    folder = live.log.parent / "demo 0"
    pool = build_pool(Collection.load(folder)).positions
    grades = Collection.load(folder, folder / "truth.qrels").grades().items()
    return [(query, document, grade) for (query, document), grade in grades if (query, document) in pool]


@pytest.fixture
def campaign(http):
    return Campaign(http, f"demo {next(NUMBERS)}")


def shown(page):
    """Wait until the page shows the campaign."""
    page.wait_for_selector("#campaign:not([hidden])")
    page.wait_for_selector("#course path", state="attached")
    page.wait_for_selector("#live:text-is('Live')")
    return page


def open_tab(page, name):
    page.get_by_role("tab", name=name).click()


def cells(page, table):
    """The texts of a table's rows, as seen by a reader."""
    script = "table => [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent.trim()))"
    return page.eval_on_selector(table, script)


def percent(text):
    return float(re.fullmatch(r"([\d.]+)\s%", text)[1])


def agrees(page, campaign):
    """True if the page shows the service's current ranking and confidence."""
    ranking = campaign.get("ranking")
    rows = [(row[1], row[2], row[3]) for row in cells(page, "#ranking")]
    said = [(s["system"], f"{s['expectation']:.3f}", f"{s['low']:.3f}–{s['high']:.3f}") for s in ranking["systems"]]
    confidence = percent(page.inner_text("#confidence"))
    return rows == said and confidence == pytest.approx(int(ranking["confidence"] * 1000) / 10)


def wait_until(page, holds):
    """Wait for something that a page will show."""
    give_up = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < give_up, "waited for in vain"
        page.wait_for_timeout(50)


def test_the_page_shows_the_ranking_that_the_service_tells(browse, campaign):
    campaign.judge("ann", 5)
    page = shown(browse(campaign.page))
    assert agrees(page, campaign)
    ranking = campaign.get("ranking")
    above = {(pair["a"], pair["b"]): pair["confidence"] for pair in ranking["pairs"]}
    names = [system["system"] for system in ranking["systems"]]
    for place, row in enumerate(cells(page, "#pairs")):
        listed = [above[names[place], other] for other in names[place + 1 :]]
        assert row[0] == f"{place + 1} {names[place]}"
        assert [int(said) for said in row[1:] if said] == [int(100 * one + 1e-9) for one in listed]
    assert "in percent and rounded down" in page.inner_text("#pairs-about")
    said = page.inner_text("#verdict-about")
    assert said.startswith(ranking["sentence"])
    assert ranking["notes"]
    assert said.endswith("".join(f" {note}." for note in ranking["notes"]))
    assert page.inner_text("#fit") == ranking["fit_sentence"]
    least = min(ranking["pairs"], key=lambda pair: pair["confidence"])
    assert page.inner_text("#least li").startswith(f"{least['a']} above {least['b']}: ")


def test_intervals_are_drawn_to_scale(browse, campaign):
    page = shown(browse(campaign.page))
    script = """rows => [...rows].map(row => ({
        said: row.querySelector(".ends").textContent.split("–").map(Number),
        drawn: (box => [box.left, box.right])(row.querySelector("line.whisker").getBoundingClientRect()) }))"""
    rows = page.eval_on_selector_all("#ranking tbody tr", script)
    (low, left), (high, right) = [
        choose((row["said"][end], row["drawn"][end]) for row in rows) for end, choose in ((0, min), (1, max))
    ]
    scale = (right - left) / (high - low)
    for row in rows:
        for said, drawn in zip(row["said"], row["drawn"], strict=True):
            # Scores are written to 0.001, so each end is known to half of that; pixels may be split.
            assert drawn == pytest.approx(left + (said - low) * scale, abs=1 + 0.001 * scale)


def test_a_judgment_made_elsewhere_changes_the_page_without_a_reload(browse, campaign):
    page = shown(browse(campaign.page))
    page.evaluate("window.mark = 'the same page'")
    before = page.inner_text("#ranking tbody")
    assert page.inner_text("#pool").startswith(f"0 of {POOL} pairs")
    campaign.judge("ann", 4, 100)
    expect(page.locator("#pool")).to_contain_text(f"4 of {POOL}")
    expect(page.locator("#course-table tbody tr")).to_have_count(5)
    wait_until(page, lambda: agrees(page, campaign))
    assert page.inner_text("#ranking tbody") != before
    assert page.evaluate("window.mark") == "the same page"


def test_what_the_history_says_is_drawn_and_told(browse, campaign):
    campaign.judge("ann", 3, 0)
    page = shown(browse(campaign.page))
    open_tab(page, "Progress")
    page.click("#part-judged summary")
    expect(page.locator("#course-table tbody tr")).to_have_count(4)  # moments come as they are computed
    history = campaign.get("course")
    rows = cells(page, "#course-table")
    assert [(int(row[0]), int(row[1])) for row in rows] == [(judged, 0) for judged in range(4)]
    assert [percent(row[2]) for row in rows] == [int(m["confidence"] * 1000 + 1e-9) / 10 for m in history["moments"]]
    assert page.get_attribute("#course path", "d").count("L") == 3
    scores = [dict(zip(history["systems"], m["scores"], strict=True)) for m in history["moments"]]
    ranking = {one["system"]: one["expectation"] for one in campaign.get("ranking")["systems"]}
    assert scores[-1] == pytest.approx(ranking, abs=1e-5)
    assert page.locator("#scores path").count() == len(ranking)
    expect(page.locator("#scores-about")).to_contain_text(" at 3 judged pairs.")
    wait_until(page, lambda: not campaign.get("remaining")["preliminary"])
    left = campaign.get("remaining")
    assert left["low"] > 0
    expect(page.locator("#remaining")).to_have_text(f"about {left['median']}")
    expect(page.locator("#remaining-range")).to_contain_text(f"80 % prediction interval: {left['low']}–{left['high']}")


LATE = {
    "progress": "#by-query tbody",
    "changes": "#since-list",
    "texts": "#texts-changed",
    "model": "#model-now",
    "log": "#log tbody",
}


def test_an_answer_that_comes_late_is_never_shown_over_a_later_one(browse, campaign):
    early = {}

    def keep_back(asked):
        name = urlsplit(asked.request.url).path.rpartition("/")[2]
        if name in LATE and name not in early:
            early[name] = (asked, asked.fetch())
        else:
            asked.continue_()

    page = browse()
    page.route("**/v1/collections/**", keep_back)
    page.goto(campaign.page)
    shown(page)
    for tab in ("Progress", "Settings", "Results and files"):
        open_tab(page, tab)
    wait_until(page, lambda: early.keys() == LATE.keys())
    campaign.judge("ann", 2)
    for what, said in (("texts", {"instructions": "Later"}), ("model", {"model": "mout"})):
        assert campaign.http.post(f"{campaign.path}/{what}", json=said).status_code < 300
    for tab in ("Progress", "Settings", "Results and files"):
        open_tab(page, tab)
    expect(page.locator("#by-query progress:not([value='0'])").first).to_be_attached()
    for place, words in zip(LATE.values(), ("", "2 answers", "Last changed", "mout", "judged fine 80"), strict=True):
        expect(page.locator(place)).to_contain_text(words)
    later = {place: page.text_content(place) for place in LATE.values()}
    for asked, answer in early.values():
        asked.fulfill(response=answer)
    page.wait_for_timeout(300)
    assert {place: page.text_content(place) for place in LATE.values()} == later


def test_an_event_is_not_undone_by_an_answer_from_before_it(browse, campaign):
    page = shown(browse(campaign.page))
    early = []
    page.route("**/campaign", lambda asked: early.append((asked, asked.fetch())), times=1)
    campaign.judge("ann")
    wait_until(page, lambda: early)
    campaign.judge("ann")
    expect(page.locator("#pool")).to_contain_text(f"2 of {POOL}")
    script = """place => {
      window.said = [];
      new MutationObserver(() => said.push(place.textContent)).observe(place, { childList: true });
    }"""
    page.eval_on_selector("#pool", script)
    for asked, answer in early:
        asked.fulfill(response=answer)
    campaign.judge("ann")
    expect(page.locator("#pool")).to_contain_text(f"3 of {POOL}")
    wait_until(page, lambda: agrees(page, campaign))
    assert all(one.startswith(("2 of", "3 of")) for one in page.evaluate("said"))


def test_what_only_a_tab_shows_is_not_asked_for_while_another_is_open(browse, campaign):
    page, asked = shown(browse(campaign.page)), []
    page.on("request", lambda request: asked.append(urlsplit(request.url).path.removeprefix(f"{campaign.path}/")))
    campaign.judge("ann", 8)
    wait_until(page, lambda: f"8 of {POOL}" in page.inner_text("#pool") and agrees(page, campaign))
    assert {one.rpartition("/")[2] for one in asked} <= {
        "campaign",
        "ranking",
        "assessors",
        "course",
        "remaining",
        "judges",
    }
    open_tab(page, "Results and files")
    wait_until(page, lambda: len(cells(page, "#log")) == 8)


def test_a_long_ranking_says_what_is_settled(browse, campaign):
    page = shown(browse(campaign.page))
    names = [f"system {place:02}" for place in range(1, 21)]
    ranks = [(1, 2), (1, 2), *((3, 12),) * 10, *((13, 20),) * 8]
    systems = [
        {
            "system": name,
            "expectation": 1 - place / 20,
            "low": 0,
            "high": 1,
            "group": "a",
            "rank_low": low,
            "rank_high": high,
        }
        for place, (name, (low, high)) in enumerate(zip(names, ranks, strict=True))
    ]
    ranking = {"systems": systems, "pairs": [], "measure": "CG@5", "model": "made", "judged": 5, "top_k": 3}
    script = """ranking => import(
        document.querySelector("script[type=module]").src.replace("organise.js", "ranking.js")
    )        .then(({showRanking}) => showRanking(ranking))"""
    page.evaluate(script, ranking)
    assert page.locator("#ranking-settled li").all_inner_texts() == [
        "Could be best: system 01 and system 02.",
        "Certainly in the upper half: system 01 and system 02.",
        "Could be last: 8 of 20 systems.",
    ]
    assert [row[1] for row in cells(page, "#ranking") if len(row) > 1] == names
    assert page.locator("#ranking tbody tr:visible").count() == 14


def test_a_model_that_does_not_fit_is_said_on_the_first_screen(joint, anywhere, truth):
    lines = "".join(f"{query} 0 {document} {100 - grade:g}\n" for query, document, grade in truth[:160])
    with joint.client() as http:
        campaign = Campaign(http, "unfit")
        assert http.post(f"{campaign.path}/judgments/import", content=lines).is_success
        page = anywhere(joint.url)
        page.set_viewport_size(DESK)
        page.goto(campaign.page)
        expect(page.locator("#pool")).to_contain_text(f"160 of {POOL}")
        wait_until(page, lambda: campaign.get("ranking")["fit"] == "FAIL")
        # The service's answers may change while it counts the judgments; the page follows.
        wait_until(page, lambda: page.inner_text("#fit") == campaign.get("ranking")["fit_sentence"])
        assert page.locator("#fit").bounding_box()["y"] < DESK["height"] / 2
        assert "Model check failed after " in page.inner_text("#fit")
        assert "Metadata are now ignored" in page.inner_text("#fit")
        assert "genre" not in page.inner_text("#verdict-about")
        assert "The model does not fit the judgments" in page.inner_text("#wrong")


def test_pause_stops_the_judging_and_resume_lets_it_go_on(browse, campaign):
    campaign.judge("ann", 1, 40)
    page = shown(browse(campaign.page))
    page.get_by_role("button", name="Pause").click()
    page.wait_for_selector("#status:text-is('Paused')")
    assert campaign.next("ann").status_code == 409
    resume = page.get_by_role("button", name="Resume")
    assert resume.is_visible()
    assert not page.get_by_role("button", name="Pause").is_visible()
    resume.click()
    page.wait_for_selector("#status:text-is('Open')")
    assert campaign.next("ann").status_code == 200


def test_the_next_steps_follow_a_pause_before_anything_else_is_fetched(browse, campaign):
    campaign.judge("ann", 1, 40)
    page = shown(browse(campaign.page))
    expect(page.locator("#wrong li")).not_to_have_count(0)
    page.route("**/campaign", lambda route: None)  # it is never answered
    for button, status in (("Pause", "Paused"), ("Resume", "Open")):
        page.get_by_role("button", name=button).click()
        page.wait_for_selector(f"#status:text-is('{status}')")
        paused = page.locator("#next li", has_text="Resume the campaign: nobody can judge while it is paused.")
        expect(paused).to_have_count(1 if status == "Paused" else 0)


def test_the_keyboard_closes_a_campaign_only_after_it_is_asked_whether_to(browse, campaign):
    page = shown(browse(campaign.page))
    close = page.get_by_role("button", name="Close…")
    close.focus()
    page.keyboard.press("Enter")
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("Escape")
    assert campaign.get("campaign")["status"] == "open"
    page.keyboard.press("Enter")
    page.get_by_label("Reason (optional; assessors").fill("enough for now")
    page.get_by_role("button", name="Close the campaign").press("Enter")
    page.wait_for_selector("#status:text-is('Closed')")
    expect(page.locator("#course-expected")).to_be_empty()
    expect(page.locator("#met")).to_have_text("Not met")
    expect(page.locator("#remaining")).to_have_text("none")
    assert "to the goal" not in page.inner_text("#campaign").lower()
    open_tab(page, "People")
    expect(page.locator("#invite-closed")).to_be_visible()
    log = campaign.http.get(f"{campaign.path}/judgments?format=log").text.splitlines()
    assert json.loads(log[-1])["details"] == {"reason": "enough for now"}
    assert campaign.next("ann").status_code == 409


def test_judgments_are_downloaded_as_files(browse, campaign):
    campaign.judge("ann", 3, 40)
    page = shown(browse(campaign.page))
    open_tab(page, "Results and files")
    texts = {}
    for name in ("Qrels", "CSV", "JSON Lines", "Whole log"):
        with page.expect_download() as waiting:
            page.get_by_role("link", name=name).click()
        texts[name] = Path(waiting.value.path()).read_text(encoding="utf-8")
        assert re.fullmatch(r"demo_\d+-\d+\.(qrels|csv|jsonl|log)", waiting.value.suggested_filename)
    assert [line.split()[3] for line in texts["Qrels"].splitlines()] == ["40"] * 3
    assert [row["assessor"] for row in csv.DictReader(io.StringIO(texts["CSV"]))] == ["ann"] * 3
    assert [json.loads(line)["grade"] for line in texts["JSON Lines"].splitlines()] == [40] * 3
    kinds = [json.loads(line)["kind"] for line in texts["Whole log"].splitlines()]
    assert kinds.count("judgment") == 3
    shown_events = cells(page, "#log")
    assert [row[2:] for row in shown_events[:1]] == [["ann", shown_events[0][3]]]
    assert [row[3].startswith("judged fine 40") for row in shown_events] == [True] * 3


def test_dropped_files_are_taken_in_and_what_is_wrong_in_one_is_said_by_line(
    browse, campaign, truth, tmp_path, watch, audit
):
    lines = [f"{query} 0 {document} {grade:g}\n" for query, document, grade in truth]
    (tmp_path / "right.qrels").write_text("".join(lines[-40:]), encoding="utf-8")
    (tmp_path / "wrong.qrels").write_text("q 0 d\n", encoding="utf-8")
    page = shown(browse(campaign.page, reduced_motion="reduce"))  # colours change at once, for the audit
    open_tab(page, "Results and files")
    page.set_input_files("#add-files", tmp_path / "right.qrels")
    expect(page.locator("#added li")).to_have_text(re.compile(r"^right\.qrels: (in the log: 40|being imported)"))
    expect(page.locator("#imports li").first).to_contain_text("in the log: 40 answers")
    watch.expected.append("422")
    (tmp_path / "wrong.trec").write_text("q Q0 d 1 1 one\nq Q0 e 2 high one\n", encoding="utf-8")
    (tmp_path / "collection.toml").write_text("cutoff = 5\n", encoding="utf-8")
    page.set_input_files("#add-files", [tmp_path / name for name in ("collection.toml", "wrong.qrels", "wrong.trec")])
    expect(page.locator("#added li")).to_have_count(3)
    expect(page.locator("#added li").first).to_contain_text("the settings stay as they were given")
    # A busy service reports answers a little later, and only in the list.
    expect(page.locator("#imports li").first).to_contain_text("nothing was imported: line 1: expected")
    expect(page.locator("#added li").last).to_contain_text("wrong.trec:2: ")
    (query, document, _), *_ = truth
    (tmp_path / "part.trec").write_text(f"{query} Q0 {document} 1 1 part\n", encoding="utf-8")
    watch.expected.append("422")
    page.set_input_files("#add-files", tmp_path / "part.trec")
    said = page.locator("#added li").last
    expect(said).to_contain_text("more than 10 % of the queries” accepts the run as it is")
    assert audit(page, part="#part-add") == []


def test_assessors_and_what_they_cannot_judge_are_listed(browse, campaign):
    campaign.judge("ann", 6, 5)
    campaign.judge("ann", 6, 95)
    campaign.judge("bob", 10, 50)
    campaign.judge("bob", 1, cannot="the clip is silent")
    page = shown(browse(campaign.page))
    expect(page.locator("#wrong")).to_contain_text("ann grades differently now than at first")
    found = campaign.get("judges?machines=false")
    judge = found["judges"][0]
    assert judge["drift_low"] > 0
    rows = {row[0]: row for row in cells(page, "#assessors")}
    assert list(rows) == ["ann", "bob"]
    assert rows["ann"][1:3] == ["12", "12"]
    assert "higher than before" in rows["ann"][7]
    assert f"+{100 * judge['drift']:.0f}" in rows["ann"][7]
    assert rows["bob"][1:3] == ["10", "11"]  # one answer is that a pair cannot be judged
    assert found["order_effects"][0]["sentence"].startswith("Drift of 2 people, on average: ")
    assert page.locator("#order-effects").text_content() == found["order_effects"][0]["sentence"]
    doubts = campaign.get("assessors")["doubts"]
    assert page.locator("#doubts li").all_inner_texts() == [f"{name}: {why}." for name, why in doubts.items()]
    (listed,) = campaign.get("campaign")["cannot"]
    assert cells(page, "#cannot") == [[listed["query"], listed["document"], "bob", "the clip is silent"]]
    open_tab(page, "People")
    for kind, place in (("query", 0), ("document", 1)):  # each name opens a picture of its recording
        page.locator("#cannot tbody button").nth(place).click()
        picture = page.get_by_role("img", name=f"Mel spectrogram of {kind} {listed[kind]}", exact=True)
        expect(picture).to_be_visible(timeout=PATIENCE_S * 1000)
        expect(picture).to_have_js_property("naturalWidth", 384)
        page.keyboard.press("Escape")
        expect(picture).to_be_hidden()


def test_somebody_is_set_aside_after_what_it_changes_was_shown_and_taken_back(browse, campaign):
    campaign.judge("ann", 3, 90)
    campaign.judge("<bob>", 3, 10)
    page = shown(browse(campaign.page))
    open_tab(page, "People")
    page.get_by_role("button", name="Set aside… <bob>").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("3 judgments. Without <bob>:")
    effect = campaign.get("judge-effect?judge=%3Cbob%3E")
    before, after = (
        f"{int(effect[name] * 1000 + 1e-6) / 10:.1f}\u202f%" for name in ("confidence", "confidence_without")
    )
    expect(dialog).to_contain_text(f" from {before} to {after}.")  # as the page behind it writes them
    rows = [[str(r["rank"]), r["system"], f"{r['score']:.3f}", str(r["rank_without"])] for r in effect["systems"]]
    assert [row[:4] for row in cells(page, "#aside-systems")] == rows
    page.keyboard.press("Escape")
    assert campaign.get("campaign")["judged"] == 6
    page.get_by_role("button", name="Set aside… <bob>").click()
    dialog.get_by_label("Reason").fill("did not listen")
    dialog.get_by_role("button", name="Set aside").click()
    back = page.get_by_role("button", name="Take back… <bob>")
    back.wait_for()
    assert campaign.get("campaign")["judged"] == 3
    assert campaign.get("assessors")["aside"] == ["<bob>"]
    open_tab(page, "Results and files")
    expect(page.locator("#log")).to_contain_text("set aside <bob>: “did not listen”")
    open_tab(page, "Progress")
    expect(page.locator("#since-list")).to_contain_text("An organiser set aside <bob>: “did not listen”.")
    open_tab(page, "People")
    back.click()
    dialog.get_by_role("button", name="Take back").click()
    page.get_by_role("button", name="Set aside… <bob>").wait_for()
    assert campaign.get("campaign")["judged"] == 6


def test_pairs_on_which_assessors_differ_are_listed_where_the_model_tells_people_from_each_other(joint, anywhere):
    with joint.client() as http:
        told = Campaign(http, "disputed")
        (pair,) = told.next("ann").json()["pairs"]
        for name, grade in (("ann", 0), ("<bob>", 100)):
            body = {"query": pair["query"], "document": pair["document"], "assessor": name, "fine": grade}
            answer = http.post(f"{told.path}/judgments", json=body)
            assert answer.status_code in (201, 403), answer.text
        page = anywhere(joint.url)
        page.goto(told.page)
        open_tab(shown(page), "People")
        page.locator("#disputed-frame").wait_for()
        (row,) = cells(page, "#disputed")
        (listed,) = told.get("disagreements")["pairs"]
        grades = ", ".join(f"{name} {grade:g}" for name, grade in listed["grades"].items())
        assert row[:4] == [listed["query"], listed["document"], grades, f"{listed['spread']:.1f}"]
        assert listed["grades"] == {"ann": 0, "<bob>": 100}
        ask, dialog = page.get_by_role("button", name="Ask…"), page.get_by_role("dialog")
        ask.click()
        expect(dialog).to_contain_text("Everybody who judges here or is invited has judged this pair or been asked.")
        expect(dialog.get_by_role("button", name="Ask", exact=True)).to_be_disabled()
        dialog.get_by_role("button", name="Cancel").click()
        (other,) = told.next("carol").json()["pairs"]
        body = {"query": other["query"], "document": other["document"], "assessor": "carol", "fine": 50}
        assert http.post(f"{told.path}/judgments", json=body).status_code == 201
        expect(page.locator("#assessors")).to_contain_text("carol")
        ask.click()
        expect(dialog.get_by_label("Person").locator("option")).to_contain_text(["carol"])
        dialog.get_by_role("button", name="Ask", exact=True).click()
        expect(page.locator("#disputed")).to_contain_text("carol (waiting)")
        (next_one,) = told.next("carol").json()["pairs"]
        assert (next_one["document"], next_one["why"]) == (listed["document"], "adjudication")
        body = {"query": listed["query"], "document": listed["document"], "assessor": "carol", "fine": 40}
        assert http.post(f"{told.path}/judgments", json=body).status_code == 201
        expect(page.locator("#disputed")).to_contain_text("carol (40)")


def test_the_plan_is_what_the_service_tells_for_so_many_listeners(browse, campaign, audit):
    campaign.judge("ann", 6)
    page = shown(browse(campaign.page, reduced_motion="reduce"))
    open_tab(page, "Progress")
    assert page.locator("#plan-found").is_hidden()
    page.get_by_label("Listeners at the same time").fill("3")
    page.get_by_role("button", name="Make a plan").click()
    expect(page.locator("#plan-said")).to_contain_text("more judgments")
    expect(page.get_by_role("button", name="Make a plan")).to_be_enabled()  # when simulations are done
    plan = campaign.get("plan?listeners=3")
    said = page.inner_text("#plan-said")
    assert (
        f"about {plan['judgments']} more judgments (80 % prediction interval: {plan['low']}–{plan['high']}): " in said
    )
    assert "for each of 3 listeners" in said
    assert (plan["goal"], plan["judged"], plan["listeners"]) == (f"confidence={GOAL}", 6, 3)
    assert plan["hours"] == pytest.approx(plan["judgments"] * plan["seconds_per_judgment"] / 3600 / 3)
    rows = cells(page, "#plan-otherwise")
    assert [row[0] for row in rows] == [one["what"] for one in plan["otherwise"]]
    assert rows[0][3] == f"{plan['otherwise'][0]['separated']:.1f} of {plan['otherwise'][0]['pairs']}"
    assert [row[:2] for row in cells(page, "#plan-unsettled")] == [[one["a"], one["b"]] for one in plan["unsettled"]]
    assert audit(page, part="#part-plan") == []
    campaign.judge("ann", 1)
    page.get_by_role("button", name="Make a plan").click()
    expect(page.locator("#plan-about")).to_contain_text("After 7 judged pairs: ")
    assert page.inner_text("#plan-said").startswith("The goal (")
    now = datetime.now(UTC)
    for ago in (90, 80, 60, 0):  # the steps are 10, 20 and 60 s: 30 s on average, and 20 s in the median
        campaign.judge("bob", fine=50, time=f"{now - timedelta(seconds=ago):%Y-%m-%dT%H:%M:%S}Z")
    campaign.judge("ann", cannot="noise")  # at once after their others
    seconds = 3600 / campaign.get("campaign")["pace"]["per_hour"]
    expect(page.locator("#pace")).to_have_text(f"{3600 / seconds:.0f} an hour")
    expect(page.locator("#pace-more")).to_have_text(f"per assessor; {seconds:.0f}\u202fs an answer")
    page.get_by_role("button", name="Make a plan").click()
    expect(page.locator("#plan-said")).to_contain_text(f"at {seconds:.0f}\u202fs a judgment.")
    campaign.http.post(f"{campaign.path}/close", json={}).raise_for_status()
    expect(page.locator("#remaining")).to_have_text("none")
    page.get_by_role("button", name="Make a plan").click()
    expect(page.locator("#plan-said")).to_have_text(re.compile(r"^If judging resumes, the goal \("))
    page.get_by_label("Listeners at the same time").fill("0")
    page.get_by_role("button", name="Make a plan").click()
    assert page.eval_on_selector("#plan-listeners", "field => field.validity.rangeUnderflow")


def test_a_publication_is_withdrawn_only_after_a_question_and_its_address_fits_a_phone(browse, campaign, http):
    campaign.judge("ann", 12, 60)
    page = shown(browse(campaign.page, viewport={"width": 390, "height": 844}))
    open_tab(page, "Results and files")
    page.get_by_text("Publish", exact=True).first.click()
    page.locator("#publish-make").click()
    expect(page.locator("#publish-said")).to_contain_text("Published: http")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    address = page.locator("#publish-said a").get_attribute("href")
    for answer, left in (("dismiss", 200), ("accept", 404)):
        page.once("dialog", lambda dialog, answer=answer: getattr(dialog, answer)())
        page.get_by_role("button", name="Withdraw number").click()
        if answer == "accept":
            expect(page.locator("#published")).to_contain_text("withdrawn")
            expect(page.locator("#publish-said")).to_be_empty()
        assert http.get(address).status_code == left


def test_the_report_to_publish_is_a_page_that_opens_without_the_service(browse, campaign, chromium, tmp_path):
    campaign.judge("ann", 12, 60)
    page = shown(browse(campaign.page))
    open_tab(page, "Results and files")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Bundle of the results").click()
    assert re.fullmatch(r"demo_\d+-record\.zip", waiting.value.suggested_filename)
    with zipfile.ZipFile(waiting.value.path()) as archive:
        archive.extractall(tmp_path)
    (folder,) = tmp_path.iterdir()
    sums = dict(reversed(line.split("  ")) for line in (folder / "SHA256SUMS").read_text().splitlines())
    assert sums == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.name in sums
    }
    context, asked = chromium.new_context(offline=True), []
    alone = context.new_page()
    alone.on("request", lambda request: asked.append(request.url))
    alone.on("console", lambda message: asked.append(message.text))
    alone.goto((folder / "index.html").as_uri())
    assert asked == [(folder / "index.html").as_uri()]
    value = json.loads((folder / "record.json").read_text())
    assert alone.locator("strong").first.inner_text() == value["headline"]["sentence"]
    shown_rows = alone.locator("table").first.locator("tbody tr").all()
    assert [row.locator("td").first.inner_text() for row in shown_rows] == [one["system"] for one in value["systems"]]
    assert alone.locator("svg").count() >= 3
    assert value["judged"] == 12
    for name, checksum in value["sources"].items():
        assert f"{checksum}" in alone.content(), name
    for size in (DESK, PHONE):
        alone.set_viewport_size(size)
        assert alone.evaluate("document.documentElement.scrollWidth") == size["width"]
    for link in alone.locator("a[href]").all():
        assert (folder / link.get_attribute("href")).is_file()
    context.close()


def test_nothing_is_wrong_for_those_who_see_or_hear_it_otherwise(browse, campaign, audit):
    campaign.judge("ann", 12, 90)
    campaign.judge("bob", 1, cannot="silent")
    page = shown(browse(campaign.page, reduced_motion="reduce"))
    expect(page.locator("#remaining")).not_to_have_text("estimating…")
    open_tab(page, "People")
    page.fill("#invite-name", "Zoë")
    page.click("#invite button")
    page.wait_for_selector("#invited-link:not([hidden])")
    tabs = [tab.inner_text() for tab in page.get_by_role("tab").all()]
    for name, look in zip(tabs, cycle(LOOKS), strict=False):
        open_tab(page, name)
        assert (name, audit(page, (look,))) == (name, [])
    page.click("#close")
    assert audit(page, part="#closing") == []
    page.keyboard.press("Escape")
    open_tab(page, "People")
    page.get_by_role("button", name="Set aside… ann").click()
    page.locator("#aside-frame").wait_for()
    assert audit(page, part="#aside") == []


def test_two_themes_differ_and_the_choice_stays(browse, campaign):
    page = shown(browse(campaign.page, color_scheme="light"))
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.click("#theme")
    page.click("#theme")
    dark = page.evaluate(background)
    assert sum(map(int, re.findall(r"\d+", dark)[:3])) < 150 < 600 < sum(map(int, re.findall(r"\d+", light)[:3]))
    page.reload()
    assert page.evaluate(background) == dark


def test_what_has_the_focus_keeps_it_when_it_is_drawn_anew_and_what_was_left_does_not_get_it_back(browse, campaign):
    campaign.judge("bob", 1)
    campaign.judge("ann", 2)
    page = shown(browse(campaign.page))
    closest = page.locator("#next a")
    bob = page.locator("#assessors tbody tr").filter(has_text="bob").locator("button")
    for one, tab, left in ((closest, "ranking", False), (bob, "people", False), (bob, "people", True)):
        open_tab(page, tab)
        one.evaluate("one => document.body.append(one.cloneNode(true))")  # one like it elsewhere is not meant
        one.focus()
        if left:
            one.blur()
        old = one.element_handle()
        campaign.judge("ann", 1)
        page.wait_for_function("old => !old.isConnected", arg=old)
        assert one.evaluate("one => one === document.activeElement") != left


def test_everything_is_within_reach_of_the_tab_key_and_shows_its_focus(browse, campaign):
    campaign.judge("ann", 2)
    page = shown(browse(campaign.page))
    reached = []
    for _ in range(30):
        page.keyboard.press("Tab")
        script = "one => [one.id || one.textContent.trim(), getComputedStyle(one).outlineStyle]"
        if page.evaluate("document.activeElement === document.body"):
            break
        name, outline = page.locator(":focus").evaluate(script)
        reached.append(name)
        assert outline != "none", name
    wanted = ["theme", "pause", "close", "tab-ranking"]
    assert [name for name in reached if name in wanted] == wanted
    assert reached[0] == "To the content"
    page.focus("#tab-ranking")
    page.keyboard.press("ArrowLeft")
    assert page.locator("#tab-results:focus").get_attribute("aria-selected") == "true"
    for words in ("Download", "Share the results", "Publish", "Add files", "Log, latest first"):  # the parts of the tab
        page.keyboard.press("Tab")
        assert page.inner_text(":focus") == words
    page.keyboard.press("Tab")
    assert page.inner_text(":focus") == "Qrels"
    page.reload()
    shown(page)
    assert page.locator("#panel-results").is_visible()


def test_the_goal_that_was_met_is_said_with_its_moment(browse, campaign, truth, wait_until):
    lines = [f"{query} 0 {document} {grade:g}\n" for query, document, grade in truth]
    answer = campaign.http.post(f"{campaign.path}/judgments/import", content="".join(lines[: POOL - 30]))
    assert answer.status_code in (200, 202), answer.text
    page = shown(browse(campaign.page))
    expect(page.locator("#remaining")).to_have_text("0")
    expect(page.locator("#met")).to_have_text("Met")

    def as_told():
        said, met = campaign.get("ranking")["sentence"], campaign.get("course")["met"]
        return (
            met
            and page.inner_text("#verdict-about").startswith(said)
            and f"first met after {met['judged']} judged pairs" in page.inner_text("#met-when")
            and page.locator("#course .met-label").all_text_contents() == [f"met at {met['judged']}"]
        )

    wait_until(as_told)  # the model learns from the import a little later, then everything is computed again
    late = campaign.get("remaining") | {"low": 3, "median": 3, "high": 3}  # a forecast from before the last judgments
    page.route("**/remaining*", lambda route: route.fulfill(json=late))
    with page.expect_response("**/remaining*"):
        page.reload()
    expect(shown(page).locator("#remaining-range")).to_have_text("the goal is met")


def test_the_form_that_publishes_keeps_its_place_when_the_goal_is_met(browse, campaign, truth):
    page = shown(browse(campaign.page))
    open_tab(page, "Results and files")
    expect(page.locator("#publish-goal")).to_be_visible()
    within = "one => one.getBoundingClientRect().top - one.form.getBoundingClientRect().top"
    place = page.locator("#publish-make").evaluate(within)
    lines = [f"{query} 0 {document} {grade:g}\n" for query, document, grade in truth]
    answer = campaign.http.post(f"{campaign.path}/judgments/import", content="".join(lines[: POOL - 30]))
    assert answer.status_code in (200, 202), answer.text
    expect(page.locator("#publish-goal")).to_be_hidden()
    assert page.locator("#publish-make").evaluate(within) == place


# Overlapping boxes of the chart's texts.
OVERPRINTED = """texts => texts.flatMap((one, place) => texts.slice(place + 1).filter((other) => {
    const [a, b] = [one, other].map((text) => text.getBoundingClientRect());
    return a.left < b.right && b.left < a.right && a.top < b.bottom - 2 && b.top < a.bottom - 2;
}).map((other) => `${one.textContent} / ${other.textContent}`))"""


FONTS = (("130%", "serif"), ("170%", "monospace"), ("100%", "sans-serif"))


def write_in(page, chart, size, family):
    """Change the fonts, as on another machine or for large print, and wait until the chart is drawn with them."""
    script = """([size, family, texts]) => {
        document.documentElement.style.fontSize = size;
        document.body.style.fontFamily = family;
        document.querySelectorAll(texts).forEach(text => { text.dataset.old = '' });
    }"""
    page.evaluate(script, [size, family, f"{chart} text"])  # in one step, so that no chart is drawn with the old fonts
    page.wait_for_selector(f"{chart} text[data-old]", state="detached")


def test_labels_of_charts_keep_clear_of_each_other_in_any_font(browse, campaign):
    campaign.judge("ann", 12, 90)
    page = shown(browse(campaign.page))
    expect(page.locator("#remaining")).not_to_have_text("estimating…")
    for chart, tab in (("#course", "Ranking"), ("#axis", "Ranking"), ("#scores", "Progress")):
        open_tab(page, tab)
        for width, (size, family) in product((1280, 360), FONTS):
            page.set_viewport_size({"width": width, "height": 900})
            write_in(page, chart, size, family)
            assert page.eval_on_selector_all(f"{chart} text", OVERPRINTED) == [], (size, family, width)
            edge = "texts => Math.max(...texts.map(text => text.getBoundingClientRect().right))"
            assert page.eval_on_selector_all(f"{chart} text", edge) <= width


def test_forty_systems_fit_and_a_course_never_turns_back_after_an_undo(browse, http, audit):
    campaign = Campaign(http, "crowd")
    for name in ("ann", "bob", "cid"):
        campaign.judge(name, 4, 90)
    campaign.judge("bob", 1, cannot="the clip is silent")
    for _ in range(3):
        assert http.post(f"{campaign.path}/undo", json={"assessor": "cid"}).status_code == 201
    page = shown(browse(campaign.page, viewport=DESK))
    assert page.inner_text("#title") == "A crowd of systems"
    assert page.locator("#tabs").evaluate("tabs => tabs.getBoundingClientRect().bottom") < DESK["height"]
    assert page.inner_text("#verdict") == "Not settled yet"
    assert "1 pair cannot be judged" in page.inner_text("#wrong")
    expect(page.locator("#next")).to_contain_text("Closest: ")
    assert page.inner_text("#ranking-settled") == "Nothing is settled yet: each system may have any rank."
    assert page.locator("#ranking tbody tr:visible").count() == 14  # the first ten, the last three, and the button
    page.get_by_role("button", name="Show 27 more systems").click()
    heights = page.eval_on_selector_all("#ranking tbody tr", "rows => rows.map(row => row.offsetHeight)")
    assert len(heights) == 40
    assert max(heights) < 32  # a name takes one line
    shown_rows, heads = page.locator("#ranking tbody tr:visible"), page.locator("#ranking th[data-by]")
    page.fill("#ranking-filter", "submission07")
    expect(shown_rows).to_have_count(1)
    scores = {row["system"]: row["expectation"] for row in campaign.get("ranking")["systems"]}
    rank = {name: 1 + sum(one > score + 1e-9 for one in scores.values()) for name, score in scores.items()}
    (found,) = cells(page, "#ranking")
    assert (found[1], int(found[0])) == (crowd().runs[7].system, rank[crowd().runs[7].system])
    page.fill("#ranking-filter", "")
    page.get_by_role("button", name="System", exact=True).click()
    expect(heads.nth(1)).to_have_attribute("aria-sort", "ascending")
    assert [row[1] for row in cells(page, "#ranking")] == [run.system for run in crowd().runs]
    page.get_by_role("button", name="System", exact=True).click()
    expect(heads.nth(1)).to_have_attribute("aria-sort", "descending")
    assert [row[1] for row in cells(page, "#ranking")] == [run.system for run in crowd().runs][::-1]
    page.get_by_role("button", name="95 % interval", exact=True).click()  # widest first
    widths = {row["system"]: row["high"] - row["low"] for row in campaign.get("ranking")["systems"]}
    shown_widths = [widths[row[1]] for row in cells(page, "#ranking")]
    assert shown_widths == sorted(widths.values(), reverse=True)
    page.get_by_role("button", name="#", exact=True).click()
    expect(heads.nth(0)).to_have_attribute("aria-sort", "ascending")
    page.get_by_label("Fold systems that may have the same rank").check()
    group = page.get_by_role("button", name="1–40: 40 systems, each may have rank 1; scores")
    expect(group).to_have_attribute("aria-expanded", "false")
    expect(shown_rows).to_have_count(1)
    group.press("Enter")
    expect(group).to_be_focused()
    expect(group).to_have_attribute("aria-expanded", "true")
    expect(shown_rows).to_have_count(41)
    page.emulate_media(reduced_motion="reduce")
    assert audit(page, part="#ranking") == []
    for width in (1280, 640, 360):  # a screen, the same at 200 %, a phone
        page.set_viewport_size({"width": width, "height": 740})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    page.get_by_label("Fold systems that may have the same rank").uncheck()
    page.set_viewport_size(DESK)
    expect(page.locator("#remaining")).not_to_have_text("estimating…")
    places = [float(x) for x in re.findall(r"[ML]([\d.]+) ", page.get_attribute("#course path", "d"))]
    assert places == sorted(places)
    # The true course: up, then down again. Moments are computed between requests.
    wait_until(page, lambda: [m["judged"] for m in campaign.get("course")["moments"]][-4:] == [12, 11, 10, 9])
    assert page.eval_on_selector_all("#course text", OVERPRINTED) == []
    open_tab(page, "Progress")
    assert page.eval_on_selector_all("#scores text", OVERPRINTED) == []
    expect(page.locator("#by-query tbody tr")).to_have_count(len(QUERIES))
    shares = {row[0]: (int(row[1]), int(row[2])) for row in cells(page, "#by-query")}
    assert list(shares) == list(QUERIES)
    assert tuple(map(sum, zip(*shares.values(), strict=True))) == (9, campaign.get("campaign")["pool"])
    # Every system retrieved five documents for each query.
    assert {row[2] for row in cells(page, "#by-system")} == {"15"}
    for name in ("Ranking", "Progress", "Results and files"):
        open_tab(page, name)
        page.set_viewport_size(PHONE)
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        page.set_viewport_size(DESK)


def saved(page, table, kind):
    """A table's file, as its button saves it."""
    page.wait_for_timeout(120)  # Chromium saves at most ten files a second
    with page.expect_download() as waiting:
        page.locator(f"#{table}-files button", has_text=kind).click()
    assert waiting.value.suggested_filename.endswith(f"-{table}.{kind.lower()}")
    return Path(waiting.value.path()).read_text(encoding="utf-8")


def counts_agree(page, table, identifier):
    """True if both files of a table have as many records as it has rows; it may be drawn anew meanwhile."""
    listed = json.loads(saved(page, identifier, "JSON"))
    spelled = list(csv.DictReader(io.StringIO(saved(page, identifier, "CSV"))))
    return len(listed) == len(spelled) == table.locator("tbody tr").count() > 0


def test_every_table_is_saved_as_csv_and_json_and_the_address_keeps_its_order(browse, campaign):
    campaign.judge("ann", 6, 90)
    campaign.judge("=bob", 4, 10)
    campaign.judge("ann", 1, cannot="silent")
    page = shown(browse(campaign.page))
    heads = {"Ranking": 0, "Progress": 0, "People": 0, "Settings": 0, "Results and files": 0}
    assert [tab.inner_text() for tab in page.get_by_role("tab").all()] == list(heads)
    for name in heads:
        open_tab(page, name)
        page.wait_for_load_state("networkidle")
        for table in page.locator("[role=tabpanel]:not([hidden]) table:visible").all():
            identifier = table.get_attribute("id")
            if identifier == "pairs":
                continue  # a matrix; its file lists the pairs
            table.locator("tbody tr").first.wait_for()
            wait_until(page, lambda table=table, identifier=identifier: counts_agree(page, table, identifier))
            for place, head in enumerate(table.locator("th[data-by]").all()):
                if not head.is_visible():
                    continue  # a column that says nothing here
                head.locator("button").click()
                by = head.get_attribute("data-by")
                falls = head.get_attribute("aria-sort") == "descending"
                assert urlsplit(page.url).query.split("&")[-1] == f"{identifier}={'-' * falls}{by}"
                values = [one[by] for one in json.loads(saved(page, identifier, "JSON")) if one[by] is not None]
                if values and not isinstance(values[0], str):
                    assert values == sorted(values, reverse=falls), (identifier, by)
                heads[name] += place >= 0
    assert min(heads[name] for name in ("Ranking", "Progress", "People")) > 5
    systems = campaign.get("ranking")["systems"]
    page.goto("about:blank")
    page.goto(f"{campaign.page}?ranking=-system&assessors=name#people")  # an address that somebody was sent
    shown(page)
    wait_until(page, lambda: [row[0] for row in cells(page, "#assessors")] == ["=bob", "ann"])
    assert "'=bob" in saved(page, "assessors", "CSV")  # no formula for a spreadsheet
    open_tab(page, "Ranking")
    assert [row[1] for row in cells(page, "#ranking")] == sorted((one["system"] for one in systems), reverse=True)
    found = {one["system"]: one for one in json.loads(saved(page, "ranking", "JSON"))}
    for place, one in enumerate(systems, 1):  # every digit that the service tells
        assert one | {"rank": place} == {name: found[one["system"]][name] for name in (*one, "rank")}
    pairs = json.loads(saved(page, "pairs", "JSON"))
    assert pairs == campaign.get("ranking")["pairs"]


def test_five_tabs_fit_on_a_phone_and_an_address_leads_to_a_part_of_one(browse, campaign):
    page = shown(browse(f"{campaign.page}#invite", viewport={"width": 390, "height": 740}))
    assert page.locator("#panel-people").is_visible()
    wait_until(page, lambda: page.locator("#part-invite").evaluate("part => part.getBoundingClientRect().top") < 740)
    boxes = [tab.bounding_box() for tab in page.get_by_role("tab").all()]
    assert len(boxes) == 5
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)
    assert page.locator("#tabs").evaluate("tabs => tabs.scrollWidth <= tabs.clientWidth")
    for tab in page.get_by_role("tab").all():  # a tab is as wide when it is open
        tab.click()
        assert [one.bounding_box()["width"] for one in page.get_by_role("tab").all()] == [one["width"] for one in boxes]


PLACES = """() => [...document.querySelectorAll("main :is(button, h2, h3, svg, table, input, #tabs):not(#course *)")]
  .filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect())
  .map(({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(" "))"""
MARKS = """() => [...document.querySelectorAll("#course text.tick, #axis text, #ranking line.grid")]
  .map((one) => one.outerHTML)"""


def nothing_yet(asked):
    """Answer with a course of which nothing is computed yet."""
    course = asked.fetch().json()
    asked.fulfill(json={**course, "complete": False, "moments": [], "met": None})


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_moves_while_nothing_happens(browse, campaign, width):
    campaign.judge("ann", 6, 90)
    page = browse("/", viewport={"width": width, "height": 900}, reduced_motion="reduce")
    page.route("**/course", nothing_yet, times=1)
    page.goto(campaign.page)
    page.locator("#goal:not(:empty)").wait_for()
    places = page.evaluate(PLACES)
    assert page.inner_text("#remaining") == "estimating…"
    assert page.locator("#course path").count() == 0
    marks = shown(page).evaluate(MARKS)
    expect(page.locator("#remaining")).not_to_have_text("estimating…")  # forecasts and checks of people arrive
    page.wait_for_timeout(3000)  # another round of requests
    assert page.evaluate(PLACES) == places
    assert page.evaluate(MARKS) == marks
    page.click("#theme")
    assert page.evaluate(PLACES) == places


@pytest.fixture(scope="module")
def guarded(demo, commanded, tmp_path_factory):
    """A server with tokens, and the organiser's."""
    folder = tmp_path_factory.mktemp("guarded")
    database = f"sqlite:///{folder / 'campaign.db'}"
    store = TokenStore(database)
    secret = store.create("olga", "organiser")
    store.close()
    with commanded([demo], folder / "log", "--db", database, "--model", "mout", AUDIOSIM_LISTEN="0") as running:
        yield running, secret


def entered(page, secret):
    page.goto("/organise/demo")
    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Sign in").click()
    return shown(page)


@pytest.fixture
def anywhere(chromium, watch):
    """Makes pages of any server, each in a separate browser context."""
    contexts = []

    def make(url):
        contexts.append(chromium.new_context(base_url=url, **CALM))
        contexts[-1].set_default_timeout(1000 * PATIENCE_S)
        page = contexts[-1].new_page()
        watch.watch(page, url)
        return page

    yield make
    for context in contexts:
        context.close()


def test_what_counts_towards_the_goal_and_which_queries_are_meant_is_said(joint, anywhere):
    with joint.client() as http:
        campaign = Campaign(http, "counted")
        campaign.judge("ann", 6)
        now = campaign.get("campaign")
        assert now["goal"]["level"] < now["confidence"]
        page = anywhere(joint.url)
        page.goto(campaign.page)
        shown(page)
        counts = math.floor(now["goal"]["level"] * 1000) / 10
        said = f"; the goal counts it as {counts:.1f}\u202f%, as few pairs are judged yet"
        expect(page.locator("#met-when")).to_contain_text(said)
        others = math.floor(now["of_this_kind"] * 1000) / 10
        said = f"for these queries ({others:.1f}\u202f% for queries of this kind)"
        expect(page.locator("#goal")).to_contain_text(said)


def test_a_lost_connection_is_said_and_comes_back_by_itself(demo, commanded, anywhere, tmp_path, port, watch):
    watch.expected += ["net::ERR_", "status of 503"]  # there is no service, then one that is still starting
    options = ("--db", f"sqlite:///{tmp_path / 'campaign.db'}", "--port", port, "--model", "mout")
    with commanded([demo], tmp_path / "first", *options) as running:
        page = anywhere(running.url)
        page.goto("/organise/demo")
        shown(page)
    expect(page.locator("#live")).to_have_text("Reconnecting…")
    expect(page.locator("#announcer")).to_contain_text("Connection lost")
    with commanded([demo], tmp_path / "second", *options) as running, running.client() as http:
        Campaign(http, "demo").judge("ann", 2)
        expect(page.locator("#live")).to_have_text("Live")
        expect(page.locator("#pool")).to_contain_text("2 of 600")


def test_an_organiser_signs_in_and_an_invitation_opens_the_judging_page_as_that_assessor(guarded, anywhere, watch):
    running, secret = guarded
    page = entered(anywhere(running.url), secret)
    open_tab(page, "People")
    page.get_by_label("Name", exact=True).fill("ivy")
    page.get_by_label("Valid for days").fill("3")
    page.get_by_role("button", name="Make a link").click()
    page.wait_for_selector("#invited-link:not([hidden])")
    link = page.input_value("#link")
    assert link.startswith(f"{running.url}/judge/demo#token=audiosim_")
    wait_until(page, lambda: [row[0] for row in cells(page, "#invited")] == ["ivy"])
    other = anywhere(running.url)
    other.goto(link)
    expect(other).to_have_url(f"{running.url}/judge/demo")
    other.wait_for_load_state("networkidle")
    session = other.evaluate("fetch('/v1/session').then(answer => answer.json())")
    assert (session["name"], session["role"], session["collection"]) == ("ivy", "assessor", "demo")
    assert urlsplit(other.url).fragment == ""
    watch.expected.append("status of 401")
    page.get_by_role("button", name="Withdraw ivy").click()
    page.wait_for_selector("#invited-frame", state="hidden")
    status = other.evaluate("fetch('/v1/collections/demo/next', {method: 'POST', body: '{}'}).then(one => one.status)")
    assert status == 401


def test_an_assessor_is_kept_from_the_organisers_page(guarded, anywhere):
    running, secret = guarded
    headers = {"Authorization": f"Bearer {secret}"}
    with running.client() as http:
        made = http.post("/v1/collections/demo/invitations", json={"name": "bea"}, headers=headers).json()
    page = anywhere(running.url)
    page.goto(f"/organise/demo#{urlsplit(made['link']).fragment}")
    page.wait_for_selector("#entrance:not([hidden])")
    assert "You are signed in as bea. Assessors must not see the ranking" in page.inner_text("#entrance-reason")
    assert not page.is_visible("#campaign")


def test_a_wrong_token_is_refused_with_the_services_words(guarded, anywhere, watch):
    watch.expected.append("status of 401")
    page = anywhere(guarded[0].url)
    page.goto("/organise/demo")
    page.get_by_label("Token").fill("audiosim_wrong")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_selector("#entrance-trouble:not([hidden])")
    assert page.inner_text("#entrance-trouble") == "this token is unknown, or has ended."


def test_where_there_is_nothing_to_order_the_page_shows_dashes_and_no_false_zero(browse):
    page = browse("/organise/single")
    page.wait_for_selector("#live:text-is('Live')")
    expect(page.locator("#confidence")).to_have_text("–")
    wait_until(page, lambda: page.inner_text("#remaining") not in ("", "estimating…"))
    assert page.locator("#course path").count() == 0
    assert "NaN" not in page.content()
