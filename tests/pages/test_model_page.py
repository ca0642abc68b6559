"""The model on the organiser's page, by keyboard in a real Chromium: trying, training, choosing."""

import re
from contextlib import ExitStack
from dataclasses import replace

import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.ordinal.model import load_model, model_fields

from .conftest import commanded

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

DEMO = "/v1/collections/demo"


@pytest.fixture
def restarted(demo, tmp_path, port):
    """Starts a server of a campaign at the same address at each call; all end with the test."""
    with ExitStack() as stack:

        def start():
            # A simple model, so that the campaign itself takes little to learn.
            options = ("--db", f"sqlite:///{tmp_path / 'campaign.db'}", "--model", "mjud")
            return stack.enter_context(commanded([demo], tmp_path / "log", "--port", port, *options))

        yield start


@pytest.fixture
def live(restarted):
    """One such server, for `browse` and `http`."""
    return restarted()


def judge(http, grades):
    """Make one judgment for each of these grades."""
    for grade in grades:
        (pair,) = http.post(f"{DEMO}/next", json={"assessor": "ann"}).json()["pairs"]
        said = {"query": pair["query"], "document": pair["document"], "assessor": "ann", "fine": grade}
        assert http.post(f"{DEMO}/judgments", json=said).status_code == 201


def judge_many(http, demo, wait_until):
    """Import 300 judgments of varied grades: with few or two levels a training might fail before it is looked at."""
    pairs = build_pool(Collection.load(demo)).pairs[:300]
    lines = "".join(f"{query} 0 {document} {37 * place % 101}\n" for place, (query, document) in enumerate(pairs))
    assert http.post(f"{DEMO}/judgments/import", content=lines).is_success
    wait_until(lambda: http.get(f"{DEMO}/campaign").json()["judged"] == 300)


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def test_another_model_is_tried_and_chosen_and_one_is_trained_by_the_keyboard_alone(browse, http, audit, watch):
    watch.expected = ["status of 422", "status of 409"]
    judge(http, [10, 90] * 10)
    page = browse("/organise/demo#model")
    expect(page.locator("#model-now")).to_contain_text("mjud-fine")
    page.locator("#model-other").focus()
    press(page, *"mout", "Tab", "Enter")
    expect(page.locator("#model-said")).to_contain_text("By mout-fine: ")
    expect(page.locator("#model-effect-title")).to_be_focused()
    effect = http.get(f"{DEMO}/model-effect?model=mout").json()
    shares = (f"{int(effect[name] * 1000 + 1e-6) / 10:.1f}\u202f%" for name in ("confidence", "confidence_by_other"))
    sentence = re.sub(r"from \S+ to \S+\.$", f"from {' to '.join(shares)}.", effect["sentence"])
    assert page.inner_text("#model-said") == sentence  # with percentages, as elsewhere on the page
    script = "table => [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent))"
    assert [row[:5] for row in page.eval_on_selector("#model-systems", script)] == [
        [
            one["system"],
            str(one["rank"]),
            str(one["rank_by_other"]),
            f"{one['score']:.3f}",
            f"{one['score_by_other']:.3f}",
        ]
        for one in effect["systems"]
    ]
    assert audit(page, part="#part-model") == []
    page.set_viewport_size({"width": 1280, "height": 900})
    assert http.get(f"{DEMO}/model").json()["chosen"] is None
    page.locator("#model-effect-title").focus()
    press(page, *["Tab"] * 9)  # the table's two files, the table and its five heads come before the reason
    page.keyboard.type("as <announced>")
    press(page, "Tab", "Tab", "Enter")
    expect(page.locator("#model-now")).to_contain_text("mout-fine")
    expect(page.locator("#model-now")).to_contain_text("as <announced>")
    expect(page.locator("#about")).to_contain_text("mout-fine")
    expect(page.locator("#model-other")).to_be_focused()
    expect(page.locator("#model-effect")).to_be_hidden()
    page.locator("#train-name").focus()
    page.keyboard.type("ours")
    press(page, "Tab", "Control+a")
    page.keyboard.type("fGEN")
    press(page, "Tab", "Control+a", "2", "Enter")
    expect(page.locator("#train-said")).to_contain_text("done; it can be chosen above")
    expect(page.locator("#kept")).to_contain_text("trained on demo")
    page.locator("#model-other").focus()
    page.locator("#model-other").select_option("ours")
    press(page, "Tab", "Enter")
    expect(page.locator("#model-said")).to_contain_text("By ours: ")
    page.locator("#model-yes").press("Enter")
    expect(page.locator("#model-now")).to_contain_text("ours")
    page.get_by_role("tab", name="Results and files").click()
    expect(page.locator("#log")).to_contain_text("chose the model ours")
    expect(page.locator("#log")).to_contain_text("chose the model mout: “as <announced>”")
    page.reload()
    expect(page.locator("#about")).to_contain_text("ours")
    assert http.get(f"{DEMO}/campaign").json()["judgments"] == 20


