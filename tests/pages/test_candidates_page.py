"""Several candidates beside one another on the judging page, by keyboard, in a real browser against a live server."""

import time

import pytest

from .conftest import PLAIN

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

PATIENCE_S = 60
CANDIDATES = "ABC"


@pytest.fixture
def live(commanded, demo, tmp_path):
    """A server whose assessors judge three candidates on a page."""
    options = ("--candidates", 3, "--db", f"sqlite:///{tmp_path / 'campaign.db'}", *PLAIN)
    with commanded([demo], tmp_path / "log", *options, AUDIOSIM_LISTEN="0") as running:
        yield running


def until_shown(page, where):
    """Wait for a page with playing clips, from when on keys have an effect."""
    expect(page.locator("#screen-several")).to_be_visible()  # the desk of a revision has such a button as well
    expect(page.locator("#several-where")).to_have_text(where)
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


def grade(page, grades):
    """Listen to each candidate and grade it: a digit for the button, an arrow for the slider."""
    for letter, digit in zip(CANDIDATES, grades, strict=True):
        page.keyboard.press(letter.lower())
        page.keyboard.press(str(digit))
        page.keyboard.press("ArrowRight")


def until_heard(page):
    """Switch between the clips until all were played long enough."""
    give_up = time.monotonic() + PATIENCE_S
    while page.locator("#several-save[aria-disabled=false]").count() == 0:
        assert time.monotonic() < give_up, page.inner_text("#screen-several")
        for key in "qabc":
            page.keyboard.press(key)
            page.wait_for_timeout(100)


def begin(page):
    """Enter as Ann and go to the first page."""
    page.locator("#name:focus").wait_for()
    page.keyboard.type("Ann")
    page.keyboard.press("Enter")
    page.locator("#skip-training").click()
    until_shown(page, "Pairs 1 to 3 of 6")


def refuse(page, key):
    """Mark the candidate with a key as impossible to judge."""
    page.keyboard.press(key)
    page.locator("#several-cannot").click()
    expect(page.locator("#cannot-title")).to_have_text(f"Candidate {key.upper()}: Why can this pair not be judged?")
    expect(page.locator("#cannot-save")).to_have_text("Give this reason")
    page.get_by_role("radio", name="A clip is broken or silent").check()
    page.locator("#cannot-form button[value=save]").click()
    expect(page.locator(".candidate-cannot:visible")).to_contain_text("a clip is broken or silent")
    page.locator("#screen-several").focus()


