"""Signing in and out in a real browser: links, ended tokens, signing out offline, and data left on a device."""

import json
import re
from itertools import cycle

import pytest

from audiosim.service.access.tokens import TokenStore

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

PEOPLE = {"Olga": "organiser", "Ivy": "assessor", "Ann": "assessor", "Robot": "client"}
NOTE = "the drummer is my brother"


@pytest.fixture(scope="module")
def tokens(demo, commanded, tmp_path_factory):
    """A server that needs tokens, and the tokens of some people, by name."""
    folder = tmp_path_factory.mktemp("signing")
    store = TokenStore(f"sqlite:///{folder / 'campaign.db'}")
    made = {name: store.create(name, role) for name, role in PEOPLE.items()}
    store.close()
    with commanded([demo], folder / "log", "--db", f"sqlite:///{folder / 'campaign.db'}", "--model", "mout") as running:
        yield running, made


@pytest.fixture
def live(tokens):
    """The server, for `browse`."""
    return tokens[0]


def who(page):
    return page.evaluate("fetch('/v1/session').then(answer => answer.json()).then(one => one.name)")


def begin(page):
    page.locator("#screen-start:not([hidden])").wait_for()
    page.click("#skip-training" if page.locator("#skip-training").is_visible() else "#start")
    page.locator("#screen-desk:not([hidden])").wait_for()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


# Everything that a page may store on a device, as one text.
KEPT = """async () => {
  const answer = (request) => new Promise((done) => { request.onsuccess = () => done(request.result); });
  const kept = [JSON.stringify(localStorage), JSON.stringify(sessionStorage)];
  for (const { name, version } of await indexedDB.databases()) {
    kept.push(name);
    const database = await answer(indexedDB.open(name, version));
    for (const store of database.objectStoreNames) {
      const all = database.transaction(store).objectStore(store);
      kept.push(JSON.stringify([await answer(all.getAll()), await answer(all.getAllKeys())]));
    }
    database.close();
  }
  return kept.join("\\n");
}"""


@pytest.mark.parametrize("path", ["/", "/organise/demo"])
def test_signing_out_without_a_network_is_said_and_works_later(browse, tokens, watch, path):
    watch.expected += ["ERR_INTERNET_DISCONNECTED", "401 (Unauthorized)"]
    page = browse(f"{path}#token={tokens[1]['Olga']}")
    page.locator("#leave").wait_for()
    page.context.set_offline(True)
    page.click("#leave")
    expect(page.locator("#trouble")).to_have_text(re.compile("^You are still signed in: the service cannot be reached"))
    page.context.set_offline(False)
    assert who(page) == "Olga"
    page.click("#leave")
    page.locator("#token").wait_for()
    assert page.context.cookies() == []
    assert who(page) is None


@pytest.mark.parametrize("where", ["the judging page", "the start page"])
def test_after_signing_out_a_device_keeps_nothing_of_a_person(browse, tokens, watch, where):
    watch.expected.append("401 (Unauthorized)")
    page = browse(f"/judge/demo?listen=0#token={tokens[1]['Ann']}")
    begin(page)
    page.locator("#form details summary").first.click()
    page.locator("#form textarea").first.fill(NOTE)
    page.wait_for_function(f"async (note) => (await ({KEPT})()).includes(note)", arg=NOTE)
    page.goto("/" if where == "the start page" else page.url)
    page.locator("#leave").click()
    page.locator("#token").wait_for()
    kept = page.evaluate(KEPT)
    assert [one for one in (NOTE, "Ann", "audiosim judging", "query", "d0") if one in kept] == []


