"""The judging page in a real browser, with a live server: an assessor's actions, and the resulting log."""

import csv
import io
import json
import re
import time
from itertools import count, pairwise

import pytest

from .conftest import PLAIN, copy_demo

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

QUICK = "listen=0.1"  # seconds to listen to each clip
SHORT = f"{QUICK}&batch=4"  # so that no more than the clips of four pairs are fetched
MOVING = {"reduced_motion": "no-preference"}
OFFLINE = "ERR_INTERNET_DISCONNECTED"
CAMPAIGNS = 40  # at least one for each test
NUMBERS = count()
SCALES = {'"broad"': "broad", '"binary"': "binary", "[0, 2, 5, 10]": "own"}  # and the collections that have them


@pytest.fixture(scope="module")
def live(demo, commanded, tmp_path_factory):
    """One server for all tests, with a copy of the demo collection for each of them, and one for each other scale."""
    root = tmp_path_factory.mktemp("judge")
    folders = [root / f"demo-{number}" for number in range(CAMPAIGNS)] + [root / name for name in SCALES.values()]
    for folder in folders:
        copy_demo(demo, folder, queries=4)
    settings = (demo / "collection.toml").read_text(encoding="utf-8")
    for scale, name in SCALES.items():
        (root / name / "task.toml").unlink()
        (root / name / "collection.toml").write_text(settings.replace('"fine"', scale), encoding="utf-8")
    (root / "own" / "task.toml").write_text('question = "How well do they go together?"', encoding="utf-8")
    (root / "own" / "campaign.toml").write_text("listen = 0.1", encoding="utf-8")
    options = ("--db", f"sqlite:///{root / 'campaign.db'}")
    with commanded(folders, root / "log", *options, AUDIOSIM_LISTEN="0", AUDIOSIM_SOUNDS=str(demo)) as running:
        yield running


@pytest.fixture
def scale():
    """The scale of the test's collection, for tests to set."""
    return "fine"


@pytest.fixture
def collection(scale):
    """Identifier of a collection that no other test judges."""
    return SCALES.get(scale) or f"demo-{next(NUMBERS)}"


def enter_name(page, name, screen="start"):
    page.locator("#name:focus").wait_for()
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    page.locator(f"#screen-{screen}:not([hidden])").wait_for()


def enter(page, name, training=False):
    """From the first screen to the first pair, by keyboard."""
    enter_name(page, name)
    begin(page, training)


def begin(page, training=False):
    page.locator("#screen-start:not([hidden])").wait_for()
    skip = page.locator("#skip-training").is_visible()
    for _ in range(2 if skip and not training else 1):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    wait_for_pair(page)


def wait_for_pair(page):
    page.locator("#screen-desk:not([hidden])").wait_for()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


def wait_for(page, asked, about=None):
    """Wait until an asynchronous function of the page returns something true."""
    again = "new Promise((done) => setTimeout(done, 20))"
    page.wait_for_function(
        f"async (about) => {{ while (!(await ({asked})(about))) await {again}; return true; }}", arg=about
    )


# Seconds for which a clip was played, as counted by the page; an output that cannot keep up counts less.
HEARD = """async ([side, seconds]) => {
  const { player } = await import(document.querySelector("script[type=module]").src);
  return player.count()[side] >= seconds;
}"""


def hear(page, side, seconds=0.1):
    wait_for(page, HEARD, [side, seconds])


def hear_both(page, seconds=0.1):
    """Listen until only the grades are missing for Enter."""
    wait_for_pair(page)
    for side, key in enumerate("qc"):
        page.keyboard.press(key)
        hear(page, side, seconds)


# Ann's work as stored by the page in the browser's database.
KEPT = """(name, ask) => new Promise((done) => {
  const whose = JSON.stringify([location.pathname.split("/").at(-1), "Ann"]);
  indexedDB.open(`audiosim judging ${whose}`).onsuccess = ({ target: { result: database } }) => {
    const asked = ask(database.transaction(name).objectStore(name));
    asked.onsuccess = () => { done(asked.result); database.close(); };
  };
})"""
# True once the clips of all of Ann's pairs have arrived.
FETCHED = f"""async () => {{
  const arrived = performance.getEntriesByType("resource").filter((entry) => entry.responseStatus === 200);
  const addresses = new Set(arrived.map((entry) => entry.name.replace(location.origin, "")));
  const clips = await ({KEPT})("clips", (store) => store.getAll());
  return clips.every(({{ sound, peaks }}) => addresses.has(sound) && addresses.has(peaks));
}}"""
# Milliseconds between the device's clock and the service's as the page knows it, after an answer that a cache may keep.
CLOCKS_APART = """async () => {
  const { get, serverNow } = await import(new URL("../api.js", document.querySelector("script[type=module]").src));
  await get("/v1/kept");
  return Math.abs(Date.now() - Number(serverNow()));
}"""
# True if the draft of a grade has this note.
DRAFTED = f"""async (note) => {{
  const drafts = await ({KEPT})("kept", (store) => store.get("drafts"));
  return Object.values(drafts ?? {{}}).some((draft) => draft.answers.note === note);
}}"""


