"""Comparisons on the judging page, by keyboard, in a real browser against a live server."""

import re
import time
from dataclasses import replace

import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.values import Judgment, Run
from audiosim.service.client import Client

from .conftest import copy_demo

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

PATIENCE_S = 60
OWN = "Which melody goes on as the query began?"
CLIP_S = 10  # whole seconds of each recording of the demo
SCREEN = "#screen-compare:not([hidden])"


@pytest.fixture
def live(commanded, demo, tmp_path):
    """A server that asks assessors only for comparisons; in `few` there are three, of the documents of one query,
    with a question of its own.

    In `same` there are none, as all systems return the same three documents. In `both` comparisons and grades are asked
    for; in `graded` too, but somebody has graded a pair, so that a comparison tells more.
    """
    options = ("--comparisons", "only", "--db", f"sqlite:///{tmp_path / 'campaign.db'}")
    whole, folder = Collection.load(demo), tmp_path / "few"
    ((query, (first, second, third, *_)), *_) = whole.runs[0].rankings.items()
    runs = (
        Run(whole.runs[0].system, {query: (first, second)}),
        Run(whole.runs[1].system, {query: (third,)}),
    )
    few = replace(whole, runs=runs, judgments=(), comparisons=())
    graded = (Judgment(query, first, 20.0, "Bob"),)
    for name, judgments in (("few", ()), ("both", ()), ("graded", graded)):
        replace(few, identifier=name, name=name, judgments=judgments).save(tmp_path / name)
        (tmp_path / name / "sounds").symlink_to(demo / "sounds")
        if name != "few":
            (tmp_path / name / "campaign.toml").write_text('comparisons = "some"\n', encoding="utf-8")
    (folder / "task.toml").write_text(f'question = "{OWN}"\n', encoding="utf-8")
    orders = {"Alpha": (first, second, third), "Beta": (third, first, second), "Gamma": (second, third, first)}
    runs = tuple(Run(name, {query: order}) for name, order in orders.items())
    Collection("same", "The same three", whole.scale, 3, runs, whole.documents).save(tmp_path / "same")
    folders = [
        copy_demo(demo, tmp_path / "demo", queries=6),
        *(tmp_path / one for one in ("few", "both", "graded", "same")),
    ]
    with commanded(folders, tmp_path / "log", *options, AUDIOSIM_LISTEN="0", AUDIOSIM_SOUNDS=str(demo)) as running:
        yield running


def until_shown(page, place):
    """Wait for a comparison with playing clips, from when on keys have an effect."""
    expect(page.locator("#compare-where")).to_have_text(f"Comparison {place} of 3")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


def until_heard(page):
    """Switch between the clips until all were played long enough."""
    give_up = time.monotonic() + PATIENCE_S
    while page.locator("#compare-save[aria-disabled=false]").count() == 0:
        assert time.monotonic() < give_up, "the clips were not heard"
        for key in "qab":
            page.keyboard.press(key)
            page.wait_for_timeout(100)


MOVED = """() => {
  const screen = document.querySelector(".judging-screen:not([hidden])");
  const parts = screen.querySelectorAll("button, label, canvas, h2");
  const fixed = [...document.querySelectorAll("header button"), ...parts].filter((one) => one.checkVisibility());
  const boxOf = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(" ");
  const boxes = () => fixed.map((one) => boxOf(one.getBoundingClientRect()));
  const before = boxes();
  const moved = [];
  const look = (what) =>
    boxes().forEach((box, at) => box === before[at] || moved.push([what, fixed[at].id, before[at], box]));
  const says = (notice, text) => {
    const was = [notice.hidden, notice.textContent];
    [notice.hidden, notice.textContent] = [false, text];
    look(notice.id);
    [notice.hidden, notice.textContent] = was;
  };
  const long = "Here is something that a person should read. ".repeat(2);
  for (const notice of screen.querySelectorAll("[role=status]")) says(notice, long);
  says(document.querySelector("#hold"), long);
  for (const state of ["Saving…", "Offline: 12 waiting"]) says(document.querySelector("#state"), state);
  for (const clock of ["", "10:59 / 11:00"]) says(screen.querySelector(".time"), clock);
  for (const text of screen.querySelectorAll(".either > *")) text.classList.toggle("off");
  look("Play or Pause");
  for (const text of screen.querySelectorAll(".either > *")) text.classList.toggle("off");
  return moved;
}"""


