"""Languages of the pages: every catalogue has every message, and each browser gets the right language."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from audiosim.service.http.languages import CATALOGUES, chosen_language, direction, in_language, languages, messages_of
from audiosim.service.operations.pages import shipped

LANGUAGES = ["de", "es", "ja", "zh"]
HOLES = re.compile(r"\{\w+\}|</?\w+>")


@pytest.fixture(scope="module")
def making():
    """The script that writes the catalogues, as a module."""
    path = Path(__file__).parents[2] / "docs" / "make_languages.py"
    spec = importlib.util.spec_from_file_location("make_languages", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_languages_are_those_with_a_catalogue():
    assert languages() == ("en", *LANGUAGES)
    assert {path.stem for path in CATALOGUES.glob("*.po")} == set(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_catalogue_holds_every_message_and_every_place_in_it(making, language):
    found, wanted = messages_of(language), making.messages()
    assert len(wanted) > 150
    assert found.keys() == {one if isinstance(one, str) else one[0] for one in wanted}
    forms = {"de": 2, "es": 2, "ja": 1, "zh": 1}[language]
    for message in wanted:
        plain = isinstance(message, str)
        said = found[message if plain else message[0]]
        texts = [said] if plain else said
        assert all(text.strip() for text in texts), message
        assert len(texts) == (1 if plain else forms)
        holes = set(HOLES.findall(message if plain else message[1]))
        without = holes if plain else holes - {"{n}"}  # a singular may omit its number
        assert all(set(HOLES.findall(text)) in (holes, without) for text in texts), message


@pytest.mark.parametrize("language", LANGUAGES)
def test_pages_load_what_was_translated(making, language):
    pytest.importorskip("babel", reason="babel is not installed")
    assert json.loads(making.json_of(making.catalogue(CATALOGUES / f"{language}.po"))) == messages_of(language)


@pytest.mark.parametrize(
    ("asked", "own", "accepted", "language"),
    [
        ("", "", "", "en"),
        ("", "", "de-CH,de;q=0.9,en;q=0.8", "de"),
        ("", "", "fr, zh-TW;q=0.5, ja;q=0.7", "ja"),
        ("", "", "en-GB,en;q=0.9,de;q=0.8", "en"),
        ("", "", "de;q=0, es;q=0.1", "es"),
        ("", "es", "de", "es"),
        ("ja", "es", "de", "ja"),
        ("../x", "<b>", "*;q=9, \x00", "en"),
    ],
)
def test_the_address_goes_before_the_task_and_that_before_the_browser(asked, own, accepted, language):
    assert chosen_language(asked, own, accepted) == language


def test_a_page_is_sent_in_its_language_and_direction():
    german = shipped().fill("judge", "a<b", "de")
    assert '<html lang="de" dir="ltr" data-messages="{&quot;' in german
    assert ">Speichern und weiter<" in german
    assert "a&lt;b" in german
    assert "{{" not in german
    english = shipped().fill("judge", "demo")
    assert '<html lang="en" dir="ltr" data-messages="">' in english
    assert ">Save and continue<" in english
    assert [direction({"Saved": one}) for one in ("تم الحفظ", "נשמר", "Guardado", "")] == ["rtl", "rtl", "ltr", "ltr"]
    assert in_language('<html dir="{{direction}}">{{_No such message}}', "ja") == '<html dir="ltr">No such message'
