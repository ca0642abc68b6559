"""The page of a study in a real browser: one whole participation, its appearance, and its accessibility."""

import threading
from types import SimpleNamespace

import pytest
import uvicorn

from audiosim import package_files
from audiosim.collection.collection import Collection
from audiosim.people.answers import ListPair
from audiosim.people.study import ListStudy, StudyRules
from audiosim.people.study_log import StudyLog, read_study_log
from audiosim.service.app import listen, near
from audiosim.service.collections.sounds import Sounds
from audiosim.service.study_app import StudyDesk, create_study_app

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect
pytestmark = pytest.mark.slow
LISTS = tuple(f"d0{number}" for number in range(10, 15)), tuple(f"d0{number}" for number in range(20, 25))
TRAP = ListPair("q13", *LISTS, "", "good")
EXAMPLE = ListPair("q14", *LISTS, "q14")


@pytest.fixture
def asked(tmp_path):
    """A server of a study with one trap and one example."""
    folder = package_files.folder("fixtures") / "demo"
    collection = Collection.load(folder)
    log, progress = StudyLog.open(tmp_path / "log", ListStudy("query", (EXAMPLE,), (TRAP,), StudyRules(trap_share=0)))
    app = create_study_app(StudyDesk(progress, log, collection, Sounds(collection, folder), "DONE-7"))
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None, access_log=False, ws="none"))
    with listen("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield SimpleNamespace(url=near(listening), log=tmp_path / "log")
        server.should_exit = True
        thread.join()
    log.close()


def test_somebody_listens_answers_and_gets_their_code(asked, browse, wait_until, audit):
    page = browse("/?PROLIFIC_PID=p%201")
    assert page.get_by_label("Your name or worker identifier").input_value() == "p 1"
    assert audit(page) == []
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#place")).to_have_text("Example 1 of at most 2")
    page.get_by_role("radio", name="They are both equally good").check()
    page.locator("#list-a audio").first.evaluate("one => one.play()")
    page.locator("#query").evaluate("one => ((one.loop = true), one.play())")
    paused = "[document.querySelector('#list-a audio').paused, document.querySelector('#query').paused]"
    wait_until(lambda: page.evaluate(paused) == [True, False])
    assert audit(page) == []
    labels = page.locator("audio").evaluate_all("all => all.map((one) => one.getAttribute('aria-label'))")
    assert labels == ["Query", *(f"Service {side}, result {rank}" for side in "AB" for rank in range(1, 6))]
    page.get_by_role("button", name="Submit").click()
    page.get_by_text("1 answer saved").wait_for()
    expect(page.locator("#place")).to_have_text("Example 2 of at most 2")
    page.get_by_role("radio", name="Service A").check()
    page.get_by_label("Any comments or suggestions?").fill("nice")
    page.get_by_role("button", name="Submit").click()
    page.get_by_text("DONE-7").wait_for()
    expect(page.locator("#ending-text")).to_contain_text("You can close this page.")
    assert audit(page) == []
    late = browse("/")
    late.get_by_label("Your name or worker identifier").fill("Zoë")
    late.keyboard.press("Enter")
    expect(late.locator("#example")).to_be_visible()
    late.reload()
    expect(late.get_by_label("Your name or worker identifier")).to_have_value("Zoë")
    first, second = read_study_log(asked.log)[1]
    assert (first.worker, first.answer, first.showing.trap) == ("p 1", "good", True)
    assert (second.answer, second.comment) == ("b" if second.showing.swapped else "a", "nice")
