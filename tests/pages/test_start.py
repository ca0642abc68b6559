"""The start page in a real browser: the collections, and the possible actions."""

import os
import shutil
import stat

import pytest

from audiosim.service.access.tokens import TokenStore

from .conftest import PLAIN

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect


def test_everybody_finds_the_collections_their_state_and_both_pages(browse, live, http, audit):
    page = browse("/")
    expect(page.locator("#status-demo")).to_have_text("Open")
    campaign = http.get("/v1/collections/demo/campaign").json()
    said = page.inner_text("#state-demo")
    assert f"0 of {campaign['pool']} pairs judged. Predictions only, nothing judged yet" in said
    assert f"{int(campaign['confidence'] * 1000) / 10}" in said
    assert audit(page) == []
    hrefs = {link.inner_text(): link.get_attribute("href") for link in page.locator("#collections a").all()}
    assert hrefs == {"Judge": "/judge/demo", "Organise": "/organise/demo"}
    http.post("/v1/collections/demo/pause", json={})
    page.reload()
    expect(page.locator("#status-demo")).to_have_text("Paused")
    expect(page.locator("#state-demo")).to_contain_text("Nobody can judge until you resume it.")
    expect(page.locator("#judge-demo")).to_be_hidden()
    page.click("#collections a >> text=Organise")
    expect(page).to_have_url(f"{live.url}/organise/demo")


@pytest.fixture
def twins(demo, commanded, tmp_path):
    """A server of two collections with one name."""
    twin = shutil.copytree(demo, tmp_path / "twin")
    with commanded([demo, twin], tmp_path / "log", *PLAIN, AUDIOSIM_LISTEN="0") as running:
        yield running


@pytest.fixture
def asked(twins):
    return twins


def test_collections_of_one_name_are_told_apart_and_a_closed_one_is_said_to_be_closed(browse, asked):
    with asked.client() as http:
        (pair,) = http.post("/v1/collections/twin/next", json={"assessor": "ann"}).json()["pairs"]
        said = {"query": pair["query"], "document": pair["document"], "assessor": "ann", "fine": 50, "broad": 1}
        for name in ("demo", "twin"):
            http.post(f"/v1/collections/{name}/close", json={}).raise_for_status()
        page = browse("/")
        expect(page.locator("#state-twin")).to_contain_text("Closed before the goal was met")
        expect(page.locator("#collections a:visible")).to_have_text(["Organise", "Organise"])  # there are no results
        for name in ("demo", "twin"):
            http.post(f"/v1/collections/{name}/resume", json={}).raise_for_status()
        http.post("/v1/collections/twin/judgments", json=said).raise_for_status()
        http.post("/v1/collections/twin/close", json={}).raise_for_status()
    page.reload()
    expect(page.locator("#collections h3 bdi")).to_have_count(4)  # each name, and what tells them apart
    names = page.locator("#collections h3 bdi").all_inner_texts()
    assert sorted(names) == [names[0], names[0], "demo", "twin"]
    expect(page.locator("#state-twin")).to_contain_text("Closed before the goal was met")
    expect(page.locator("#state-demo")).not_to_contain_text("Closed")
    names = [link.get_attribute("aria-label") for link in page.locator("#collections a:visible").all()]
    assert [name.partition(": ")[0] for name in names] == ["Judge", "Organise", "Results"]
    assert ["twin" in name for name in names] == [False, False, True]


SAID = """async (shares) => {
  const root = document.querySelector("script[type=module]").src.replace("start/start.js", "");
  const { percent } = await import(`${root}text.js`);
  return shares.map(([share, digits]) => percent(share, digits).replace("\\u202f", " "));
}"""


def test_percentages_are_rounded_down_and_only_nothing_reads_as_0_and_only_all_as_100(browse, live):
    asked = {(0.9499, 0): "94 %", (0.95, 0): "95 %", (0.9996, 1): "99.9 %", (1, 1): "100.0 %", (0.29, 0): "29 %"}
    asked |= {(0.999, 0): "99 %", (0.004, 0): "<1 %", (0.0004, 1): "<0.1 %", (0, 0): "0 %", (0, 1): "0.0 %"}
    assert browse("/").evaluate(SAID, [list(one) for one in asked]) == list(asked.values())


@pytest.fixture
def invited(demo, commanded, tmp_path):
    """A server that needs tokens, the token of Bea, who judges one collection, and that of its organiser."""
    database = f"sqlite:///{tmp_path / 'invited.db'}"
    store = TokenStore(database)
    token, organising = store.create("Bea", "assessor", "demo"), store.create("Olga", "organiser")
    store.close()
    with commanded([demo], tmp_path / "invited", "--db", database, *PLAIN, AUDIOSIM_LISTEN="0") as running:
        yield running, token, organising


def test_an_assessor_sees_what_is_theirs_to_judge_and_nothing_of_the_ranking(browse, invited, watch, audit):
    watch.expected.append("401 (Unauthorized)")
    running, token, organising = invited
    page = browse("/")
    page.locator("#token:focus").wait_for()
    assert audit(page) == []
    page.fill("#token", "guess")
    page.keyboard.press("Enter")
    expect(page.locator("#entrance-trouble")).to_have_text("this token is unknown, or has ended.")
    page.fill("#token", token)
    page.keyboard.press("Enter")
    expect(page.locator("#who")).to_have_text("Bea, assessor")
    expect(page.locator("#status-demo")).to_have_text("Open")
    assert [link.inner_text() for link in page.locator("#collections a").all()] == ["Judge"]
    text = page.inner_text("main").lower()
    assert [secret for secret in ("confidence", "system", "metrics") if secret in text] == []
    with running.client() as http:
        as_organiser = {"Authorization": f"Bearer {organising}"}
        for reason, words in (("lunch", "Judging is paused"), ("not opened yet", "Judging has not begun")):
            http.post("/v1/collections/demo/pause", json={"reason": reason}, headers=as_organiser)
            page.reload()
            expect(page.locator("#state-demo")).to_contain_text(words)
            expect(page.locator("#collections a:visible")).to_have_count(0)
            http.post("/v1/collections/demo/resume", json={}, headers=as_organiser)
        http.post("/v1/collections/demo/close", json={}, headers=as_organiser)
    page.reload()
    expect(page.locator("#state-demo")).to_have_text("Judging has ended.")
    expect(page.locator("#collections a:visible")).to_have_count(0)
    page.click("#leave")
    page.locator("#token").wait_for()


def test_the_log_names_the_addresses_and_open_shows_the_start_page(demo, commanded, tmp_path, wait_until):
    # As `webbrowser` documents: BROWSER names the command that shows an address.
    shown, browser = tmp_path / "shown", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {shown}.part && mv {shown}.part {shown}\n', encoding="utf-8")
    browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
    with commanded([demo], tmp_path / "log", "--open", BROWSER=os.fspath(browser)) as running:
        assert running.says(f"start page: {running.url}/\n")
        assert running.says(
            f"assessors judge at {running.url}/judge/demo; organisers follow at {running.url}/organise/"
        )
        wait_until(shown.exists)
    assert shown.read_text(encoding="utf-8") == f"{running.url}/\n"