def check_nothing_moves(page):
    """Show every notice of a screen in turn, and every length of a clock: nothing else may move."""
    for width in (390, 768, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(MOVED) == [], width


def exported(url, wait_until, count):
    """Lines of the comparisons in force, once there are `count`."""
    with Client(url) as client:
        wait_until(lambda: len(list(client.comparisons("demo"))) == count + 1)
        return [line.split("\t") for line in client.comparisons("demo")][1:]


def answer_and_take_back(url):
    """Make and withdraw a comparison with the typed client."""
    with Client(url) as client:
        found = client.next_comparisons("demo", 2, assessor="bob")
        assert (found.kind, len(found.comparisons)) == ("comparison", 2)
        one = found.comparisons[0]
        record = client.compare("demo", one.query, one.document_a, one.document_b, "=", assessor="bob", seconds=9.5)
        assert (record.kind, record.details["answer"]) == ("comparison", "=")
        assert client.undo("demo", record.number, assessor="bob").refers == record.number


def test_two_candidates_are_compared_by_keyboard(browse, live, wait_until, watch):
    answer_and_take_back(live.url)
    page = browse("/judge/demo?listen=0.1&batch=3", viewport={"width": 360, "height": 740})
    page.locator("#name:focus").wait_for()
    page.keyboard.type("Ann")
    page.keyboard.press("Enter")
    expect(page.locator("#start-text")).to_contain_text("which of the two sounds closer")
    page.locator("#start").click()
    page.locator(SCREEN).wait_for()
    until_shown(page, 1)
    expect(page.locator("#compare-better")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    check_nothing_moves(page)
    expect(page.locator("#compare-left")).to_have_text("3 left")
    expect(page.get_by_role("radio", name="A is closer")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("#compare-missing")).to_contain_text(". Choose an answer")
    page.keyboard.press("1")
    expect(page.locator("#compare-missing")).not_to_contain_text("Choose")
    until_heard(page)
    page.keyboard.press("Enter")
    until_shown(page, 2)
    ((_, first, second, answer, assessor, seconds),) = exported(live.url, wait_until, 1)
    assert (answer, assessor) == ("a", "Ann")
    assert float(seconds) > 0
    shown = page.inner_text("body")
    assert first not in shown
    assert second not in shown

    page.keyboard.press("z")
    until_shown(page, 1)
    expect(page.locator("#compare-answer-1")).to_be_checked()
    exported(live.url, wait_until, 0)
    for place, key in enumerate("231", start=1):
        until_shown(page, place)
        page.keyboard.press(key)
        until_heard(page)
        page.keyboard.press("Enter")
    expect(page.locator("#batch-text")).to_contain_text("You have made 3 comparisons")
    expect(page.locator("#batch-text")).not_to_contain_text("0 pairs")
    assert [line[3] for line in exported(live.url, wait_until, 3)] == ["=", "b", "a"]
    organiser = browse("/organise/demo")
    expect(organiser.locator("#judged")).to_have_text("3 comparisons")
    expect(organiser.locator("#verdict")).to_have_text("Not settled yet")
    expect(organiser.locator("#pool")).to_have_text("no pair is graded yet")
    expect(organiser.locator("#next")).to_contain_text("Keep comparing to the goal (mean confidence of 95")
    expect(organiser.locator("#next")).to_contain_text("a goal that does not wait for graded pairs (floor=0")
    expect(organiser.locator("#fit")).to_contain_text("comparisons count in the scores, but are not checked")
    expect(organiser.locator("#course-about")).to_contain_text("at 0 comparisons to")  # moments come as they are made
    expect(organiser.locator("#course-about")).to_contain_text("at 3.")
    expect(organiser.locator("#course text", has_text="comparisons")).to_have_count(1)
    organiser.get_by_role("tab", name="Progress").click()
    organiser.click("#part-judged summary")
    compared = organiser.locator("#course-table tbody td:nth-child(2)")
    expect(compared).to_have_text(["0", "1", "2", "3"])
    expect(organiser.locator("#scores text", has_text="comparisons")).to_have_count(1)
    expect(organiser.locator("#judged-about")).to_be_visible()
    organiser.goto("/")
    expect(organiser.locator("#state-demo")).to_have_text(re.compile("^3 comparisons. Not settled yet: "))
    german = browse("/judge/demo?lang=de&listen=60&batch=3")
    german.fill("#name", "Bea")
    german.keyboard.press("Enter")
    german.locator("#start").click()
    expect(german.locator("#compare-where")).to_have_text("Vergleich 1 von 3")
    expect(german.get_by_role("button", name="Pause")).to_be_visible()
    german.keyboard.press("Enter")
    expect(german.locator("#compare-missing")).to_contain_text("Wählen Sie eine Antwort")
    expect(german.locator("#compare-missing")).to_contain_text(f"jeweils {CLIP_S} s lang")  # not 60
    for name in ("A ist ähnlicher", "Gleich", "B ist ähnlicher"):
        expect(german.get_by_role("radio", name=name)).to_have_count(1)
    said = german.inner_text(SCREEN)
    assert "Vorlage" in said
    assert "Kandidat B" in said
    assert not [word for word in ("Query", "Candidate", "closer", "same", "Choose", "Hear") if word in said]
    japanese = browse("/judge/demo?lang=ja&listen=60&batch=3")
    japanese.fill("#name", "Cao")
    japanese.keyboard.press("Enter")
    japanese.locator("#start").click()
    expect(japanese.get_by_role("button", name="一時停止")).to_be_visible()
    japanese.keyboard.press("Enter")
    expect(japanese.locator("#compare-missing")).to_contain_text("。")
    assert not set(".,") & set(japanese.inner_text("#compare-missing"))
    watch.expected.append("404")
    absent = german.goto("/judge/nowhere?lang=es")
    assert absent.status == 404
    expect(german.get_by_role("heading")).to_have_text("Aquí no hay ninguna colección «nowhere»")


def test_two_devices_open_at_once_compare_nothing_twice(browse, live, wait_until):
    one, other = (browse("/judge/demo?listen=0.1&batch=3") for _ in range(2))
    for page in (one, other):
        page.fill("#name", "Ann")
        page.keyboard.press("Enter")
        page.locator("#start").click()
        until_shown(page, 1)
    one.keyboard.press("1")
    until_heard(one)
    one.keyboard.press("Enter")
    until_shown(one, 2)
    exported(live.url, wait_until, 1)
    other.evaluate("dispatchEvent(new Event('focus'))")
    expect(other.locator("#notice")).to_have_text(re.compile("^You answered this on another device meanwhile"))
    until_shown(other, 2)
    one.keyboard.press("2")  # the other page was in front all the time, so it still asks
    until_heard(one)
    one.keyboard.press("Enter")
    until_shown(one, 3)
    exported(live.url, wait_until, 2)
    other.keyboard.press("3")
    until_heard(other)
    other.keyboard.press("Enter")
    expect(other.locator("#notice")).to_have_text(re.compile("^An answer given here replaces the one that you gave"))
    until_shown(other, 3)
    assert [line[3] for line in exported(live.url, wait_until, 2)] == ["a", "b"]


def test_equal_systems_are_called_equal_and_leave_nothing_to_compare(browse, live):
    page = browse("/judge/same")
    page.fill("#name", "Ann")
    page.keyboard.press("Enter")
    expect(page.locator("#batch-title")).to_have_text("Nothing to judge now")
    expect(page.locator("#batch-text")).to_have_text("There is no comparison to make at the moment. Thank you.")
    page = browse("/organise/same")
    expect(page.locator("#verdict")).to_have_text("All systems are equal")
    expect(page.locator("#met")).to_have_text("Nothing to order")
    expect(page.locator("#goal")).to_have_text("for these queries; all 3 pairs of systems are equal")
    expect(page.locator("#course-about")).to_have_text(
        "No two systems have an order, so there is no confidence to show."
    )
    expect(page.locator("#wrong")).to_contain_text("All systems return the same documents")
    expect(page.locator("#next")).not_to_contain_text("closest")
    expect(page.locator("#pairs-about")).to_have_text("All 3 pairs of systems are equal (=).")
    expect(page.locator("#verdict-about")).to_contain_text("are equal on these queries.")
    expect(page.locator("#verdict-about")).not_to_contain_text("told apart")
    assert page.locator("#ranking tbody td:last-child").all_inner_texts() == ["equal", "equal", ""]
    assert [rank.strip() for rank in page.locator("#ranking tbody td:first-child").all_text_contents()] == ["1"] * 3
    assert [text[0] for text in page.locator("#pairs td[class]").all_inner_texts()] == ["="] * 3
    assert not page.locator("#closest").is_visible()
    page = browse("/organise/same#a=Alpha&b=Beta")
    expect(page.locator("#detail dd").first).to_have_text("equal")


def revise_elsewhere(browse, live, wait_until):
    """Revise the first of three comparisons on another device, leave it as it was, and take the revision back."""

    def said():
        with Client(live.url) as client:
            return [line.split("\t")[3] for line in client.comparisons("few")][1:]

    def revise():
        page.get_by_role("button", name="My answers").click()
        page.get_by_role("button", name="Revise comparison 1").click()
        expect(page.locator("#compare-where")).to_have_text("Revising an earlier answer")
        expect(page.get_by_role("button", name="Pause")).to_be_visible()  # its clips are there
        expect(page.locator("#compare-sound-trouble")).to_be_hidden()

    page = browse("/judge/few?listen=5")
    page.fill("#name", "Ann")
    page.keyboard.press("Enter")
    expect(page.locator("#batch-title")).to_have_text("Nothing to judge now")
    revise()
    expect(page.locator("#compare-answer-1")).to_be_checked()
    expect(page.locator("#compare-cannot")).to_be_hidden()
    page.get_by_role("button", name="Leave it as it was").click()
    expect(page.locator("#batch-title")).to_be_visible()
    assert said() == ["a", "a", "a"]
    revise()
    page.keyboard.press("3")
    page.get_by_role("button", name="Save the revision").click()  # without hearing the clips again
    expect(page.locator("#announcer")).to_have_text("Revision saved.")
    expect(page.locator("#batch-text")).to_contain_text("You have made 3 comparisons in total.")
    wait_until(lambda: sorted(said()) == ["a", "a", "b"])
    page.get_by_role("button", name="My answers").click()
    assert page.locator("#answers-rows tr").last.inner_text().startswith("1\ta comparison: B fits better")
    page.keyboard.press("Escape")
    page.click("#undo-last")
    expect(page.locator("#batch-title")).to_be_visible()  # the earlier answer counts again, so nothing is asked
    wait_until(lambda: said() == ["a", "a", "a"])


def test_a_campaign_of_both_kinds_says_so_at_the_start_and_counts_questions(browse, live):
    for collection, first, other, place in (
        ("both", "pairs of clips and judge them", "two candidates: which of the two sounds closer", "#where"),
        ("graded", "which of the two sounds closer", "one candidate alone", "#compare-where"),
    ):
        page = browse(f"/judge/{collection}?listen=0.1")
        page.fill("#name", "Ann")
        page.keyboard.press("Enter")
        expect(page.locator("#start-text")).to_contain_text(f"Other questions are about {other}")
        expect(page.locator("#start-text")).to_contain_text(first)
        page.locator("#skip-training, #start").locator("visible=true").last.click()
        expect(page.locator(place)).to_have_text(re.compile(r"^Question 1 of \d+$"))


def test_the_place_counts_the_comparisons_that_exist_if_they_are_fewer_than_a_batch(browse, live, wait_until):
    organiser = browse("/organise/few")
    expect(organiser.locator("#next")).to_contain_text("nobody has judged yet. No comparison counts")
    page = browse("/judge/few?listen=0.1")
    page.fill("#name", "Ann")
    page.keyboard.press("Enter")
    expect(page.locator("#start-text")).to_contain_text("say which of the two fits better")
    page.locator("#start").click()
    expect(page.locator("#compare-question")).to_have_text(OWN)
    expect(page.locator("#compare-better")).to_have_text("Which of the two fits better?")
    expect(page.get_by_role("radio", name="A fits better")).to_have_count(1)
    for place in (1, 2, 3):
        until_shown(page, place)
        expect(page.locator("#compare-left")).to_contain_text(f"{4 - place} left")
        assert page.locator("#compare-progress").evaluate("one => one.value") == pytest.approx((place - 1) / 3)
        page.keyboard.press("1")
        until_heard(page)
        page.keyboard.press("Enter")
    expect(page.locator("#batch-title")).to_have_text("Nothing to judge now")
    expect(page.locator("#batch-text")).to_contain_text("You have made 3 comparisons")
    expect(page.locator("#batch-text")).to_contain_text("The rest needs another person.")
    page.get_by_role("button", name="My answers").click()
    expect(page.locator("#answers-rows")).to_contain_text("a comparison: A fits better")
    assert "closer" not in page.inner_text("body")
    page.keyboard.press("Escape")
    expect(organiser.locator("#next")).to_contain_text(
        "Going on needs another person: invite one. No comparison counts"
    )
    expect(organiser.locator("#next")).not_to_contain_text("Keep comparing")
    page.reload()
    expect(page.locator("#batch-text")).to_have_text(
        re.compile("^You have made 3 comparisons in total. You have answered every comparison")
    )
    revise_elsewhere(browse, live, wait_until)
    for action, shown, said in (
        ("close", "#held-title", "Judging has ended"),
        ("resume", "#batch-title", "Nothing to judge now"),
        ("pause", "#held-title", "Paused"),
    ):  # nobody touches the page
        with live.client() as http:
            http.post(f"/v1/collections/few/{action}", json={}).raise_for_status()
        expect(page.locator(shown)).to_be_visible()
        expect(page.locator(shown)).to_have_text(said)


def test_the_comparison_page_has_what_the_grading_page_has(browse, live, wait_until, audit):
    def log():
        with live.client() as http:
            return http.get("/v1/collections/demo/log").json()["events"]

    page = browse("/judge/demo?listen=0.1&batch=3")
    page.fill("#name", "Ann")
    page.keyboard.press("Enter")
    held = []
    page.route("**/documents/**", lambda route: held.append(route))
    page.locator("#start").click()
    expect(page.locator("#compare-hear-b")).to_be_visible()  # its place is there before the clips are
    wait_until(lambda: held or page.wait_for_timeout(50))
    page.unroute("**/documents/**")  # lets what was held go on
    until_shown(page, 1)
    assert audit(page) == []
    page.set_viewport_size({"width": 1000, "height": 740})

    page.keyboard.press(" ")
    wave = page.locator("#compare-desk .wave").nth(2).bounding_box()
    page.mouse.click(wave["x"] + wave["width"] / 2, wave["y"] + 5)  # goes there, and hears that clip
    expect(page.locator("#compare-hear-b")).to_have_attribute("aria-pressed", "true")
    heads = [one.bounding_box() for one in page.locator("#compare-desk .head").all()]
    assert [one["x"] for one in heads] == [pytest.approx(wave["x"] + wave["width"] / 2, abs=3)] * 3
    page.keyboard.press("l")
    expect(page.locator("#compare-match")).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("?")
    keys = page.locator("#keys tr").all_inner_texts()
    for said in ("Q\tHear the query", "B\tHear Candidate B", "3\tB is closer", "L\tSame loudness, on and off"):
        assert [row for row in keys if " ".join(row.split()) == " ".join(said.split())], (said, keys)
    page.keyboard.press("Escape")

    page.locator("#compare-form summary").click()
    page.locator("#compare-form textarea").fill("B crackles")
    page.keyboard.press("Escape")
    page.keyboard.press("b")  # B is audible, so the reason is about B
    page.locator("#compare-cannot").click()
    expect(page.get_by_role("radio", name="B", exact=True)).to_be_checked()
    page.get_by_label("a clip is broken or silent").check()
    page.locator("#cannot button[value=save]").click()
    until_shown(page, 2)
    wait_until(lambda: len(log()) == 1)
    (cannot,) = log()
    assert (cannot["kind"], cannot["details"]) == (
        "cannot",
        {"reason": "a clip is broken or silent", "note": "B crackles"},
    )
    page.keyboard.press("z")  # takes the report back, and shows the comparison again
    until_shown(page, 1)
    wait_until(lambda: [one["kind"] for one in log()] == ["cannot", "undo"])
    page.keyboard.press("2")
    until_heard(page)
    page.keyboard.press("Enter")
    until_shown(page, 2)
    wait_until(lambda: log()[-1]["kind"] == "comparison")
    assert log()[-1]["details"]["note"] == "B crackles"


def test_a_test_closed_under_an_open_page_asks_nothing_more_until_it_opens_again(
    browse, live, wait_until, watch, audit
):
    watch.expected.append("409 (Conflict)")
    page = browse("/judge/demo?listen=0.1&batch=3")
    page.fill("#name", "Ann")
    page.keyboard.press("Enter")
    page.locator("#start").click()
    until_shown(page, 1)
    with live.client() as http:
        assert http.post("/v1/collections/demo/close", json={}).status_code == 201
        page.keyboard.press("1")
        until_heard(page)
        page.keyboard.press("Enter")
        expect(page.locator("#held-title")).to_have_text("Judging has ended")
        expect(page.locator(SCREEN)).to_have_count(0)
        assert "They are sent if judging opens again." in page.inner_text("#held-safe")
        expect(page.locator("#held-then")).to_have_text("Thank you for taking part. You can close this page.")
        assert audit(page) == []
        assert http.post("/v1/collections/demo/resume", json={}).status_code == 201
    until_shown(page, 2)
    exported(live.url, wait_until, 1)
    page.reload()
    page.locator("#start").click()
    until_shown(page, 2)  # not the first again
    page.get_by_role("button", name="My answers").click()
    expect(page.locator("#answers-rows tr")).to_have_count(1)
    expect(page.locator("#answers-rows td").first).to_have_text("1")
    expect(page.locator("#answers-rows")).to_contain_text("A is closer")


COUNTED = """async () => {
  const root = document.querySelector("script[type=module]").src.replace("judge.js", "");
  const [{ Pace }, { Work }] = await Promise.all(["pace.js", "work.js"].map((name) => import(root + name)));
  const pace = new Pace(60);
  const now = performance.now();
  pace.last = now - 60_000;
  pace.note(3);
  const work = new Work({ settings: { batch: 20 }, outbox: new EventTarget() });
  work.history = ["a", "b", "c"].map((document) => ({ query: "q", document, time: "2026-01-01T12:00:00Z" }));
  const done = [work.done];
  const comparison = { query: "q", document_a: "a", document_b: "b" };
  work.compared.push({ comparison, sent: [], time: "2026-01-01T12:00:09Z" });
  done.push(work.done, work.comparedLast);
  work.history.push({ query: "q", document: "d", time: "2026-01-01T12:00:10Z" });
  return [Math.round(pace.medianS), ...done, work.done, work.comparedLast];
}"""


def test_pairs_and_comparisons_are_counted_together_and_a_page_of_pairs_takes_its_time(browse, live):
    page = browse("/judge/demo")
    assert page.evaluate(COUNTED) == [20, 3, 4, True, 5, False]
