"""Prompts in text on the judging page, in a real browser: shown as written, in place of a clip."""

import shutil

import pytest

from audiosim.sound.generated import collect_generated

from .conftest import PLAIN

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

PROMPTS = {"rain": 'A <b onclick="x">calm</b> piano\nand rain & more', "sea": "موسيقى هادئة", "fire": "long " * 900}


@pytest.fixture
def live(commanded, demo, tmp_path):
    """A server with two systems that made a recording for each of three prompts, and two candidates on a page."""
    sounds = sorted(path for path in (demo / "sounds").rglob("*.*") if path.is_file())
    for place, prompt in enumerate(PROMPTS):
        for system in range(2):
            path = sounds[2 * place + system]
            (tmp_path / "made" / f"system{system}").mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, tmp_path / "made" / f"system{system}" / f"{prompt}{path.suffix}")
    (tmp_path / "made" / "prompts").mkdir()
    for prompt, text in PROMPTS.items():
        (tmp_path / "made" / "prompts" / f"{prompt}.txt").write_text(text, encoding="utf-8")
    collect_generated(tmp_path / "made", tmp_path / "demo")
    options = ("--candidates", 2, "--db", f"sqlite:///{tmp_path / 'campaign.db'}", *PLAIN)
    with commanded([tmp_path / "demo"], tmp_path / "log", *options, AUDIOSIM_LISTEN="0") as running:
        yield running


def test_a_prompt_in_text_is_read_while_its_candidates_play(browse, audit):
    page = browse("/judge/demo?listen=0.1&batch=6", viewport={"width": 360, "height": 740})
    page.fill("#name", "Ann")
    page.keyboard.press("Enter")
    page.locator("#start").click()  # no training, because it would need a query's clip
    seen = {}
    for place in range(3):
        expect(page.locator("#several-where")).to_have_text(f"Pairs {2 * place + 1} to {2 * place + 2} of 6")
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        prompt = page.locator("#screen-several .prompt")
        expect(prompt).to_be_visible()
        seen[prompt.text_content()] = prompt.evaluate("one => getComputedStyle(one).direction")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        expect(page.locator("#screen-several .clip-button.query")).to_be_hidden()
        for letter in "ab":
            page.keyboard.press(letter)
            page.keyboard.press("1")
            page.keyboard.press("ArrowRight")
            expect(page.locator("#screen-several .clip-button.candidate[aria-pressed=true]")).to_contain_text(
                letter.upper()
            )
        until_heard(page, "#several-save")
        if place == 0:
            assert audit(page) == []
        page.keyboard.press("Enter")
    expect(page.locator("#batch-title")).to_have_text("Batch done")
    assert seen == {text.strip(): "rtl" if text == PROMPTS["sea"] else "ltr" for text in PROMPTS.values()}
    # One pair alone, to revise its answer: its candidate plays without a query's clip.
    page.locator("#open-answers").click()
    page.get_by_role("button", name="Revise the answer to pair 1").click()
    expect(page.locator("#prompt")).to_be_visible()
    assert page.locator("#prompt").text_content() in seen
    expect(page.locator("#hear-query")).to_be_hidden()
    expect(page.locator("#sound-trouble")).to_be_hidden()
    expect(page.locator("#hear-candidate[aria-pressed=true]")).to_be_visible()
    until_heard(page, "#save")
    assert audit(page) == []


def until_heard(page, save):
    """Listen to the candidates until the answer can be saved."""
    for _ in range(600):
        if page.locator(f"{save}[aria-disabled=false]").count():
            return
        for key in "ab" if save == "#several-save" else "c":
            page.keyboard.press(key)
            page.wait_for_timeout(100)
    raise AssertionError(page.inner_text("main"))