def test_three_candidates_are_judged_on_a_page_by_keyboard(browse, http, wait_until, audit):
    def judged():
        events = http.get("/v1/collections/demo/log").json()["events"]
        return [
            one
            for one in sorted(events, key=lambda one: one["number"])
            if one["kind"] in ("judgment", "cannot", "undo")
        ]

    page = browse("/judge/demo?listen=0.1&batch=6", viewport={"width": 360, "height": 740})
    begin(page)
    page.keyboard.press("Enter")
    expect(page.locator("#several-missing")).to_contain_text("choose a button of Candidate A")
    grade(page, (0, 1, 2))
    until_heard(page)
    assert audit(page) == []
    page.keyboard.press("Enter")
    until_shown(page, "Pairs 4 to 6 of 6")
    wait_until(lambda: len(judged()) == 3)
    first = judged()
    assert len({one["query"] for one in first}) == 1
    assert [one["broad"] for one in first] == [0, 1, 2]
    assert [one["details"]["beside"] for one in first] == [3, 3, 3]
    assert [one["details"]["beside_place"] for one in first] == [1, 2, 3]
    assert sorted(one["time"] for one in first) == [one["time"] for one in first]
    shown = page.inner_text("body")
    assert not [one["document"] for one in first if one["document"] in shown]

    page.keyboard.press("z")
    until_shown(page, "Pairs 1 to 3 of 6")
    wait_until(lambda: [one["kind"] for one in judged()].count("undo") == 3)
    expect(page.locator("form[aria-label='Candidate C'] input[type=radio]").nth(2)).to_be_checked()
    for key in ("b", *["ArrowUp"] * 5):
        page.keyboard.press(key)
    expect(page.locator("#several-warning")).to_contain_text("of Candidate B disagree")
    refuse(page, "b")
    expect(page.locator("#several-warning")).to_be_hidden()
    until_heard(page)
    page.keyboard.press("Enter")
    until_shown(page, "Pairs 4 to 6 of 6")
    grade(page, (2, 2, 0))
    until_heard(page)
    page.reload()  # half-way: answers about a page are kept
    page.locator("#start").click()
    until_shown(page, "Pairs 4 to 6 of 6")
    expect(page.locator("form[aria-label='Candidate A'] input[type=radio]").nth(2)).to_be_checked()
    until_heard(page)
    page.keyboard.press("Enter")
    expect(page.locator("#batch-title")).to_have_text("Batch done")
    expect(page.locator("#batch-text")).to_contain_text("You have judged 5 pairs in total. 1 could not be judged.")
    wait_until(lambda: len(judged()) == 12)
    last = judged()[6:]
    assert [one["kind"] for one in last] == ["judgment", "cannot", "judgment", "judgment", "judgment", "judgment"]
    assert {one["document"] for one in last[:3]} == {one["document"] for one in first}
    exported = http.get("/v1/collections/demo/judgments", params={"format": "jsonl"}).text.splitlines()
    assert len(exported) == 6  # one of them has the reason why it cannot be judged

    german = browse("/judge/demo?lang=de&listen=30&batch=6")
    german.locator("#name:focus").wait_for()
    german.keyboard.type("Bea")
    german.keyboard.press("Enter")
    german.locator("#skip-training").click()
    until_shown(german, "Paare 1 bis 3 von 6")
    expect(german.locator("#several-question")).to_have_text("Wie ähnlich klingt jeder Kandidat der Vorlage?")
    german.keyboard.press("b")  # letters stay keys
    german.keyboard.press("0")
    expect(german.locator("form[aria-label='Kandidat B'] input[type=radio]").nth(0)).to_be_checked()
    german.keyboard.press("Enter")
    for words in ("Hören Sie die Vorlage, Kandidat A", "wählen Sie eine Schaltfläche für Kandidat C"):
        expect(german.locator("#several-missing")).to_contain_text(words)


def test_a_page_with_a_clip_that_is_gone_is_judged_and_a_revision_is_taken_back_alone(browse, http, wait_until, watch):
    def undone():
        return sum(one["kind"] == "undo" for one in http.get("/v1/collections/demo/log").json()["events"])

    watch.expected.append("404")
    sounds = []

    def lose_the_second(route):
        sounds.append(route.request.url)
        gone = list(dict.fromkeys(sounds)).index(route.request.url) == 1  # the first is the query's
        route.fulfill(status=404) if gone else route.continue_()

    page = browse("/judge/demo?listen=0.1&batch=6")
    page.context.route("**/sound?*", lose_the_second)
    begin(page)  # the others play
    expect(page.locator("#several-desk .note[role=status]")).to_have_text("No sound: Candidate A.")
    grade(page, (0, 1, 2))
    page.keyboard.press("Enter")
    expect(page.locator("#several-missing")).to_contain_text("ay that Candidate A cannot be judged")
    refuse(page, "a")
    until_heard(page)
    page.locator("#open-help").click()
    expect(page.locator("#several-play")).to_have_accessible_name("Play")  # sound pauses while help is open
    page.keyboard.press("Escape")
    page.locator("#screen-several").focus()
    page.keyboard.press("Enter")
    until_shown(page, "Pairs 4 to 6 of 6")

    page.locator("#open-answers").click()
    page.locator("#answers-rows button").first.click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()  # it can be saved from then on
    page.locator("#save").click()
    until_shown(page, "Pairs 4 to 6 of 6")
    page.keyboard.press("z")
    wait_until(lambda: undone() == 1)
    expect(page.locator("#announcer")).to_have_text("Last answer undone.")
    until_shown(page, "Pairs 4 to 6 of 6")
    page.keyboard.press("z")
    until_shown(page, "Pairs 1 to 3 of 6")
    wait_until(lambda: undone() == 4)
    page.context.unroute_all(behavior="ignoreErrors")
