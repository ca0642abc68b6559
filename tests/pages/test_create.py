"""The page that makes a collection, in a real browser: from folders of recordings to a campaign."""

import csv
import io
import runpy
import zipfile
from itertools import product
from pathlib import Path

import pytest

from .conftest import CALM

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect
TASK = """instructions = "Listen to both."
consent = "I agree to be counted."

[[before]]
name = "years"
kind = "choice"
text = "Years of lessons?"
levels = ["none", "some"]

[[after]]
name = "remarks"
kind = "text"
text = "How was it?"

[[training]]
query = "{query}"
document = "{document}"
grade = 2
text = "The same rhythm."
"""
# Free pixels in a select element with its longest option, beside the arrow.
ROOM = """(select) => {
  const whole = select.cloneNode(true);
  whole.style.cssText = "width: max-content; min-width: 0; max-width: none; position: absolute";
  select.parentNode.append(whole);
  const needed = whole.offsetWidth;
  whole.remove();
  return select.offsetWidth - needed;
}"""
# Whether goals want graded pairs, and the goals that differ in more than how a number is written.
GOALS = """async () => {
  const root = document.querySelector("script[type=module]").src.replace("organise/organise.js", "");
  const modules = ["text.js", "create/outcome.js"].map((one) => import(root + one));
  const [{ goalInWords, wantsGrades }, { differing }] = await Promise.all(modules);
  const wanting = ["confidence=0.95", "confidence(floor=50)=0.95", "every(floor=0.5)=0.9"];
  const without = ["confidence(floor=0)=0.95", "every( floor = 0 )=0.9", "confidence(people=2, floor=0.0)=0.9"];
  return [
    [...wanting, ...without].map(wantsGrades),
    differing(["confidence=0.9", "confidence(floor=0)=0.9", "every=0.95", "confidence = .9"]),
    ["confidence=0.95", "confidence(floor=0) = .9", "every(floor=30)=0.9", "judgments=200", "error=0.05"].map(
      goalInWords,
    ),
  ];
}"""
LONG_MS = 180_000  # limit for computations of the service on a busy machine
STRANGER = runpy.run_path(str(Path(__file__).resolve().parents[2] / "benchmarks" / "stranger.py"))
PROMPTS, SYSTEMS = STRANGER["PROMPTS"], tuple(STRANGER["SYSTEMS"])


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Twenty recordings in four folders: prompts, and the output of three systems."""
    root = tmp_path_factory.mktemp("recordings") / "music"
    STRANGER["write_sounds"](root)
    return root


@pytest.fixture
def asked(commanded, tmp_path):
    """A service of an empty folder."""
    home = tmp_path / "home"
    home.mkdir()
    with commanded([home], tmp_path / "log", AUDIOSIM_LISTEN="0") as running:
        yield running


def test_a_check_that_comes_late_does_not_allow_what_a_later_one_forbids(browse, asked, wait_until):
    with asked.client() as http:
        http.post("/v1/drafts", json={"name": "late"}).raise_for_status()
        runs = "".join(f"q1 Q0 d{rank} {rank} {-rank} {name}\n" for name in ("one", "two") for rank in (1, 2, 3))
        about = {"name": "runs.trec", "size": len(runs), "offset": 0}
        http.post("/v1/drafts/late/files", params=about, content=runs.encode()).raise_for_status()
    early = []
    page = browse()
    page.route("**/check", lambda asked: early.append((asked, asked.fetch())), times=1)
    page.goto("/create?draft=late")
    wait_until(lambda: page.title() and early)  # the title lets the page go on
    page.get_by_role("button", name="Remove runs.trec").click()
    expect(page.locator("#check-said")).to_contain_text("This cannot be created yet: ")
    for asked_early, answer in early:
        assert answer.json()["error"] in ("", None)
        asked_early.fulfill(response=answer)
    page.wait_for_timeout(200)
    expect(page.locator("#check-said")).to_contain_text("This cannot be created yet: ", timeout=1)
    expect(page.locator("#create")).to_be_disabled(timeout=1)


def test_a_new_campaign_with_judged_pairs_in_its_files_is_not_open_yet(browse, asked):
    places = product(("one", "two"), ("q1", "q2", "q3"), (1, 2, 3))
    runs = "".join(f"{query} Q0 d{rank} {rank} {-rank} {name}\n" for name, query, rank in places)
    with asked.client() as http:
        http.post("/v1/drafts", json={"name": "begun"}).raise_for_status()
        for name, text in (("runs.trec", runs), ("truth.qrels", "q1 0 d1 2\nq1 0 d2 0\n")):
            about = {"name": name, "size": len(text), "offset": 0}
            http.post("/v1/drafts/begun/files", params=about, content=text.encode()).raise_for_status()
        http.post("/v1/drafts/begun/create", json={}).raise_for_status()
        assert http.get("/v1/collections/begun/campaign").json()["judgments"] == 2
        page = browse("/judge/begun")
        page.fill("#name", "Bea")
        page.get_by_role("button", name="Continue").click()
        expect(page.locator("#held-title")).to_have_text("Not open yet")
        expect(page.locator("#held-who")).to_have_text("This listening test is not open yet.")
        page.goto("/")
        expect(page.locator("#status-begun")).to_have_text("Not open yet")
        page.goto("/organise/begun")
        expect(page.locator("#status")).to_have_text("Not open yet")
        expect(page.locator("#control-about")).to_have_text("Nobody can judge until you open it.")
        expect(page.locator("#next")).to_contain_text("Open the campaign: nobody can judge before.")
        page.get_by_role("button", name="Open", exact=True).click()
        expect(page.locator("#status")).to_have_text("Open")
        page.get_by_role("tab", name="Results and files").click()
        expect(page.locator("#log tbody tr").nth(0)).to_contain_text("opened the campaign")
        expect(page.locator("#log tbody tr").nth(1)).to_contain_text("created the campaign, which is not open yet")
        page.get_by_role("tab", name="Ranking").click()
        (pair,) = http.post("/v1/collections/begun/next", json={"assessor": "ann"}).json()["pairs"]
        said = {"query": pair["query"], "document": pair["document"], "assessor": "ann", "broad": 1}
        http.post("/v1/collections/begun/judgments", json=said).raise_for_status()
        page.get_by_role("button", name="Pause", exact=True).click()
        expect(page.locator("#status")).to_have_text("Paused")
        expect(page.locator("#resume")).to_have_text("Resume")
        page.get_by_role("tab", name="Settings").click()
        expect(page.locator("#train-folds")).to_have_value("3")  # one for each query, instead of ten
        wants, differ, words = page.evaluate(GOALS)
        assert wants == [True, True, True, False, False, False]
        assert differ == ["confidence = .9", "confidence(floor=0)=0.9", "every=0.95"]
        assert [one.replace("\u202f", " ") for one in words] == [
            "mean confidence of 95 %",
            "mean confidence of 90 %, without waiting for graded pairs",
            "confidence of 90 % in every pair of systems, once 30 pairs are graded",
            "200 judgments",
            "error=0.05",
        ]


def test_what_was_said_of_other_settings_does_not_stay(browse, asked, watch):
    watch.expected.append("422 (Unprocessable")
    with asked.client() as http:
        http.post("/v1/drafts", json={"name": "changing"}).raise_for_status()
        places = product(("one", "two"), ("q1", "q2", "q3"), (1, 2, 3))
        runs = "".join(f"{query} Q0 {name[0]}{rank} {rank} {-rank} {name}\n" for name, query, rank in places)
        about = {"name": "runs.trec", "size": len(runs), "offset": 0}
        http.post("/v1/drafts/changing/files", params=about, content=runs.encode()).raise_for_status()
        page = browse("/create")
        page.fill("#name", "changing")
        page.keyboard.press("Enter")
        expect(page.locator("#trouble")).to_be_visible()
        page.fill("#name", "changing-2")
        expect(page.locator("#trouble")).to_be_hidden()
    page.goto("/create?draft=changing")
    expect(page.locator("#create")).to_be_enabled()
    page.fill("#set-goal", "confidence(floor=0)=0.9")
    expect(page.locator("#create-why")).to_have_text("")
    page.click("#plan button")
    expect(page.locator("#goals-table tbody tr")).to_have_count(4, timeout=LONG_MS)
    goals = page.locator("#goals-table tbody th").evaluate_all("heads => heads.map((head) => head.firstChild.data)")
    assert len(set(goals)) == 4
    page.locator("#goals-table tbody button").first.click()
    expect(page.locator("#set-goal")).to_have_value("confidence=0.9")
    expect(page.locator("#goals-frame")).to_be_visible()  # an estimate is of its own goal
    page.select_option("#set-comparisons", "only")
    expect(page.locator("#goals-frame")).to_be_hidden()
    expect(page.locator("#plan-said")).to_have_text("Files or settings have changed: estimate again.")
    page.fill("#set-goal", "confidence=95")
    expect(page.locator("#settings-trouble")).to_be_visible()
    expect(page.locator("#check-said")).to_have_text("A setting in step 2 is refused: correct it first.")
    expect(page.locator("#check-said")).to_have_class("note")
    expect(page.locator("#create")).to_be_disabled()
    expect(page.locator("#create-why")).to_have_text("A setting in step 2 is refused.")
    page.fill("#set-goal", "every=0.9")
    expect(page.locator("#check-said")).to_contain_text("2 systems, 3 queries")
    expect(page.locator("#create")).to_be_enabled()
    expect(page.locator("#settings-trouble")).to_be_hidden()
    page.get_by_role("button", name="Remove runs.trec").click()
    expect(page.locator("#create-why")).to_have_text("Step 3 says what is missing.")


@pytest.mark.longest
def test_a_stranger_makes_a_campaign_of_folders_of_recordings_in_the_browser(
    browse, recordings, asked, tmp_path, watch, audit
):
    watch.expected.append("422 (Unprocessable")
    page = browse("/")
    expect(page.locator("#list-about")).to_have_text("There is no collection yet. Create the first one.")
    assert audit(page) == []
    page.click("#make a")
    page.fill("#name", "first-test")
    page.keyboard.press("Enter")
    page.locator("#draft:not([hidden])").wait_for()  # files sent before the page listens would be lost
    bad = tmp_path / "bad.trec"
    bad.write_text("q1 Q0 d1 1 0.5 one\nq1 Q0 d2 2 high one\n", encoding="utf-8")
    (tmp_path / "empty.trec").touch()
    (tmp_path / "collection.toml").write_text("cutoff = 5\n", encoding="utf-8")
    page.set_input_files("#some-files", [bad, tmp_path / "empty.trec", tmp_path / "collection.toml"])
    for place, said in enumerate(("bad.trec:2: ", "collection.toml is not used", "empty.trec: the file is empty")):
        expect(page.locator("#refused li").nth(place)).to_contain_text(said)
    page.set_input_files("#a-folder", recordings)
    expect(page.locator("#check-said")).to_contain_text("3 systems, 5 queries, 15 pairs", timeout=LONG_MS)
    assert page.locator("#files tbody tr").count() == 20
    page.select_option("#set-scale", "0-4")
    page.fill("#set-task", "How well does it continue the prompt?")
    page.fill("#set-listen", "7")
    page.fill("#set-goal", "confidence=0.9")
    page.select_option("#set-twice", "0.2")
    page.select_option("#set-comparisons", "only")
    expect(page.locator("#preview-clips")).to_contain_text("Candidate B")
    expect(page.locator("#preview-form")).to_contain_text("B fits better")
    asks = "How well does it continue the prompt? Which of the two fits better?"
    expect(page.locator("#preview-task")).to_have_text(asks)
    expect(page.locator("#problems")).to_contain_text("choose one with floor=0")
    page.select_option("#set-comparisons", "some")
    expect(page.locator("#preview-task")).to_have_text("How well does it continue the prompt?")
    expect(page.locator("#preview-compared")).to_contain_text(f"“{asks}”")
    page.select_option("#set-comparisons", "")
    expect(page.locator("#preview-task")).to_have_text("How well does it continue the prompt?")
    expect(page.locator("#preview-form input[type=radio]")).to_have_count(5)
    with asked.client() as http:
        pair = http.get("/v1/drafts/first-test/check").json()["example"]
    task = tmp_path / "task.toml"
    task.write_text(TASK.format(**pair), encoding="utf-8")
    page.set_input_files("#some-files", task)
    expect(page.locator("#preview-consent")).to_contain_text("I agree to be counted.")
    expect(page.locator("#preview-before-form legend")).to_contain_text("Years of lessons?")
    expect(page.locator("#preview-after-form")).to_contain_text("How was it?")
    expect(page.locator("#preview-instructions")).to_have_text("Listen to both.")
    expect(page.locator("#preview-lessons li")).to_contain_text("the known answer is 2. The same rhythm.")
    sources = [page.get_by_label(f"{word} of training pair 1").get_attribute("src") for word in ("Query", "Candidate")]
    with asked.client() as http:
        heard = [http.get(source) for source in sources]
    assert [(one.status_code, one.headers["content-type"]) for one in heard] == [(200, "audio/wav")] * 2
    taken = page.get_by_label("Kind of task.toml")
    assert taken.evaluate(ROOM) >= 0  # for every option, not only for the selected one
    page.click("#plan button")
    expect(page.locator("#goals-table tbody tr")).to_have_count(3, timeout=LONG_MS)
    expect(page.locator("#plan-said")).to_contain_text("second opinions come on top")
    said = page.locator("#goals-table tbody th").all_inner_texts()
    goals = [goal.replace("\u202f", " ").partition("\n") for goal in said]  # and how often it was not met
    assert all(often.startswith("In ") for _, _, often in goals if often)
    assert [goal for goal, _, _ in goals] == [
        "mean confidence of 90 %",
        "mean confidence of 95 %",
        "confidence of 95 % in every pair of systems",
    ]
    assert audit(page) == []
    page.click("#create")
    expect(page).to_have_url(f"{asked.url}/organise/first-test")
    expect(page.locator("#control-about")).to_have_text("Nobody can judge until you open it.")
    page.click("#resume")
    expect(page.locator("#control-about")).to_have_text("Judging is open.")
    page.get_by_role("tab", name="People").click()
    expect(page.locator("#invitations-about")).to_contain_text("no tokens")
    page.click("#part-invite summary")
    page.fill("#invite-names", 'name,mail\nAnn,ann@example.org\n"=Ben"\n\nAnn\n"Ito, ""Cy""",c@example.org\n')
    page.click("#invite-many-make")
    expect(page.locator("#invite-many-said")).to_have_text("3 links made.")
    with page.expect_download() as arriving:
        page.click("#invite-many-file")
    with arriving.value.path().open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    link = f"{asked.url}/judge/first-test#name="
    assert rows == [["name", "link", "until"], ["Ann", f"{link}Ann", ""], ["'=Ben", f"{link}%3DBen", ""], rows[3]]
    assert rows[3][0] == 'Ito, "Cy"'
    assert audit(page, part="#part-invite") == []
    page.get_by_role("tab", name="Settings").click()
    expect(page.locator("#given dd")).not_to_have_count(0)
    names, said = (page.locator(f"#given {kind}").all_inner_texts() for kind in ("dt", "dd"))
    given = {name: text.replace("\u202f", " ") for name, text in zip(names, said, strict=True)}
    assert given["Goal"] == "mean confidence of 90 %"
    assert given["Choice of the pairs"] == "drawn: at random, more often where the order is in doubt"
    assert given["Listening to each clip"] == "at least 7 s"
    assert given["Scale"] == "custom: 5 levels from 0 to 4"
    assert given["Pairs judged twice"] == "20 %"
    assert (given["Comparisons"], given["Candidates on a page"], given["Devices"]) == ("none", "1", "any")
    assert given["Grades"].startswith("Your grade (5 buttons")
    assert audit(page, part="#part-given") == []
    with asked.client() as http:
        questions = http.get("/v1/collections/first-test/questions").json()
        assert questions["task"] == "How well does it continue the prompt?"
        found = http.post("/v1/collections/first-test/next", json={"assessor": "ann", "count": 5}).json()["pairs"]
        told = str(found).lower()  # everything that an assessor's browser gets about them
        assert len(found) == 5
        assert [name for name in (*SYSTEMS, *PROMPTS) if name in told] == []
        assert http.get(found[0]["document_sound"]).headers["content-type"] == "audio/wav"