def go_offline(page):
    """Go offline once all clips have arrived, which judging needs; wait until nothing gets through."""
    wait_for_pair(page)
    wait_for(page, FETCHED)
    page.context.set_offline(True)
    wait_for(page, "() => fetch('/health/live', { cache: 'no-store' }).then(() => false, () => true)")


def grade(page, broad, steps=0):
    """Give a broad grade, then the fine one: the slider's start for it, plus `steps` points."""
    page.keyboard.press(str(broad))
    page.keyboard.press("ArrowRight")
    for size, ahead, back in ((10, "ArrowUp", "ArrowDown"), (1, "ArrowRight", "ArrowLeft")):
        for _ in range(abs(steps) // size):
            page.keyboard.press(ahead if steps > 0 else back)
        steps -= abs(steps) // size * size * (1 if steps > 0 else -1)


def save(page):
    """Press Enter, and wait until the next item is shown."""
    before = page.inner_text("#where")
    page.locator("#save[aria-disabled=false]").wait_for()
    page.keyboard.press("Enter")
    expect(page.locator("#screen-desk:not([hidden]) #where").filter(has_text=before)).to_have_count(0)


def judge(page, broad, steps=0):
    hear_both(page)
    grade(page, broad, steps)
    save(page)


def saved(page):
    expect(page.locator("#state")).to_have_text("Saved")


def answers(http, collection, assessor):
    found = http.get(f"/v1/collections/{collection}/answers", params={"assessor": assessor})
    return found.json()["answers"]


def answers_by(server, token):
    with server.client() as client:
        return client.get("/v1/collections/demo/answers", headers={"Authorization": f"Bearer {token}"}).json()


def starts(broad):
    """Start of the slider: the middle of a third."""
    return [17, 50, 83][broad]


def waves(page):
    """The current clips, identified by their waveforms because the page shows no names."""
    wait_for_pair(page)
    return page.evaluate("['query', 'candidate'].map((side) => document.querySelector(`#wave-${side}`).toDataURL())")


def open_answers(page):
    page.click("#open-answers")
    page.locator("#answers[open]").wait_for()


def test_a_person_who_got_part_of_a_batch_is_offered_the_rest(browse, collection, http):
    for place, wanted in enumerate([10, 10, 10, 10, 6]):  # at most 49 of the 98 pairs for an address
        body = {"assessor": f"bob{place}", "count": wanted}
        assert len(http.post(f"/v1/collections/{collection}/next", json=body).json()["pairs"]) == wanted
    page = browse(f"/judge/{collection}?{QUICK}&batch=5")
    enter(page, "Ann")
    expect(page.locator("#where")).to_have_text("Pair 1 of 5")
    for _ in range(3):
        judge(page, 1)
    expect(page.locator("#where")).to_have_text("Pair 4 of 5")


def test_ten_pairs_judged_by_keyboard_alone_are_what_the_log_holds(browse, collection, http):
    page = browse(f"/judge/{collection}?{QUICK}&batch=10")
    begun = time.monotonic()
    enter(page, "Ann")
    said = [(place % 3, (7 * place) % 11 - 5) for place in range(10)]
    looks = []
    page.on("request", lambda request: "/answers?" in request.url and looks.append(request.url))
    for broad, steps in said[:-1]:
        judge(page, broad, steps)
    expect(page.locator("#announcer")).to_have_text("Saved. 1 left in this batch.")
    page.evaluate("document.querySelector('#announcer').textContent = ''")
    judge(page, *said[-1])
    page.locator("#screen-batch:not([hidden])").wait_for()
    saved(page)
    expect(page.locator("#announcer")).to_be_empty()  # the screen's heading is read, and nothing beside it
    assert len(looks) <= (time.monotonic() - begun) / 30 + 1  # not after each answer, as there is no other device
    found = answers(http, collection, "Ann")
    assert [(one["broad"], one["fine"]) for one in found] == [(broad, starts(broad) + steps) for broad, steps in said]
    assert len({(one["query"], one["document"]) for one in found}) == 10
    assert len({one["key"] for one in found}) == 10
    details = [one["details"] for one in found]
    for details_of in details:
        assert min(details_of["query_played_s"], details_of["document_played_s"]) >= 0.1
        assert details_of["played_s"] == pytest.approx(
            details_of["query_played_s"] + details_of["document_played_s"], abs=0.011
        )
    # The output has its own clock, which may lag and catch up; this evens out over all pairs.
    seconds = sum(details_of["seconds"] for details_of in details)
    assert sum(details_of["played_s"] for details_of in details) - 1 < seconds < time.monotonic() - begun
    # Candidates of the same query stay together.
    queries = [one["query"] for one in found]
    assert len([1 for one, other in pairwise(queries) if one != other]) == len(set(queries)) - 1


def test_answers_given_while_the_network_is_away_arrive_when_it_is_back(browse, collection, http, watch):
    watch.expected.append(OFFLINE)
    page = browse(f"/judge/{collection}?{QUICK}&batch=8")
    enter(page, "Ann")
    for _ in range(3):
        judge(page, 1)
    saved(page)
    go_offline(page)
    for _ in range(3):
        judge(page, 2)
    expect(page.locator("#state")).to_have_text("Offline: 3 waiting")
    assert len(answers(http, collection, "Ann")) == 3
    page.keyboard.press("z")  # an answer taken back offline is never counted
    expect(page.locator("#where")).to_have_text(re.compile("^Changing your last answer"))
    wait_for_pair(page)
    page.keyboard.press("1")
    save(page)
    page.context.set_offline(False)
    saved(page)
    judge(page, 0)
    saved(page)
    given = [(one["broad"], one["fine"]) for one in answers(http, collection, "Ann")]
    assert given == [(1, 50), (1, 50), (1, 50), (2, 83), (2, 83), (1, 83), (0, 17)]


def test_a_page_that_was_closed_offline_loses_nothing_and_resumes(browse, collection, http, watch):
    watch.expected.append(OFFLINE)
    address = f"/judge/{collection}?{QUICK}&batch=6"
    page = browse(address)
    enter(page, "Ann")
    judge(page, 1)
    saved(page)
    go_offline(page)
    judge(page, 2)
    assert len(answers(http, collection, "Ann")) == 1
    context = page.context
    page.close()
    context.set_offline(False)
    page = browse(address, context=context)
    begin(page)
    assert page.inner_text("#where") == "Pair 3 of 6"
    saved(page)
    assert [one["broad"] for one in answers(http, collection, "Ann")] == [1, 2]


def test_another_device_goes_on_with_the_same_pair_and_revises_an_answer_that_it_hears_again(browse, collection, http):
    one = browse(f"/judge/{collection}?{SHORT}")
    enter(one, "Ann")
    first = waves(one)
    judge(one, 0)
    saved(one)
    other = browse(f"/judge/{collection}?{SHORT}")
    enter(other, "Ann")
    shown = [waves(page) for page in (one, other)]
    assert shown[0] == shown[1] != first
    assert other.inner_text("#where") == "Pair 2 of 4"
    open_answers(other)
    other.click("[aria-label='Revise the answer to pair 1']")
    expect(other.locator("#where")).to_have_text(re.compile("^Revising"))
    wait_for_pair(other)
    assert waves(other) == first
    other.keyboard.press("2")
    save(other)
    saved(other)
    assert [answer["broad"] for answer in answers(http, collection, "Ann")] == [0, 2]


def test_two_devices_open_at_once_ask_nothing_twice_and_say_what_was_answered_on_the_other(browse, collection, http):
    one, other = (browse(f"/judge/{collection}?{SHORT}") for _ in range(2))
    for page in (one, other):
        enter(page, "Ann")
    first = waves(one)
    assert waves(other) == first
    judge(one, 0)
    saved(one)
    other.evaluate("dispatchEvent(new Event('focus'))")  # as a click on a window that was behind another
    expect(other.locator("#notice")).to_have_text(re.compile("^You answered this on another device meanwhile"))
    wait_for_pair(other)
    expect(other.locator("#where")).to_have_text("Pair 2 of 4")
    second = waves(other)
    assert second == waves(one) != first
    judge(one, 0)  # the other page was in front all the time, so it still asks
    saved(one)
    judge(other, 2)
    expect(other.locator("#notice")).to_have_text(
        re.compile("^An answer given here replaces the one that you gave on another device")
    )
    expect(other.locator("#where")).to_have_text("Pair 3 of 4")
    judge(other, 1)
    expect(other.locator("#notice")).to_be_hidden()
    saved(other)
    assert [answer["broad"] for answer in answers(http, collection, "Ann")] == [0, 0, 2, 1]
    open_answers(other)
    said = other.locator("#answers-rows tr td:nth-child(-n+2)").all_inner_texts()
    assert said == ["3", "Somewhat similar, 50 of 100", "2", "Very similar, 83 of 100", "1", "Not similar, 17 of 100"]
    other.click("[aria-label='Revise the answer to pair 1']")
    judge(other, 2)
    open_answers(other)
    said = other.locator("#answers-rows tr td:nth-child(-n+2)").all_inner_texts()
    assert said[-2:] == ["1", "Very similar, 18 of 100"]  # the revised pair keeps its number


def test_a_grade_that_was_begun_is_still_there_after_a_reload(browse, collection):
    page = browse(f"/judge/{collection}?{SHORT}")
    enter(page, "Ann")
    hear_both(page)
    grade(page, 1, 3)
    page.click("#form summary")
    page.locator("#answer-note:focus").wait_for()  # letters are no shortcuts there
    page.keyboard.type("a draft")
    wait_for(page, DRAFTED, "a draft")
    page.reload()
    begin(page)
    assert page.inner_text("#answer-fine-value") == "53"
    assert page.input_value("#answer-note") == "a draft"
    page.locator("#save[aria-disabled=false]").wait_for()
    old = {"Date": "Sun, 01 Mar 2026 12:00:00 GMT", "Cache-Control": "private, max-age=3600"}
    page.route("**/v1/kept", lambda route: route.fulfill(json={}, headers=old))
    assert page.evaluate(CLOCKS_APART) < 1000


def test_two_assessors_at_once_never_get_the_same_pair(browse, collection, http):
    pages = {name: browse(f"/judge/{collection}?{QUICK}&batch=4") for name in ("Ann", "Bob")}
    for name, page in pages.items():
        enter(page, name)
    for _ in range(4):
        for page in pages.values():
            judge(page, 1)
    for page in pages.values():
        saved(page)
    pairs = {name: {(one["query"], one["document"]) for one in answers(http, collection, name)} for name in pages}
    assert [len(own) for own in pairs.values()] == [4, 4]
    assert not pairs["Ann"] & pairs["Bob"]


def test_z_takes_the_last_answer_back_and_shows_its_pair_again(browse, collection, http):
    page = browse(f"/judge/{collection}?{SHORT}")
    enter(page, "Ann")
    judge(page, 0)
    shown = waves(page)
    judge(page, 2, 4)
    saved(page)
    page.keyboard.press("z")
    expect(page.locator("#where")).to_have_text(re.compile("^Changing your last answer"))
    wait_for_pair(page)
    saved(page)
    assert [one["broad"] for one in answers(http, collection, "Ann")] == [0]
    assert waves(page) == shown
    assert page.inner_text("#answer-fine-value") == "87"
    page.keyboard.press("1")
    save(page)
    saved(page)
    assert [(one["broad"], one["fine"]) for one in answers(http, collection, "Ann")] == [(0, 17), (1, 87)]


def test_after_a_revision_and_after_its_undoing_the_assessor_returns_to_their_pair(browse, collection, http):
    page = browse(f"/judge/{collection}?{QUICK}&batch=3")
    enter(page, "Ann")
    judge(page, 0)
    judge(page, 1)
    shown = waves(page)
    for reload in (False, True):  # the second revision is undone by another page
        open_answers(page)
        assert page.locator("#answers-rows tr").all_inner_texts()[1].split("\t")[1] == "Not similar, 17 of 100"
        page.click("[aria-label='Revise the answer to pair 1']")
        expect(page.locator("#where")).to_have_text(re.compile("^Revising"))
        wait_for_pair(page)
        page.keyboard.press("2")
        save(page)
        saved(page)
        wait_for_pair(page)
        assert page.inner_text("#where") == "Pair 3 of 3"
        assert waves(page) == shown
        latest = {(one["query"], one["document"]): one["broad"] for one in answers(http, collection, "Ann")}
        assert sorted(latest.values()) == [1, 2]
        if reload:
            page.reload()
            begin(page)
        page.keyboard.press("z")
        expect(page.locator("#announcer")).to_have_text("Last answer undone.")
        wait_for_pair(page)
        saved(page)
        assert page.inner_text("#where") == "Pair 3 of 3"
        assert waves(page) == shown
        assert [one["broad"] for one in answers(http, collection, "Ann")] == [0, 1]
    judge(page, 1)
    expect(page.locator("#batch-title")).to_have_text("Batch done")
    saved(page)
    said = [(one["query"], one["document"]) for one in answers(http, collection, "Ann")]
    assert len(said) == len(set(said)) == 3  # the pair of the undone revision is not asked again
    handed = http.post(f"/v1/collections/{collection}/next", json={"assessor": "Ann", "count": 5}).json()["pairs"]
    assert not {(one["query"], one["document"]) for one in handed} & set(said)


def test_what_cannot_be_judged_contradicts_itself_or_is_refused_is_said_and_kept(browse, collection, http, watch):
    watch.expected.append("422 (Unprocessable Entity)")
    page = browse(f"/judge/{collection}?{SHORT}&ask=both")
    enter(page, "Ann")
    page.click("#open-cannot")
    page.click("#reason-1")
    page.fill("#reason-text", "only noise")
    page.click("#cannot-form button.primary")
    expect(page.locator("#where")).to_have_text("Pair 2 of 4")
    saved(page)
    (answer,) = answers(http, collection, "Ann")
    assert (answer["kind"], answer["details"]["reason"]) == ("cannot", "a clip is broken or silent: only noise")

    hear_both(page)
    grade(page, 0)
    assert not page.locator("#warning").is_visible()
    for _ in range(6):
        page.keyboard.press("ArrowUp")
    assert page.locator("#warning").is_visible()
    save(page)
    saved(page)
    _, answer = answers(http, collection, "Ann")
    given = {name: answer[name] for name in ("fine", "broad", "grade") if name in answer}
    assert given == {"broad": 0, "fine": 77}  # both grades, as the organiser asked

    # Like a page of another version, it sends a grade off the scale.
    page.route(
        "**/judgments",
        lambda route: route.continue_(post_data=route.request.post_data.replace('"fine":17', '"fine":17.5')),
    )
    judge(page, 0)
    expect(page.locator("#state")).to_have_text("Saved, 1 rejected: see My answers")
    open_answers(page)
    assert "grade 17.5 is not on the fine scale" in page.inner_text("#refused")
    page.unroute("**/judgments")
    page.click("#refused >> text=Send again")
    saved(page)
    assert [one["fine"] for one in answers(http, collection, "Ann")[1:]] == [77, 17]


def test_nothing_is_saved_until_both_clips_were_heard_and_everything_is_answered(browse, collection, http):
    page = browse(f"/judge/{collection}?listen=1&batch=4")
    enter(page, "Ann")
    page.keyboard.press("Enter")
    assert "hear the candidate for 1 s more, choose a button, set the slider" in page.inner_text("#missing")
    grade(page, 1)
    expect(page.locator("#missing")).to_have_text(re.compile("hear the candidate for 1 s more$", re.IGNORECASE))
    hear(page, 0, 1)
    expect(page.locator("#missing")).to_have_text("Hear the candidate for 1 s more")
    page.keyboard.press("Enter")
    assert page.inner_text("#missing") == "Hear the candidate for 1 s more"
    assert page.inner_text("#where") == "Pair 1 of 4"
    page.keyboard.press("c")
    hear(page, 1, 1)
    save(page)
    saved(page)
    assert len(answers(http, collection, "Ann")) == 1


def test_the_organiser_may_ask_for_one_grade_of_two_and_no_page_names_systems_scores_or_clips(browse, collection, http):
    page = browse(f"/judge/{collection}?{SHORT}&ask=fine")
    enter(page, "Ann")
    judge(page, 1)
    saved(page)
    (answer,) = answers(http, collection, "Ann")
    assert {name for name in ("fine", "broad", "grade") if name in answer} == {"fine"}
    open_answers(page)
    described = http.get(f"/v1/collections/{collection}").json()
    text = page.evaluate("document.documentElement.outerHTML").lower()
    pair = [answer["query"], answer["document"]]
    for secret in [*described["systems"], described["measure"], "ranking", "confidence", *map(json.dumps, pair)]:
        assert secret.lower().strip('"') not in text, secret


QUESTION = """
[[question]]
name = "mood"
kind = "choice"
text = "Which mood is it?"
levels = ["calm", "wild", "sad"]
required = true
"""


@pytest.fixture
def asked(demo, commanded, tmp_path):
    """A server with a further question by the organiser."""
    (tmp_path / "questions.toml").write_text(QUESTION, encoding="utf-8")
    settings = {"AUDIOSIM_QUESTIONS": str(tmp_path / "questions.toml"), "AUDIOSIM_LISTEN": "0"}
    with commanded([demo], tmp_path / "asked", *PLAIN, **settings) as running:
        yield running


def test_a_question_that_is_one_entry_is_asked_checked_kept_and_exported(asked, browse, watch):
    watch.expected.append("422 (Unprocessable")
    page = browse(f"/judge/demo?{QUICK}&ask=fien&speed=2&batch=x")
    enter_name(page, "Ann")
    said = page.inner_text("#settings-wrong")
    for wrong in ("unknown setting ask='fien', expected fine, broad, both", "unknown setting speed", "batch must be a"):
        assert wrong in said
    begin(page)
    hear_both(page)
    slider = page.locator("#answer-fine")
    unset = slider.screenshot()
    page.keyboard.press("0")
    assert slider.screenshot() == unset  # the thumb's start cannot be seen
    page.keyboard.press("ArrowRight")
    assert slider.screenshot() != unset
    page.keyboard.press("Enter")
    assert page.inner_text("#missing") == "Choose a button (Which mood is it?)"
    page.get_by_role("group", name="Which mood is it?").get_by_label("wild").check()
    save(page)
    saved(page)
    open_answers(page)
    assert page.locator("#answers-rows tr").all_inner_texts()[0].split("\t")[1] == "Not similar, 17 of 100, wild"
    with asked.client() as http:
        (answer,) = answers(http, "demo", "Ann")
        assert answer["details"]["mood"] == "wild"
        pair = {name: answer[name] for name in ("query", "document")}
        refused = http.post("/v1/collections/demo/judgments", json=pair | {"assessor": "Ann", "fine": 1})
        assert (refused.status_code, refused.json()["detail"]) == (422, "expected an answer to mood: Which mood is it?")
        (row,) = csv.DictReader(io.StringIO(http.get("/v1/collections/demo/judgments?format=answers").text))
        assert (row["assessor"], row["fine"], row["broad"], row["mood"]) == ("Ann", "17", "0", "wild")


@pytest.mark.parametrize(
    ("scale", "key", "field", "given"),
    [('"broad"', "2", "broad", 2), ('"binary"', "1", "grade", 1), ("[0, 2, 5, 10]", "2", "grade", 5)],
)
def test_every_scale_is_asked_in_its_own_way(browse, collection, http, scale, key, field, given):
    page = browse(f"/judge/{collection}?{SHORT}")
    enter(page, "Ann")
    hear_both(page)
    assert page.locator("input[type=range]").count() == 0
    page.keyboard.press(key)
    save(page)
    saved(page)
    (answer,) = answers(http, collection, "Ann")
    assert {name: answer[name] for name in ("fine", "broad", "grade") if name in answer} == {field: given}


def test_a_newcomer_without_training_does_not_continue_and_is_told_of_a_listening_time_that_is_too_short(browse, live):
    page = browse("/judge/own?listen=0.05&batch=4")
    enter_name(page, "Zoe")
    expect(page.locator("#start-text")).to_have_text("You will hear 4 pairs of clips and judge them.")
    expect(page.locator("#settings-wrong")).to_contain_text("listen must be at least 0.1 here, got “0.05”")
    begin(page)
    judge_one = page.locator("#save[aria-disabled=false]")
    hear_both(page)
    page.keyboard.press("1")
    judge_one.wait_for()
    page.keyboard.press("Enter")
    expect(page.locator("#where")).to_have_text("Pair 2 of 4")
    saved(page)
    page.reload()
    expect(page.locator("#start-text")).to_have_text("3 pairs are left in this batch. You continue where you stopped.")


def test_training_comes_first_tells_what_is_known_and_leaves_no_trace(browse, collection, http):
    page = browse(f"/judge/{collection}?{SHORT}")
    enter(page, "Ann", training=True)
    details_of = []
    for place in range(3):
        assert page.inner_text("#where") == f"Training {place + 1} of 3"
        wait_for_pair(page)
        hear_both(page)
        grade(page, [2, 0, 2][place], [17, 0, 0][place])
        page.locator("#save[aria-disabled=false]").wait_for()
        page.keyboard.press("Enter")
        page.locator("#feedback").wait_for()
        details_of.append(page.inner_text("#feedback"))
        page.keyboard.press("Enter")
        page.locator("#feedback").wait_for(state="hidden")
    assert "the very same recording" in details_of[0]
    assert "there is no right answer" in details_of[1]
    assert "one recording again" in details_of[2]
    wait_for_pair(page)
    assert page.inner_text("#where") == "Pair 1 of 4"
    assert answers(http, collection, "Ann") == []


def test_a_break_is_suggested_when_its_time_has_come(browse, collection):
    page = browse(f"/judge/{collection}?{SHORT}&break=0.01")
    enter(page, "Ann")
    hear_both(page)
    grade(page, 1)
    page.wait_for_timeout(600)
    page.keyboard.press("Enter")
    page.locator("#rest[open]").wait_for()
    assert page.inner_text("#rest-text").startswith("Ears tire")  # not after a minute that has not passed
    page.keyboard.press("Enter")
    wait_for_pair(page)
    assert page.inner_text("#where") == "Pair 2 of 4"


def test_an_invitation_becomes_a_cookie_and_leaves_the_address(browse, invited):
    server, token = invited
    page = browse(f"/judge/demo?{SHORT}#token={token}")
    begin(page)
    assert page.evaluate("location.href") == f"{server.url}/judge/demo?{SHORT}"
    assert page.evaluate("document.cookie") == ""
    (cookie,) = page.context.cookies()
    assert (cookie["value"], cookie["httpOnly"], cookie["sameSite"]) == (token, True, "Strict")
    judge(page, 1)
    saved(page)
    page.reload()
    begin(page)
    assert page.inner_text("#where") == "Pair 2 of 4"
    found = answers_by(server, token)
    assert (found["assessor"], [one["broad"] for one in found["answers"]]) == ("Ann", [1])


def test_where_there_are_no_tokens_an_invitation_is_a_name_that_leaves_the_address(browse, collection, live, http):
    page = browse(f"/judge/{collection}?{SHORT}#name=Zo%C3%AB%20%26%20co")
    begin(page)
    assert page.evaluate("location.href") == f"{live.url}/judge/{collection}?{SHORT}"
    judge(page, 1)
    saved(page)
    assert [answer["broad"] for answer in answers(http, collection, "Zoë & co")] == [1]
    page.reload()
    page.locator("#screen-start:not([hidden])").wait_for()
    assert page.inner_text("#leave") == "Not Zoë & co?"


def test_a_missing_token_is_asked_for_a_wrong_one_named_and_none_that_ends_midway_loses_an_answer(
    browse, invited, watch, audit
):
    watch.expected.append("401 (Unauthorized)")
    server, token = invited
    page = browse(f"/judge/demo?{SHORT}")
    page.locator("#token:focus").wait_for()
    assert audit(page) == []
    page.keyboard.type("guess")
    page.keyboard.press("Enter")
    expect(page.locator("#token-wrong")).to_have_text("That did not work: this token is unknown, or has ended.")
    page.fill("#token", token)
    page.keyboard.press("Enter")
    begin(page)
    judge(page, 0)
    saved(page)
    wait_for_pair(page)
    page.context.clear_cookies()
    judge(page, 2)
    page.locator("#screen-token:not([hidden])").wait_for()
    expect(page.locator("#state")).to_have_text("Signed out: 1 waiting")
    page.fill("#token", token)
    page.keyboard.press("Enter")
    saved(page)
    wait_for_pair(page)
    found = answers_by(server, token)
    assert [one["broad"] for one in found["answers"]] == [0, 2]


def test_a_paused_campaign_keeps_answers_until_it_goes_on(browse, collection, http, watch, audit):
    watch.expected.append("409 (Conflict)")
    page = browse(f"/judge/{collection}?{SHORT}")
    enter(page, "Ann")
    judge(page, 0)
    saved(page)
    assert http.post(f"/v1/collections/{collection}/pause", json={"reason": "lunch"}).status_code == 201
    look = "dispatchEvent(new Event('focus'))"  # as every half a minute
    page.evaluate(look)
    expect(page.locator("#hold")).to_contain_text(": “lunch”. Your answers are safe")  # before the next answer
    for action, shown in (("resume", expect(page.locator("#hold")).to_be_hidden), ("pause", lambda: None)):
        assert http.post(f"/v1/collections/{collection}/{action}", json={"reason": "lunch"}).status_code == 201
        page.evaluate(look)
        shown()
    judge(page, 1)
    expect(page.locator("#state")).to_have_text("On hold: 1 waiting")
    expect(page.locator("#hold")).to_contain_text("The organiser paused this listening test at ")
    expect(page.locator("#hold")).to_contain_text(": “lunch”. Your answers are safe")
    other = browse(f"/judge/{collection}?{SHORT}")
    enter_name(other, "Ann", screen="held")
    assert "The organiser paused this listening test at " in other.inner_text("#held-who")
    assert other.inner_text("#held-safe") == "Your answer is safe."
    assert audit(other) == []
    assert http.post(f"/v1/collections/{collection}/resume", json={}).status_code == 201
    other.locator("#screen-start:not([hidden])").wait_for()  # by itself
    judge(page, 2)
    saved(page)
    expect(page.locator("#hold")).to_be_hidden()
    assert [one["broad"] for one in answers(http, collection, "Ann")] == [0, 1, 2]


# An analyser at the page's own output hears the query, the candidate after a switch, and nothing after a pause.
LISTEN = """async () => {
  const { player } = await import(document.querySelector("script[type=module]").src);
  const analyser = player.context.createAnalyser();
  player.output.connect(analyser);
  const loudest = () => {
    const samples = new Float32Array(analyser.fftSize);
    analyser.getFloatTimeDomainData(samples);
    return Math.max(...samples.map(Math.abs));
  };
  const until = async (holds) => {
    while (!holds()) await new Promise((done) => setTimeout(done, 20));
  };
  await until(() => loudest() > 0.01);
  document.querySelector("#hear-candidate").click();
  const switched = player.context.currentTime + 0.1;
  await until(() => player.context.currentTime > switched && loudest() > 0.01);
  player.pause();
  await until(() => loudest() === 0);
  return player.context.state;
}"""


def test_sound_really_plays_a_waveform_is_a_place_to_go_to_and_keys_are_shown_and_switched_off(browse, collection):
    page = browse(f"/judge/{collection}?{SHORT}", **MOVING)
    enter(page, "Ann")
    assert page.wait_for_function(LISTEN).json_value() == "running"

    page.keyboard.press("q")
    page.keyboard.press(" ")
    wait_for_pair(page)  # which plays again
    assert page.get_attribute("#hear-candidate", "aria-pressed") == "false"
    page.keyboard.press(" ")
    box = page.locator("#clips .wave.candidate").bounding_box()
    page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + box["height"] - 5)
    length, at = (float(page.get_attribute("#position", f"aria-value{name}")) for name in ("max", "now"))
    assert at == pytest.approx(length / 2, abs=0.1)
    assert page.get_attribute("#hear-candidate", "aria-pressed") == "true"
    page.keyboard.press("Shift+ArrowRight")
    assert float(page.get_attribute("#position", "aria-valuenow")) == pytest.approx(at + 1, abs=0.1)

    page.keyboard.press("q")
    page.keyboard.press("?")
    page.locator("#help[open]").wait_for()
    shown = page.inner_text("#keys")
    for key in ("Space", "Q", "C", "0", "1", "2", "L", "Enter", "Z", "?"):
        assert key in shown.split()
    page.uncheck("#single-keys")
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    page.keyboard.press("c")
    assert page.get_attribute("#hear-candidate", "aria-pressed") == "false"
    assert page.locator("input:checked[name=broad]").count() == 0


