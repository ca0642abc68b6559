"""Texts on the organiser's page, changed by keyboard in a real Chromium, and read on the assessor's page."""

import pytest

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

DEMO = "/v1/collections/demo"


def judge(http):
    """Make one judgment; return its pair."""
    (pair,) = http.post(f"{DEMO}/next", json={"assessor": "ann"}).json()["pairs"]
    said = {"query": pair["query"], "document": pair["document"], "assessor": "ann", "fine": 70}
    assert http.post(f"{DEMO}/judgments", json=said).status_code == 201
    return pair


def test_texts_and_a_prompt_are_changed_by_the_keyboard_and_assessors_read_them(browse, http, audit, watch):
    watch.expected = ["status of 422"]
    pair = judge(http)
    page = browse("/organise/demo#texts")
    expect(page.locator("#text-title")).not_to_have_value("")
    page.locator("#text-title").focus()
    page.keyboard.press("Control+a")
    page.keyboard.type("An <evening>")
    page.keyboard.press("Tab")
    page.keyboard.type("Which is closer?")
    page.locator("#text-languages").fill("English")
    page.locator("#texts-save").press("Enter")
    expect(page.locator("#texts-trouble")).to_have_text(
        "languages: expected a code such as es or pt-BR, found 'English'."
    )
    assert audit(page, part="#part-texts") == []
    assert http.get(f"{DEMO}/texts").json()["changed"] is None
    judged = page.inner_text("#pool")
    judge(http)
    expect(page.locator("#pool")).not_to_have_text(judged)  # the page has refreshed, and the error is still shown
    expect(page.locator("#texts-trouble")).to_be_visible()
    expect(page.locator("#text-languages")).to_have_value("English")
    page.locator("#text-languages").fill("en")
    page.locator("#text-reason").fill("clearer")
    page.locator("#texts-save").press("Enter")
    expect(page.locator("#texts-changed")).to_contain_text("clearer")
    expect(page.locator("#text-reason")).to_have_value("")
    page.locator("#texts-save").press("Enter")
    expect(page.locator("#texts-trouble")).to_have_text("No text is changed yet.")
    page.locator("#prompt-query").select_option(pair["query"])
    page.locator("#prompt-text").fill("Slow,\nthen <b>fast</b>")
    page.locator("#prompt-save").press("Enter")
    expect(page.locator("#announcer")).to_contain_text("is changed")
    assert http.get(f"{DEMO}/prompts").json()["prompts"] == {pair["query"]: "Slow,\nthen <b>fast</b>"}
    page.get_by_role("tab", name="Results and files").click()
    expect(page.locator("#log")).to_contain_text("changed title, question, languages that people read: “clearer”")
    expect(page.locator("#log")).to_contain_text("changed the prompt of")
    page.reload()
    page.get_by_role("tab", name="Settings").click()
    expect(page.locator("#text-question")).to_have_value("Which is closer?")
    assert page.locator("#text-title").input_value() == "An <evening>"
    judging = browse("/judge/demo")
    judging.locator("#name").fill("bea")
    judging.locator("#name").press("Enter")
    expect(judging.locator("body")).to_contain_text("Which is closer?")
    assert http.get(f"{DEMO}/campaign").json()["judgments"] == 2


def test_a_consent_that_changes_while_somebody_reads_it_is_read_again(browse, http, watch):
    watch.expected = ["status of 422"]
    assert http.post(f"{DEMO}/texts", json={"consent": "I agree to be counted."}).status_code == 201
    page = browse("/judge/demo")
    page.locator("#name").fill("bea")
    page.locator("#name").press("Enter")
    expect(page.locator("#consent-text")).to_have_text("I agree to be counted.")
    assert http.post(f"{DEMO}/texts", json={"consent": "I agree to be heard."}).status_code == 201
    page.locator("#agreed").check()
    page.locator("#person-form button.primary").click()
    expect(page.locator("#consent-text")).to_have_text("I agree to be heard.")
    assert http.get(f"{DEMO}/answers?assessor=bea").json()["questionnaires"] == []
    page.locator("#agreed").check()
    page.locator("#person-form button.primary").click()
    expect(page.locator("#screen-start")).to_be_visible()
    assert http.get(f"{DEMO}/answers?assessor=bea").json()["questionnaires"] == ["before"]