@pytest.mark.longest
def test_a_stranger_comes_from_folders_to_a_published_page_in_few_clicks(browse, chromium, recordings, asked, audit):
    walk, address = STRANGER["whole_way"](chromium, asked.url, recordings, 0, **CALM)
    assert walk.clicks < 90
    assert walk.typed == 5
    assert audit(browse(address)) == []
    with asked.client() as http:
        page = http.get(address).text
        for words in (
            "Cem Stranger",
            "2 people gave 30 grades",
            "How well does it continue the melody?",
            "melody, sound",
        ):
            assert words in page
        assert http.get("/v1/collections/first-test/status").json()["status"] == "open"  # closed only if asked for
        (published,) = http.get("/v1/collections/first-test/publications").json()["publications"]
        assert (published["page"], published["judgments"]) == (address, 15)
        with zipfile.ZipFile(io.BytesIO(http.get(published["bundle"]).content)) as archive:
            files = {name.split("/")[1]: archive.read(name).decode() for name in archive.namelist()}
    rows = list(csv.DictReader(io.StringIO(files["judgments.csv"])))
    assert {(row["aspect"], row["assessor"]) for row in rows} == {
        (aspect, f"person-{number}") for aspect in ("melody", "sound") for number in (1, 2)
    }
    ranked = list(csv.DictReader(io.StringIO(files["aspects.csv"])))
    assert {(row["aspect"], row["system"]) for row in ranked} == {
        (aspect, system) for aspect in ("melody", "sound") for system in SYSTEMS
    }
    grades = [float(row["grade"]) for row in rows if row["aspect"] == "melody"]
    means = {row["system"]: float(row["expectation"]) for row in ranked if row["aspect"] == "melody"}
    # One result each for five prompts. How severe each person is counts too, and is hardly known from 15 grades.
    assert sum(means.values()) / 3 == pytest.approx(sum(grades) / 15 / 100, abs=0.005)
