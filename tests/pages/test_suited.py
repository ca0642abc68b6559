"""A task for some languages and devices: others are told before any question, and take no place."""

import shutil

import pytest

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

PHONE = {"viewport": {"width": 360, "height": 740}, "screen": {"width": 360, "height": 740}, "has_touch": True}
TABLET = {"viewport": {"width": 800, "height": 1100}, "screen": {"width": 800, "height": 1100}, "has_touch": True}
MOBILE = {"is_mobile": True}
TASK = 'languages = ["de", "pt-BR"]\ndevices = ["computer", "tablet"]\nconsent = "Yes."\n'


@pytest.fixture(scope="module")
def demo(demo, tmp_path_factory):
    folder = shutil.copytree(demo, tmp_path_factory.mktemp("suited") / "demo")
    (folder / "task.toml").write_text(TASK, encoding="utf-8")
    return folder


def test_only_wanted_languages_and_devices_come_to_the_consent(browse, http, audit):
    link = http.post("/v1/collections/demo/open-links", json={"name": "crowd"}).json()["link"]
    phone = browse(link, locale="de-AT", **PHONE, **MOBILE)
    told = "Dieser Hörtest ist nur auf diesen Geräten möglich: Computer oder Tablet (Ihres: Smartphone)."
    expect(phone.locator("#unsuited")).to_have_text(told)
    expect(phone.get_by_role("heading", name="Sie können nicht teilnehmen")).to_be_focused()
    assert audit(phone) == []
    other = browse(link, locale="pt-PT", **TABLET, **MOBILE)
    told = "in the settings of their browser: German or Brazilian Portuguese (yours: European Portuguese)."
    expect(other.locator("#unsuited")).to_contain_text(told)
    expect(other.get_by_role("heading", name="You cannot take part")).to_be_visible()
    assert http.get("/v1/collections/demo/participants").json()["participants"] == []
    for options in ({"locale": "de-AT"}, {"locale": "pt-BR", **TABLET, **MOBILE}):
        expect(browse(link, **options).locator("#consent-text")).to_have_text("Yes.")
    assert len(http.get("/v1/collections/demo/participants").json()["participants"]) == 2
