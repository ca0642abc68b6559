"""Catalogues of the pages' messages: collect the messages, and write gettext's .po files and the .json that pages load.

    python docs/make_languages.py

New messages are added to each .po untranslated, those that no page has any more are dropped. Translate the .po with any
of gettext's tools, then run this again. Needs babel.
"""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from audiosim.service.campaigns.questions import BROADLY, ENDS, ENDS_OF_ANY, FINELY, REASONS, STANDARD, YOUR_GRADE
from audiosim.service.interface.languages import CATALOGUES, MARKED

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog

PAGES = CATALOGUES.parent
TEXT = r'"((?:[^"\\]|\\.)*)"'
PLAIN = re.compile(rf"\b(?:t|m|tnodes)\(\s*{TEXT}")
COUNTED = re.compile(rf"\btn\(\s*{TEXT},\s*{TEXT}")

EMPTY = re.compile(r"-Date:|EMAIL@|FULL NAME|LL@li|Project-Id|Generated-By|^#")

Message = str | tuple[str, str]


def messages() -> list[Message]:
    """Every message of the pages, each once; two texts where its form depends on a number."""
    return list(dict.fromkeys([*_of_templates(), *_of_modules(), *_of_questions()]))


def _of_templates() -> Iterator[str]:
    for path in sorted(PAGES.glob("*.html")):
        yield from MARKED.findall(path.read_text(encoding="utf-8"))


def _of_modules() -> Iterator[Message]:
    for path in sorted([*PAGES.glob("*.js"), *PAGES.glob("judge/*.js")]):
        text = path.read_text(encoding="utf-8")
        yield from map(_unquoted, PLAIN.findall(text))
        yield from ((_unquoted(one), _unquoted(many)) for one, many in COUNTED.findall(text))


def _of_questions() -> Iterator[str]:
    for question in (BROADLY, FINELY, *STANDARD):
        yield from (question.text, *question.words, *question.ends)
    yield from (*REASONS, *ENDS, *ENDS_OF_ANY, YOUR_GRADE, "Similar")


def _unquoted(text: str) -> str:
    found: str = json.loads(f'"{text}"')
    return found


def catalogue(path: Path) -> "Catalog":
    """The catalogue of a .po file."""
    from babel.messages.pofile import read_po  # here, so that the messages are found without babel

    return read_po(io.BytesIO(path.read_bytes()), locale=path.stem)


def json_of(catalog: "Catalog") -> str:
    """A catalogue as the service and the pages read it: translations by message, lists of several forms."""
    said = {
        one.id if isinstance(one.id, str) else one.id[0]: (
            one.string if isinstance(one.string, str) else list(one.string or ())
        )
        for one in catalog
        if one.id
    }
    return json.dumps(said, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def updated(path: Path) -> "Catalog":
    """The catalogue of a .po file with the messages that there are now."""
    from babel.messages.catalog import Catalog

    old, new = catalogue(path), Catalog(locale=path.stem, project="audiosim", fuzzy=False)
    for message in messages():
        there = old.get(message if isinstance(message, str) else message[0])
        new.add(message, there.string if there is not None else None)
    return new


def main() -> None:
    """Write all catalogues."""
    from babel.messages.pofile import write_po

    for path in sorted(CATALOGUES.glob("*.po")):
        catalog, written = updated(path), io.BytesIO()
        write_po(written, catalog, width=120, omit_header=False)
        # Without a date, and without the places of names that a translator's tool fills.
        lines = [line for line in written.getvalue().decode().splitlines() if not EMPTY.search(line)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        path.with_suffix(".json").write_text(json_of(catalog), encoding="utf-8")


if __name__ == "__main__":
    main()