# Two clips of known samples, rendered by the page's own player on an offline context, and switched at 1 s. Each starts
# at a level and rises by a slope per second; one that starts at 0 has no known loudness.
RENDER = """async (clips) => {
  const base = document.querySelector("script[type=module]").src.replace("judge.js", "player.js");
  const { Player } = await import(base);
  const rate = 8000;
  const context = new OfflineAudioContext(1, 2 * rate, rate);
  context.resume = () => {};
  const clip = ([level, slope]) => {
    const buffer = new AudioBuffer({ length: 2 * rate, sampleRate: rate, numberOfChannels: 1 });
    buffer.copyToChannel(Float32Array.from({ length: 2 * rate }, (_, place) => level + (slope * place) / rate), 0);
    return { buffer, peak: Math.abs(level), loudness_db: level ? 20 * Math.log10(Math.abs(level)) : null };
  };
  const player = new Player(context);
  player.load(clips.map(clip));
  player.play();
  context.suspend(1).then(() => { player.listen(1); OfflineAudioContext.prototype.resume.call(context); });
  const made = await context.startRendering();
  return { samples: [...made.getChannelData(0)], rate };
}"""


def test_a_switch_fades_over_within_ten_milliseconds_at_equal_loudness_and_the_same_position(browse, collection):
    page = browse(f"/judge/{collection}", **MOVING)
    made = page.evaluate(RENDER, [[0.5, 0], [-0.125, 0]])
    samples, rate = made["samples"], made["rate"]
    target = 10 ** (-20 / 20)  # both clips are constants, so their root mean square is the target
    before, after = samples[int(0.5 * rate) : rate - 200], samples[rate + 200 :]
    assert before == pytest.approx([target] * len(before), abs=1e-4)
    assert after == pytest.approx([-target] * len(after), abs=1e-4)
    fading = [place for place, sample in enumerate(samples) if place > rate // 2 and abs(abs(sample) - target) > 1e-3]
    assert (fading[-1] - fading[0]) / rate < 0.0101
    steps = [abs(two - one) for one, two in pairwise(samples)]
    assert max(steps[rate // 2 :]) < 2 * target / (0.0095 * rate)

    made = page.evaluate(RENDER, [[0, 0.25], [0, -0.25]])
    samples, rate = made["samples"], made["rate"]
    heard_at_s = [4 * abs(sample) for sample in samples]  # each sample gives its position in the clip
    began_s = 0.5 - heard_at_s[rate // 2]
    assert 0 <= began_s <= 0.02
    after = range(rate + 200, 2 * rate)
    assert [samples[place] < 0 for place in after] == [True] * len(after)
    assert [heard_at_s[place] for place in after] == pytest.approx(
        [place / rate - began_s for place in after], abs=1e-4
    )


def test_nothing_is_wrong_with_any_screen_as_axe_sees_it(browse, collection, audit):
    page = browse(f"/judge/{collection}?{SHORT}")
    page.locator("#name:focus").wait_for()
    assert audit(page) == []
    page.keyboard.type("Ann")
    page.keyboard.press("Enter")
    page.locator("#screen-start:not([hidden])").wait_for()
    assert audit(page) == []
    page.click("#skip-training")
    wait_for_pair(page)
    hear_both(page)
    grade(page, 0, 50)
    assert page.locator("#warning").is_visible()
    assert audit(page) == []
    for opened in ("open-help", "open-cannot"):
        page.click(f"#{opened}")
        assert audit(page) == []
        page.keyboard.press("Escape")
    save(page)
    open_answers(page)
    assert audit(page) == []


def test_a_phone_shows_everything_in_its_width_and_takes_touches(browse, collection, http):
    page = browse(
        f"/judge/{collection}?{SHORT}", viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True
    )
    page.fill("#name", "Ann")
    page.tap("#name-form button")
    page.tap("#skip-training")
    wait_for_pair(page)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    targets = page.locator("button:visible, .choice label:visible, input[type=range]:visible").all()
    sizes = [target.bounding_box() for target in targets]
    assert min(min(size["width"], size["height"]) for size in sizes) >= 24
    hear(page, 0)
    page.tap("#hear-candidate")
    hear(page, 1)
    page.locator("#answer-fine").scroll_into_view_if_needed()
    box = page.locator("#answer-fine").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.touchscreen.tap(*middle)  # where the slider starts
    expect(page.locator("#answer-fine-value")).to_have_text("50")
    page.tap("#answer-broad-2")
    page.touchscreen.tap(box["x"] + 0.75 * box["width"], middle[1])
    page.locator("#save[aria-disabled=false]").wait_for()
    page.tap("#save")
    expect(page.locator("#where")).to_have_text("Pair 2 of 4")
    saved(page)
    (answer,) = answers(http, collection, "Ann")
    assert answer["broad"] == 2
    assert 70 <= answer["fine"] <= 80
    page.tap("#open-help")
    expect(page.locator("#help-title")).to_be_visible()
    assert page.locator(":is(kbd, .of-keys):visible").count() == 0  # a phone has no keys


def test_at_twice_the_text_size_nothing_is_cut_off(browse, collection):
    # A window 1280 wide at 200 % zoom is like one 640 wide (WCAG 1.4.4, 1.4.10).
    page = browse(f"/judge/{collection}?{SHORT}", viewport={"width": 640, "height": 450}, device_scale_factor=2)
    enter(page, "Ann")
    assert page.evaluate("document.documentElement.scrollWidth") == 640
    assert page.locator("#save").is_visible()


def test_who_gets_no_pairs_because_others_at_the_address_hold_them_is_told_at_once(browse, collection, http, watch):
    watch.expected.append("status of 429")
    for number in range(12):
        http.post(f"/v1/collections/{collection}/next", json={"assessor": f"n{number}", "count": 100})
    page = browse(f"/judge/{collection}?{SHORT}")
    page.fill("#name", "Ann")
    page.keyboard.press("Enter")
    expect(page.locator("body")).to_contain_text("assessors at this address hold half of the pairs")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()


def test_a_closed_campaign_says_so_before_it_asks_for_a_name_and_before_the_first_pair(browse, collection, http):
    http.post(f"/v1/collections/{collection}/close", json={"reason": "enough"})
    page = browse(f"/judge/{collection}")
    expect(page.locator("#held-title")).to_have_text("Judging has ended")
    expect(page.locator("#held-who")).to_contain_text(": “enough”")
    expect(page.locator("#name")).to_be_hidden()
    http.post(f"/v1/collections/{collection}/resume", json={})
    expect(page.locator("#name")).to_be_visible()
    enter_name(page, "Ann")
    http.post(f"/v1/collections/{collection}/close", json={})  # meanwhile
    page.locator("#skip-training").click()
    expect(page.locator("#held-title")).to_have_text("Judging has ended")
