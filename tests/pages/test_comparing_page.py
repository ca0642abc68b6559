"""Comparisons on the judging page, by keyboard, in a real browser against a live server."""

import time

import pytest

from audiosim.service.client import Client

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

PATIENCE_S = 60
SCREEN = "#screen-compare:not([hidden])"


@pytest.fixture
def live(commanded, demo, tmp_path):
    """A server that asks assessors only for comparisons."""
    options = ("--listen", 0, "--comparisons", "only", "--db", f"sqlite:///{tmp_path / 'campaign.db'}")
    with commanded([demo], tmp_path / "log", *options) as running:
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
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.get_by_role("radio", name="A is closer")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("#compare-missing")).to_contain_text("Choose an answer")
    page.keyboard.press("1")
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
    assert [line[3] for line in exported(live.url, wait_until, 3)] == ["=", "b", "a"]
    german = browse("/judge/demo?lang=de&listen=0.1&batch=3")
    german.fill("#name", "Bea")
    german.keyboard.press("Enter")
    german.locator("#start").click()
    expect(german.locator("#compare-where")).to_have_text("Vergleich 1 von 3")
    expect(german.get_by_role("button", name="Pause")).to_be_visible()
    german.keyboard.press("Enter")
    expect(german.locator("#compare-missing")).to_contain_text("Wählen Sie eine Antwort")
    for name in ("A ist ähnlicher", "Gleich", "B ist ähnlicher"):
        expect(german.get_by_role("radio", name=name)).to_have_count(1)
    said = german.inner_text(SCREEN)
    assert "Vorlage" in said
    assert "Kandidat B" in said
    assert not [word for word in ("Query", "Candidate", "closer", "same", "Choose", "Hear") if word in said]
    watch.expected.append("404")
    absent = german.goto("/judge/nowhere?lang=es")
    assert absent.status == 404
    expect(german.get_by_role("heading")).to_have_text("Aquí no hay ninguna colección «nowhere»")
