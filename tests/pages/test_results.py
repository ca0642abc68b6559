"""The page of results in a real Chromium: its content, and the end of its link."""

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from audiosim.service.access.tokens import TokenStore

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

ROWS = "table => [...table.tBodies[0].rows].map(row => [row.cells[1].textContent, row.cells[2].textContent])"


@pytest.fixture
def locked(demo, commanded, tmp_path):
    """A server with tokens, and the organiser's token."""
    database = f"sqlite:///{tmp_path / 'locked.db'}"
    store = TokenStore(database)
    secret = store.create("olga", "organiser")
    store.close()
    with commanded([demo], tmp_path / "log", "--db", database, "--model", "mout", AUDIOSIM_LISTEN="0") as running:
        yield running, secret


def opened(chromium, watch, url):
    context = chromium.new_context(base_url=url, locale="en-GB")
    context.set_default_timeout(60_000)
    page = context.new_page()
    watch.watch(page, url)
    return page


def test_an_organiser_makes_a_link_that_shows_the_results_until_it_is_revoked(locked, chromium, watch, audit):
    running, secret = locked
    page = opened(chromium, watch, running.url)
    page.goto("/organise/demo")
    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("tab", name="Results and files").click()
    page.get_by_label("For whom").fill("board")
    page.get_by_role("button", name="Make a link").click()
    page.wait_for_selector("#shared-link:not([hidden])")
    link = page.input_value("#shared")
    assert link.startswith(f"{running.url}/results/demo#token=audiosim_")

    reader = opened(chromium, watch, running.url)
    reader.goto(link)
    reader.wait_for_selector("#results:not([hidden])")
    with running.client() as http:
        found = http.get("/v1/collections/demo/ranking", headers={"Authorization": f"Bearer {secret}"}).json()
    rows = reader.eval_on_selector("#ranking", ROWS)
    assert rows == [[one["system"], f"{one['expectation']:.3f}"] for one in found["systems"]]
    with reader.expect_download() as saving:
        reader.locator("#ranking-files").get_by_role("button", name="JSON").click()
    kept = json.loads(Path(saving.value.path()).read_text(encoding="utf-8"))
    assert [(one["system"], one["expectation"]) for one in kept] == [
        (one["system"], one["expectation"]) for one in found["systems"]
    ]
    reader.locator("#ranking th[data-by=system] button").click()
    assert [row[0] for row in reader.eval_on_selector("#ranking", ROWS)] == sorted(one["system"] for one in kept)
    assert urlsplit(reader.url).query == "ranking=system"  # the address keeps the order, and the token behind it
    assert urlsplit(reader.url).fragment == urlsplit(link).fragment
    reader.reload()
    reader.wait_for_selector("#results:not([hidden])")
    assert [row[0] for row in reader.eval_on_selector("#ranking", ROWS)] == sorted(one["system"] for one in kept)
    (fallen,) = found["notes"]
    assert fallen.startswith("historical-fine predicts 13 of the 600 unjudged pairs in place of mout-fine: ")
    assert f" {fallen}." in reader.inner_text("#verdict-about")
    assert reader.evaluate("fetch('/v1/collections/demo/campaign').then(one => one.status)") == 401
    watch.expected.append("status of 401")
    assert audit(reader) == []

    assert "The goal is not met yet (95" in reader.inner_text("#verdict-about")
    with running.client() as http:
        http.post("/v1/collections/demo/close", json={}, headers={"Authorization": f"Bearer {secret}"})
    reader.reload()
    expect(reader.locator("#verdict-about")).to_contain_text("Judging ended before the goal was met (95")
    expect(reader.locator("#judged")).to_have_text("Predicted ranking: nothing was judged")

    page.get_by_role("button", name="Revoke board").click()
    page.wait_for_selector("#links-frame", state="hidden")
    reader.reload()
    expect(reader.locator("#trouble")).to_contain_text("This link shows no results: it has ended, was revoked")
    assert not reader.is_visible("#results")
    for one in (page, reader):
        one.context.close()
