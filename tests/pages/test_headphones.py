"""The headphone check before the start, taken by simulated ears, with and without headphones."""

import csv
import io
import shutil

import pytest

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

# Records the played samples, and plays them twenty times as fast to save time.
EARS = """
const start = AudioBufferSourceNode.prototype.start;
AudioBufferSourceNode.prototype.start = function (...when) {
  window.played = this.buffer;
  this.playbackRate.value = 20;
  return start.apply(this, when);
};
"""
# The power of each tone, with half a second between tones: in the left ear, or in the sum of both channels, which is
# what remains of them in the air between two loudspeakers.
POWER = """(ears) => [0, 1.5, 3].map((from) => {
  const { played } = window;
  const [begin, end] = [from, from + 1].map((second) => second * played.sampleRate);
  const cut = (channel) => played.getChannelData(channel).slice(begin, end);
  const [left, right] = [cut(0), cut(1)];
  return left.reduce((sum, value, at) => sum + (ears ? value : (value + right[at]) / 2) ** 2, 0);
})"""


@pytest.fixture(scope="module")
def demo(demo, tmp_path_factory):
    folder = shutil.copytree(demo, tmp_path_factory.mktemp("headphones") / "demo")
    (folder / "task.toml").write_text("headphones = true\n", encoding="utf-8")
    return folder


def hear_tone(page):
    page.locator("#screen-sound:not([hidden])").wait_for()
    expect(page.locator("#sound-heard")).to_be_disabled()
    page.click("#sound-play")
    page.locator("#sound-heard:enabled").click()


def take_check(page, ears):
    """Answer six trials by ear; returns how much softer the other tones are than the loudest, for each trial."""
    heard = []
    for trial in range(6):
        expect(page.locator("#headphones-where")).to_have_text(f"Trial {trial + 1} of 6")
        expect(page.locator("#headphones-1")).to_be_disabled()
        page.click("#headphones-play")
        page.locator("#headphones-1:enabled").wait_for()
        power = page.evaluate(POWER, ears)
        heard.append(sorted(one / max(power) for one in power))
        page.keyboard.press(str(power.index(min(power)) + 1))
    return heard


def test_headphones_lead_to_the_start_and_loudspeakers_to_thanks_and_a_code(browse, http, audit):
    link = {"name": "crowd", "completion": "D0NE", "screened_out": "N0PE", "return_to": "https://example.org/done"}
    made = http.post("/v1/collections/demo/open-links", json=link | {"screened_return_to": "https://example.org/out"})
    page = browse(alone=True)
    page.add_init_script(EARS)
    page.goto(made.json()["link"])
    page.locator("#screen-sound:not([hidden])").wait_for()
    assert audit(page) == []
    hear_tone(page)
    page.locator("#screen-headphones:not([hidden])").wait_for()
    first = take_check(page, ears=False)
    # Over loudspeakers nothing remains of the tone in antiphase, and the soft one is 6 dB softer.
    for powers in first:
        assert powers == pytest.approx([0, 10**-0.6, 1], abs=1e-4)
    expect(page.locator("#headphones-again")).to_be_visible()
    assert audit(page) == []
    page.reload()  # the first check counts
    hear_tone(page)
    expect(page.locator("#headphones-again")).to_be_visible()
    take_check(page, ears=False)
    for _ in range(2):
        page.locator("#screen-completed:not([hidden])").wait_for()
        expect(page.locator("#completed-title")).to_have_text("Thank you for your interest")
        assert page.input_value("#completed-code") == "N0PE"
        assert page.get_attribute("#completed-back", "href") == "https://example.org/out"
        page.reload()
    page.locator("#screen-completed:not([hidden])").wait_for()
    assert audit(page) == []

    ann = browse(alone=True)
    ann.add_init_script(EARS)
    ann.goto("/judge/demo")
    ann.fill("#name", "Ann")
    ann.keyboard.press("Enter")
    hear_tone(ann)
    for powers in take_check(ann, ears=True):
        assert powers == pytest.approx([10**-0.6, 1, 1], abs=1e-4)
    expect(ann.locator("#start-title")).to_have_text("Welcome")
    table = http.get("/v1/collections/demo/questionnaires").text
    rows = {row["assessor"]: row for row in csv.DictReader(io.StringIO(table))}
    (other,) = rows.keys() - {"Ann"}
    said = [[rows[name][field] for field in ("headphone_check", "trials_right")] for name in ("Ann", other)]
    assert said == [["passed", "6"], ["failed", "0"]]


def test_a_browser_without_web_audio_is_named_in_one_line(browse):
    page = browse(alone=True)
    page.add_init_script("delete window.AudioContext")
    page.goto("/judge/demo")
    expect(page.locator("#trouble")).to_contain_text("Web Audio is missing")
