"""Open links in a real browser: an organiser makes one; a person joins, pauses, continues elsewhere, and finishes."""

import json
from pathlib import Path

import pytest

from audiosim.service.access.tokens import TokenStore

from .conftest import PLAIN

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

PARTICIPANT = "5f3c2d"


@pytest.fixture
def invited(demo, commanded, tmp_path):
    """A server that needs tokens, and the organiser's token."""
    database = f"sqlite:///{tmp_path / 'open.db'}"
    store = TokenStore(database)
    secret = store.create("olga", "organiser")
    store.close()
    with commanded([demo], tmp_path / "open", "--db", database, *PLAIN, AUDIOSIM_LISTEN="0") as running:
        yield running, secret


def make_link(page, secret):
    """Make an open link as an organiser; return its address."""
    page.goto("/organise/demo")
    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("tab", name="People").click()
    page.get_by_text("An open link, for anybody").click()
    expect(page.get_by_role("button", name="Look again")).to_have_count(0)  # at nothing yet
    page.get_by_label("Where you post it, such as Prolific").fill("Prolific")
    page.get_by_label("Answers per person").fill("2")
    page.get_by_label("Name of the identifier").fill("PROLIFIC_PID")
    page.get_by_label("Completion code").fill("C0DE1234")
    page.get_by_label("Address to return to when done").fill("https://example.org/done?cc=C0DE1234")
    page.get_by_role("button", name="Make an open link").press("Enter")
    page.locator("#open-link-new:not([hidden])").wait_for()
    address = page.input_value("#open-link-made")
    assert address.endswith("?PROLIFIC_PID=")
    return address


def judge_one(page):
    """Judge a pair by keyboard, once it is shown."""
    page.locator("#screen-desk:not([hidden])").wait_for()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.keyboard.press("1")
    page.keyboard.press("ArrowRight")
    page.locator("#save[aria-disabled=false]").wait_for()
    page.keyboard.press("Enter")


@pytest.mark.longest
def test_somebody_comes_by_an_open_link_stops_goes_on_elsewhere_and_gets_the_code(invited, browse, audit, watch):
    _, secret = invited
    organiser = browse()
    address = make_link(organiser, secret)
    assert audit(organiser, part="#part-invite") == []

    nameless = browse(f"{address}&lang=de")
    nameless.locator("#screen-shut:not([hidden])").wait_for()
    expect(nameless.locator("#shut")).to_contain_text("Kennung, PROLIFIC_PID")
    assert audit(nameless) == []

    one = browse(f"{address}{PARTICIPANT}&STUDY_ID=s1&batch=20")
    one.locator("#screen-start:not([hidden])").wait_for()
    assert one.url.endswith("/judge/demo?batch=20")
    assert one.locator("#settings-wrong").is_hidden()
    expect(one.locator("#leave")).to_have_text("Not you?")  # the drawn name means nothing to them
    one.click("#skip-training")
    judge_one(one)
    expect(one.locator("#state")).to_have_text("Saved")
    one.locator("#screen-desk:not([hidden])").wait_for()
    organiser.get_by_role("button", name="Close…").click()
    organiser.get_by_role("button", name="Close the campaign").click()
    one.reload()
    expect(one.locator("#completed-code")).to_have_value("C0DE1234")  # with half of the answers
    organiser.get_by_role("button", name="Resume").click()
    one.locator("#screen-start:not([hidden])").wait_for()
    one.context.close()

    other = browse(f"{address}{PARTICIPANT}", viewport={"width": 360, "height": 740})
    expect(other.locator("#start-title")).to_have_text("Welcome back")
    other.click("#start")
    judge_one(other)
    other.locator("#screen-completed:not([hidden])").wait_for()
    assert other.input_value("#completed-code") == "C0DE1234"
    assert other.get_attribute("#completed-back", "href") == "https://example.org/done?cc=C0DE1234"
    assert audit(other) == []
    other.reload()
    other.locator("#screen-completed:not([hidden])").wait_for()

    organiser.get_by_role("button", name="Look again").click()
    row = organiser.locator("#participants tbody tr")
    expect(row).to_have_count(1)
    for column, said in enumerate((PARTICIPANT, "Prolific", None, "2", "yes")):
        if said is not None:  # a date
            expect(row.locator("td").nth(column)).to_have_text(said)
    assert audit(organiser, part="#part-invite") == []
    other.get_by_role("button", name="My answers").press("Enter")
    other.get_by_text("Delete my data…").click()
    with other.expect_download() as download:
        other.get_by_role("button", name="Download my data").click()
    stored = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert (stored["reference"], stored["link"]) == (PARTICIPANT, "Prolific")
    assert [line["kind"] for line in stored["log"]].count("judgment") == 2
    assert audit(other) == []
    other.get_by_role("button", name="Delete my data now").click()
    other.locator("#screen-deleted:not([hidden])").wait_for()
    assert audit(other) == []

    organiser.get_by_role("button", name="Look again").click()
    expect(row).to_have_count(0)
    organiser.get_by_role("button", name="Close the link Prolific").click()
    expect(organiser.locator("#open-links-table tbody")).to_contain_text("this link is closed")
    watch.expected.append("status of 409")
    late = browse(f"{address}somebody&lang=ja")
    expect(late.locator("#shut")).to_have_text("このリンクは閉じられています。新しい方は参加できません。")
