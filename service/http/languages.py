"""Languages of the pages: the choice for a browser, and the catalogue of messages.

    service/pages/languages/de.po     gettext's messages, to be translated with any of its tools
    service/pages/languages/de.json   the same messages for the service and the pages, written by docs/make_languages.py

The pages are written in English, which needs no catalogue. Messages are marked in templates by `{{_Message}}`, in
modules by `t("Message")` and `tn("one", "many", count)`.
"""

import html
import json
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from unicodedata import bidirectional

CATALOGUES = Path(__file__).resolve().parents[1] / "pages" / "languages"
ENGLISH = "en"
FROM_RIGHT = ("R", "AL")  # Unicode's classes of letters that are written from right to left
MARKED = re.compile(r"\{\{_(.+?)\}\}")
WEIGHT = re.compile(r"[01](\.\d{0,3})?")
MOST_WISHES = 50

Messages = Mapping[str, str | list[str]]


@cache
def languages() -> tuple[str, ...]:
    """Codes of the available languages, English first."""
    return (ENGLISH, *sorted(path.stem for path in CATALOGUES.glob("*.json")))


@cache
def messages_of(language: str) -> Messages:
    """The messages of a language by their English text; a list where the form depends on a number."""
    if language == ENGLISH:
        return {}
    found: Messages = json.loads((CATALOGUES / f"{language}.json").read_text(encoding="utf-8"))
    return found


def direction(messages: Messages) -> str:
    """Direction in which the messages of a language are written: rtl or ltr."""
    letters = "".join(one for one in messages.values() if isinstance(one, str))
    return "rtl" if sum(bidirectional(sign) in FROM_RIGHT for sign in letters) > len(letters) / 2 else "ltr"


def preferred(header: str) -> list[str]:
    """The values of a header such as Accept that are wanted, by their weights, highest first."""
    wishes = []
    for place, wish in enumerate(header.split(",")[:MOST_WISHES]):
        value, *parameters = (part.strip().lower() for part in wish.split(";"))
        weight = next((one[2:] for one in parameters if one.startswith("q=")), "1")
        if WEIGHT.fullmatch(weight) and float(weight) > 0:
            wishes.append((-float(weight), place, value))
    return [value for _, _, value in sorted(wishes)]


def chosen_language(asked: str, own: str, accepted: str) -> str:
    """The language of a page: the first available one of these, or else English.

    asked     language in the address
    own       language of the collection's task
    accepted  the browser's Accept-Language header
    """
    codes = (name.partition("-")[0].lower() for name in (asked, own, *preferred(accepted)))
    return next((code for code in codes if code in languages()), ENGLISH)


@lru_cache(maxsize=64)  # templates in each language
def in_language(template: str, language: str) -> str:
    """A page's template with its messages in a language, and the messages for its modules."""
    messages = messages_of(language)

    def translated(found: re.Match[str]) -> str:
        message = messages.get(found[1], found[1])
        return message if isinstance(message, str) else found[1]

    said = html.escape(json.dumps(messages, ensure_ascii=False)) if messages else ""
    filled = MARKED.sub(translated, template).replace("{{messages}}", said)
    return filled.replace("{{language}}", language).replace("{{direction}}", direction(messages))
