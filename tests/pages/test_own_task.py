"""The judging page with an organiser's own task: consent, questions about the person, training, question and labels."""

import csv
import io
import shutil

import pytest

from audiosim.collection.collection import Collection

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

TASK = """question = "How well does it fit?"
instructions = "Listen to both."
consent = "I agree to be counted."
control = "buttons"
steps = 3
labels = ["not at all", "half", "wholly"]

[[aspect]]
name = "form"
question = "Saved"

[[aspect]]
name = "sound"
question = "How well does the sound fit?"

[[before]]
name = "years"
kind = "choice"
text = "Years of lessons?"
levels = ["none", "some"]
required = true

[[training]]
query = "{query}"
document = "{document}"
grade = 50
text = "It shares the rhythm."
"""


@pytest.fixture(scope="module")
def demo(demo, tmp_path_factory):
    folder = shutil.copytree(demo, tmp_path_factory.mktemp("own") / "demo")
    query, documents = next(iter(Collection.load(folder).runs[0].rankings.items()))
    (folder / "task.toml").write_text(TASK.format(query=query, document=documents[0]), encoding="utf-8")
    return folder


@pytest.fixture
def model():
    return "uniform"  # for every scale


def test_a_task_leads_from_consent_over_training_to_its_own_scale(browse, http, audit):
    page = browse("/judge/demo?listen=0&batch=2")
    page.fill("#name", "Ann")
    page.keyboard.press("Enter")
    page.locator("#screen-person:not([hidden])").wait_for()
    assert audit(page) == []
    page.get_by_role("button", name="Continue").locator("visible=true").click()
    expect(page.locator("#person-missing")).to_have_text("Please agree, or close this page.")
    page.get_by_label("I agree").check()
    page.get_by_role("button", name="Continue").locator("visible=true").click()
    expect(page.locator("#person-missing")).to_have_text("Still to be answered: Years of lessons?")
    page.get_by_label("some", exact=True).check()
    page.get_by_role("button", name="Continue").locator("visible=true").click()
    expect(page.locator("#start-instructions")).to_have_text("Listen to both.")
    expect(page.locator("#start-text")).to_contain_text("1 training pair")
    page.click("#start")
    expect(page.locator("#question")).to_have_text("How well does it fit?")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.locator("#answer-form-1").check()
    page.locator("#answer-sound-1").check()
    page.locator("#save[aria-disabled=false]").click()
    expect(page.locator("#feedback")).to_contain_text("The known answer is 50 of 100. Yours is close to it. It shares")
    page.click("#save")
    expect(page.locator("#where")).to_have_text("Pair 1 of 2")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    assert audit(page) == []
    for key in "20":  # each digit grades the first ungraded aspect
        page.keyboard.press(key)
    page.locator("#save[aria-disabled=false]").click()
    expect(page.locator("#where")).to_have_text("Pair 2 of 2")
    expect(page.locator("#state")).to_have_text("Saved")
    answers = http.get("/v1/collections/demo/answers", params={"assessor": "Ann"}).json()
    (said,) = answers["answers"]
    assert (said["grade"], said["details"]["form"], said["details"]["sound"]) == (50, 100, 0)
    rows = list(csv.DictReader(io.StringIO(http.get("/v1/collections/demo/questionnaires").text)))
    assert [(row["assessor"], row["moment"], row["consent"], row["years"]) for row in rows] == [
        ("Ann", "before", "yes", "some")
    ]


def test_the_page_speaks_the_language_of_the_address_or_the_browser(browse, audit):
    german = browse("/judge/demo?lang=de&listen=0")
    expect(german.locator("#name-form button")).to_have_text("Weiter")
    japanese = browse("/judge/demo?listen=0", locale="ja-JP")
    for page, lang, words in ((german, "de", "Bevor Sie beginnen"), (japanese, "ja", "始める前に")):
        assert page.evaluate("document.documentElement.lang") == lang
        page.fill("#name", f"Ann {lang}")
        page.keyboard.press("Enter")
        expect(page.locator("#person-title")).to_have_text(words)
        assert audit(page) == []
    japanese.get_by_label("同意します").check()
    japanese.get_by_label("some", exact=True).check()
    japanese.locator("#person-form button").click()
    expect(japanese.locator("#start-text")).to_contain_text("まず練習が 1 組")
    japanese.click("#skip-training")
    expect(japanese.get_by_role("button", name="一時停止")).to_be_visible()
    expect(japanese.locator("#form legend").first).to_have_text(
        "Saved"
    )  # the organiser's words, not the page's 保存済み
    assert audit(japanese) == []
    japanese.evaluate("document.documentElement.dir = 'rtl'")  # as for a language written from right to left
    assert audit(japanese) == []