def test_answers_that_are_still_to_be_sent_outlast_signing_out(browse, tokens, watch):
    watch.expected += ["409 (Conflict)", "401 (Unauthorized)"]
    running, made = tokens
    page = browse(f"/judge/demo?listen=0#token={made['Ivy']}")
    begin(page)
    with running.client() as http:
        http.headers["Authorization"] = f"Bearer {made['Olga']}"
        assert http.post("/v1/collections/demo/pause", json={}).is_success
        try:
            page.keyboard.press("0")
            page.keyboard.press("ArrowRight")
            for key in cycle("cq"):  # both clips must be played
                if page.get_attribute("#save", "aria-disabled") == "false":
                    break
                page.keyboard.press(key)
                page.wait_for_timeout(200)
            page.keyboard.press("Enter")
            expect(page.locator("#state")).to_have_text("On hold: 1 waiting")
            page.goto("/")
            page.click("#leave")
            page.locator("#token").wait_for()
        finally:
            assert http.post("/v1/collections/demo/resume", json={}).is_success
        page.goto(f"/judge/demo?listen=0#token={made['Ivy']}")
        page.locator("#screen-start:not([hidden])").wait_for()
        expect(page.locator("#state")).to_have_text("Saved")
        answers = http.get("/v1/collections/demo/answers", params={"assessor": "Ivy"}).json()["answers"]
    assert [one["broad"] for one in answers] == [0]


def test_an_invitation_replaces_nobody_who_is_signed_in_without_asking(browse, tokens):
    page = browse(f"/#token={tokens[1]['Olga']}")
    page.locator("#leave").wait_for()
    link = f"/judge/demo#token={tokens[1]['Ann']}"
    other = browse(link, context=page.context)
    expect(other.locator("#replacing")).to_contain_text(
        "You are signed in as Olga (organiser). This link is an invitation for Ann (assessor)."
    )
    other.click("#replacing >> text=Stay Olga")
    other.locator("#name").wait_for()
    assert who(page) == "Olga"
    again = browse(link, context=page.context)
    again.click("#replacing >> text=Sign in as Ann")
    again.locator("#screen-start:not([hidden])").wait_for()
    assert who(page) == "Ann"
    once_more = browse(link, context=page.context)  # their own link, in their own browser
    once_more.locator("#screen-start:not([hidden])").wait_for()
    assert once_more.locator("#replacing").count() == 0


def test_an_ended_token_is_said_beside_the_form_for_another(browse, tokens, watch):
    watch.expected.append("401 (Unauthorized)")
    page = browse("/#token=audiosim_ended")
    expect(page.locator("#entrance-trouble")).to_have_text("this token is unknown, or has ended.")
    page.fill("#token", tokens[1]["Olga"])
    page.keyboard.press("Enter")
    expect(page.locator("#who")).to_have_text("Olga, organiser")


def test_a_token_for_programs_is_told_that_it_cannot_judge(browse, tokens, watch):
    watch.expected.append("403 (Forbidden)")
    page = browse(f"/judge/demo?listen=0#token={tokens[1]['Robot']}")
    expect(page.locator("#token-wrong")).to_contain_text("You are signed in as Robot, with a token for programs")
    page.fill("#token", tokens[1]["Ann"])
    page.keyboard.press("Enter")
    page.locator("#screen-start:not([hidden])").wait_for()
    assert who(page) == "Ann"


@pytest.mark.parametrize(
    ("path", "module"), [("/judge/demo", "desk.js"), ("/organise/demo", "chart.js"), ("/", "api.js")]
)
def test_a_module_that_does_not_load_is_said(browse, tokens, watch, path, module):
    watch.expected += ["ERR_FAILED", "401"]
    page = browse()
    page.route(f"**/{module}", lambda route: route.abort())
    page.goto(path)
    expect(page.locator("#unloaded")).to_contain_text("Part of this page did not load. Check your connection.")
    page.unroute(f"**/{module}")
    page.click("#unloaded button")
    page.locator("#token").wait_for()
    assert page.locator("#unloaded").count() == 0


def test_without_a_store_nothing_is_judged_and_the_page_says_why(browse, tokens):
    page = browse(alone=True)
    page.add_init_script("Object.defineProperty(globalThis, 'indexedDB', { value: undefined })")
    page.goto(f"/judge/demo#token={tokens[1]['Ann']}")
    expect(page.locator("#trouble")).to_contain_text("This browser does not let the page save answers on this device.")
    assert "kept" not in json.dumps(page.inner_text("main"))
