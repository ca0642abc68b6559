"""Views behind a row of the organiser's ranking, in a real Chromium: queries, clips, two systems; with addresses."""

import re

import pytest

from .conftest import copy_demo

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect
PATH = "/v1/collections/demo"
ASPECTS = """[[aspect]]
name = "form"
question = "How close is the form?"

[[aspect]]
name = "sound"
question = "How close is the sound?"
"""


@pytest.fixture(scope="module")
def demo(demo, tmp_path_factory):
    """The demo collection, judged for two aspects."""
    folder = copy_demo(demo, tmp_path_factory.mktemp("aspects") / "demo", queries=16)
    (folder / "task.toml").write_text(ASPECTS, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def live(demo, commanded, tmp_path_factory):
    """One server for all tests here, which only read, after ann has judged nine pairs."""
    root = tmp_path_factory.mktemp("drill")
    with (
        commanded(
            [demo],
            root / "log",
            "--db",
            f"sqlite:///{root / 'campaign.db'}",
            AUDIOSIM_SOUNDS=str((demo / "sounds").resolve()),
        ) as running,
        running.client() as http,
    ):
        for number in range(9):
            (pair,) = http.post(f"{PATH}/next", json={"assessor": "ann"}).json()["pairs"]
            said = {"query": pair["query"], "document": pair["document"], "assessor": "ann"}
            answers = {"form": 10 * number, "sound": 90 - 10 * number}
            assert http.post(f"{PATH}/judgments", json=said | {"answers": answers}).status_code == 201
        yield running


def get(http, what, **asked):
    answer = http.get(f"{PATH}/{what}", params=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def rows(page, selector):
    """The texts of a table's rows, without those of buttons."""
    script = """tables => [...tables[0].tBodies[0].rows].map(row => [...row.cells].map(cell => {
        const copy = cell.cloneNode(true);
        for (const button of copy.querySelectorAll('.play, .side-of')) button.remove();
        return copy.textContent.trim();
    }))"""
    return page.locator(selector).evaluate_all(script)


def at(page, title):
    expect(page.locator("#detail-title")).to_have_text(title)
    expect(page.locator("#detail-shown table").first).to_be_visible()


def test_from_a_row_to_queries_to_clips_by_keyboard_and_back(browse, http, audit):
    page = browse("/organise/demo")
    system = get(http, "ranking")["systems"][2]["system"]
    link = page.get_by_role("link", name=system, exact=True)
    link.focus()
    page.keyboard.press("Enter")
    at(page, f"System {system}")
    expect(page.locator("#detail-title")).to_be_focused()
    said = get(http, "system-queries", system=system)
    shown = [(row[0], row[1], row[2], row[3]) for row in rows(page, "#detail-shown table")]
    assert shown == [
        (
            one["query"],
            f"{one['expectation']:.3f}",
            f"{one['low']:.3f}–{one['high']:.3f}",
            f"{one['judged']} of {one['pairs']}",
        )
        for one in said["queries"]
    ]
    page.get_by_role("button", name="95 % interval", exact=True).click()  # least certain first
    unsure = sorted(said["queries"], key=lambda one: -one["variance"])
    assert [row[0] for row in rows(page, "#detail-shown table")] == [one["query"] for one in unsure]
    page.get_by_label("Queries with a name containing").fill("q1")
    assert {row[0] for row in rows(page, "#detail-shown table")} == {
        one["query"] for one in unsure if "q1" in one["query"]
    }
    assert audit(page, part="#detail") == []
    query = next(one["query"] for one in said["queries"] if one["judged"])
    page.get_by_label("Queries with a name containing").fill("")
    page.get_by_role("link", name=query, exact=True).click()
    at(page, f"Query {query} by {system}")
    clips = get(http, "result-list", system=system, query=query)["clips"]
    found = rows(page, "#detail-shown table")
    assert [(row[0], row[1]) for row in found] == [(str(clip["rank"]), clip["document"]) for clip in clips]
    for row, clip in zip(found, clips, strict=True):
        number = f"{round(clip['expectation'], 1):g}"
        assert row[2] == number if clip["judged"] else row[2].startswith(f"≈ {number} (")
        assert row[3] == (f"ann {number}" if clip["judged"] else "nobody yet")
    play = page.get_by_role("button", name=f"Play document {clips[0]['document']}", exact=True)
    twice = "b => [0, 1].map(() => { b.click(); return b.getAttribute('aria-pressed'); })"
    assert play.evaluate(twice) == ["true", "false"]  # at once, because a short clip soon ends by itself
    assert http.get(clips[0]["sound"]).status_code == 200
    expect(page.get_by_role("link", name="Open the judging page")).to_have_attribute("href", "/judge/demo")
    assert audit(page, part="#detail") == []
    address = page.url
    page.go_back()
    at(page, f"System {system}")
    page.go_back()
    expect(page.locator("#detail")).to_be_hidden()
    expect(link).to_be_visible()
    page.goto("about:blank")
    page.goto(address)
    at(page, f"Query {query} by {system}")
    page.get_by_role("tab", name="Ranking").click()
    expect(page.locator("#detail")).to_be_hidden()
    page.go_back()
    at(page, f"Query {query} by {system}")
    page.get_by_role("tab", name="Progress").click()
    expect(page.locator("#panel-progress")).to_be_visible()


def test_two_ticked_rows_are_compared(browse, http, audit):
    page = browse("/organise/demo")
    names = [one["system"] for one in get(http, "ranking")["systems"]]
    for name in (names[0], names[4], names[1]):  # only the last two of three count
        page.get_by_role("checkbox", name=f"Compare {name}", exact=True).check()
    expect(page.get_by_role("checkbox", name=f"Compare {names[0]}", exact=True)).not_to_be_checked()
    page.get_by_role("link", name="Compare these two").click()
    a, b = names[4], names[1]
    at(page, f"{a} compared with {b}")
    assert "Percentages are rounded down." in page.inner_text("#detail-shown")
    said = get(http, "two-systems", a=a, b=b)
    sure = f"confidence {int(said['confidence'] * 1000 + 1e-6) / 10:.1f}\u202f%"  # as elsewhere on the page
    expect(page.locator("#detail-about")).to_have_text(re.sub(r"confidence \S+", sure, said["sentence"]))
    figures = page.locator("#detail .figure").all_text_contents()
    assert figures[0] == f"{int(said['above'] * 1000 + 1e-6) / 10:.1f}\u202f%"
    assert figures[1].replace("\u2212", "-") == f"{said['expectation']:+.3f}"
    tables = page.locator("#detail-shown table")
    for place, kind in enumerate(("largest", "least_sure")):
        shown = tables.nth(place).locator("tbody tr")
        assert shown.count() == len(said[kind])
        for row, one in zip(shown.all(), said[kind], strict=True):
            expect(row).to_contain_text(one["query"])
            expect(row).to_contain_text(f"{one['expectation']:+.3f}".replace("-", "\u2212"))
    for row, one in zip(tables.nth(2).locator("tbody tr").all(), said["telling"], strict=True):
        expect(row).to_contain_text(re.compile(f"{one['query']}.*{one['document']}"))
        expect(row.get_by_role("button", name=f"Play document {one['document']}")).to_be_visible()
    assert audit(page, part="#detail") == []
    page.get_by_role("link", name="Swap them").click()
    at(page, f"{b} compared with {a}")


def test_the_ranking_by_an_aspect_has_an_address_and_what_lies_behind_it_too(browse, http, audit, wait_until):
    page = browse("/organise/demo")
    page.get_by_label("Ranked by").select_option("form")
    of_form, mean = get(http, "ranking", aspect="form"), get(http, "ranking")
    said = [(one["system"], f"{one['expectation']:.3f}") for one in of_form["systems"]]
    first = page.locator("#ranking tbody tr").first
    wait_until(lambda: [(row[1], row[2]) for row in rows(page, "#ranking")] == said)
    assert said != [(one["system"], f"{one['expectation']:.3f}") for one in mean["systems"]]
    assert page.url.endswith("#aspect=form")
    assert audit(page, part="#part-systems") == []
    page.get_by_role("link", name=said[0][0], exact=True).click()
    at(page, f"System {said[0][0]}")
    expect(page.locator("#detail-about")).to_contain_text(f"for form: {said[0][1]}")
    page.go_back()
    expect(first).to_contain_text(said[0][1])
    page.go_back()
    expect(page.get_by_label("Ranked by")).to_have_value("")
    expect(first).to_contain_text(f"{mean['systems'][0]['expectation']:.3f}")


def test_what_changed_since_yesterday_is_said(browse, http, audit):
    page = browse("/organise/demo#progress")
    found, said = get(http, "changes"), page.locator("#since-list li")
    expect(said.nth(0)).to_have_text("9 answers by 1 person: ann 9. New: ann.")
    expect(said.nth(1)).to_contain_text(f"Judged pairs: 0 then, {found['judged']} now.")
    for one in found["moved"][:6]:
        expect(said.nth(2)).to_contain_text(f"{one['system']} {one['rank_before']} → {one['rank']}")
    expect(page.get_by_label("Since when").locator("option")).to_have_count(2)  # there was no earlier visit
    assert audit(page, part="#part-changes") == []
    page.reload()
    page.get_by_label("Since when").select_option("since the last visit")
    expect(said).to_have_text(["Nothing changed."])


def test_a_view_that_is_not_there_says_so(browse, watch):
    watch.expected.append("422")
    page = browse("/organise/demo#system=nobody")
    expect(page.locator("#detail-trouble")).to_contain_text("unknown system 'nobody', expected one that is ranked")
    page.get_by_role("navigation", name="Path").get_by_role("link", name="Ranking").click()
    expect(page.locator("#detail")).to_be_hidden()


def test_an_aspect_that_is_gone_leaves_the_ranking_by_the_mean(browse, http):
    page = browse("/organise/demo#aspect=gone")
    expect(page.locator("#campaign")).to_be_visible()
    for one in get(http, "ranking")["systems"]:
        expect(page.locator("#part-systems")).to_contain_text(one["system"])