def test_a_training_is_cancelled_and_a_file_that_is_no_model_is_refused(browse, http, watch, demo, wait_until):
    watch.expected = ["status of 422"]
    judge_many(http, demo, wait_until)
    page = browse("/organise/demo#model")
    page.locator("#train-name").fill("long")
    page.locator("#train-make").click()  # joint, with ten folds
    expect(page.locator("#train-cancel")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#train-said")).to_contain_text("cancelled")
    expect(page.locator("#train-make")).to_be_enabled()
    page.locator("#model-file").set_input_files([{"name": "x.json", "mimeType": "application/json", "buffer": b"{}"}])
    expect(page.locator("#model-trouble")).to_contain_text("expected a model file of format")
    assert http.get(f"{DEMO}/model").json()["kept"] == []


def test_a_kept_model_is_deleted_by_the_keyboard_but_not_the_one_in_use(browse, http, audit, watch):
    watch.expected = ["status of 409"]
    for name in ("mine", "spare"):
        assert (
            http.post(f"{DEMO}/models", json=model_fields(replace(load_model("mout-fine"), name=name))).status_code
            == 201
        )
    assert http.post(f"{DEMO}/model", json={"model": "mine"}).status_code == 201
    page = browse("/organise/demo#model")
    page.get_by_role("button", name="Delete… mine").press("Enter")
    expect(page.get_by_role("dialog", name="Delete mine?")).to_be_visible()
    assert audit(page, part="#forget-model") == []
    page.locator("#forget-model-yes").press("Enter")
    expect(page.locator("#forget-model-trouble")).to_have_text(
        "mine is the model of demo: choose another model there first."
    )
    assert audit(page, part="#forget-model") == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Delete… spare").press("Enter")
    page.locator("#forget-model-yes").press("Enter")
    expect(page.locator("#kept tbody tr")).to_have_count(1)
    expect(page.locator("#model-other")).to_be_focused()
    assert [one["name"] for one in http.get(f"{DEMO}/model").json()["kept"]] == ["mine"]


@pytest.mark.longest
def test_a_training_that_a_kill_ended_is_begun_again_on_the_page(restarted, chromium, audit, demo, wait_until):
    server = restarted()
    with server.client() as http:
        judge_many(http, demo, wait_until)
    page = chromium.new_page(base_url=server.url)
    try:
        early = []  # the answer to the first look at trainings, which comes after that to a later one
        page.route("**/trainings", lambda asked: early.append((asked, asked.fetch())), times=1)
        page.goto("/organise/demo#model")
        page.locator("#train-name").fill("ours")
        page.locator("#train-folds").fill("7")
        wait_until(lambda: page.title() and early)  # which lets the page go on
        page.locator("#train-make").click()
        expect(page.locator("#train-cancel")).to_be_focused()
        asked, answer = early[0]
        asked.fulfill(response=answer)
        page.wait_for_timeout(200)
        expect(page.locator("#train-cancel")).to_be_visible(timeout=1)
        server.kill()
        restarted()
        page.reload()
        expect(page.locator("#train-said")).to_contain_text("(joint) on demo: ended by a restart of the service.")
        assert audit(page, part="#part-model") == []
        page.locator("#train-again").press("Enter")
        expect(page.locator("#train-cancel")).to_be_focused()
        expect(page.locator("#train-again")).to_be_hidden()
        with server.client() as http:
            begun = http.get(f"{DEMO}/trainings").json()["training"]
        assert (begun["folds"], begun["collections"]) == (7, ["demo"])
        assert begun["status"] != "failed", begun
    finally:
        page.close()
