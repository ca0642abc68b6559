"""Catalogues of the pages' messages: collects the messages, and writes gettext's .po files and the pages' .json files.

    python docs/make_languages.py

New messages are added to each .po without a translation, and unused ones are dropped. Translate the .po with any
gettext tool, then run this again. Needs babel.
"""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from audiosim.service.collections.questions import (
    BETWEEN,
    BROADLY,
    ENDS,
    ENDS_OF_ANY,
    FINELY,
    REASONS,
    STANDARD,
    YOUR_GRADE,
)
from audiosim.service.http.languages import CATALOGUES, MARKED

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog

PAGES = CATALOGUES.parent
TEXT = r'"((?:[^"\\]|\\.)*)"'
PLAIN = re.compile(rf"\b(?:t|m|tnodes)\(\s*{TEXT}")
COUNTED = re.compile(rf"\btn\(\s*{TEXT},\s*{TEXT}")

EMPTY = re.compile(r"-Date:|EMAIL@|FULL NAME|LL@li|Project-Id|Generated-By|^#")

Message = str | tuple[str, str]


def messages() -> list[Message]:
    """Every message of the pages, each once; two texts if its form depends on a number."""
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
    yield from (*REASONS, *ENDS, *ENDS_OF_ANY, BETWEEN, YOUR_GRADE, "Similar")


def _unquoted(text: str) -> str:
    found: str = json.loads(f'"{text}"')
    return found


def catalogue(path: Path) -> "Catalog":
    """The catalogue of a .po file."""
    from babel.messages.pofile import read_po  # imported here: collecting the messages needs no babel

    return read_po(io.BytesIO(path.read_bytes()), locale=path.stem)


def json_of(catalog: "Catalog") -> str:
    """A catalogue for the service and the pages: translations by message, lists of several forms."""
    said = {
        one.id if isinstance(one.id, str) else one.id[0]: (
            one.string if isinstance(one.string, str) else list(one.string or ())
        )
        for one in catalog
        if one.id
    }
    return json.dumps(said, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def updated(path: Path) -> "Catalog":
    """The catalogue of a .po file, with the present messages."""
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
        # Leave out the date, and the fields that a translator's tool fills.
        lines = [line for line in written.getvalue().decode().splitlines() if not EMPTY.search(line)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        path.with_suffix(".json").write_text(json_of(catalog), encoding="utf-8")


if __name__ == "__main__":
    main()
