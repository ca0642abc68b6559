"""Imprint of a publication: authors, licence and words for readers; and its citation."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from audiosim.errors import InputError
from audiosim.text import counted

MOST_AUTHORS, NAME_LIMIT, WORDS_LIMIT = 100, 200, 5_000
LICENCES = ("CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0", "CC0-1.0", "ODbL-1.0")  # SPDX identifiers


@dataclass(frozen=True, slots=True)
class Imprint:
    """Authors, licence and words of the publishers of a record.

    authors  names; none: the organisers of the collection
    licence  one of LICENCES; empty: none is granted
    words    text for readers, in paragraphs; empty: none
    """

    authors: tuple[str, ...] = ()
    licence: str = ""
    words: str = ""

    def __post_init__(self) -> None:
        if len(self.authors) > MOST_AUTHORS:
            raise InputError(f"expected up to {MOST_AUTHORS} authors, got {len(self.authors)}")
        for name in self.authors:
            if not name.strip() or not name.isprintable() or len(name) > NAME_LIMIT:
                raise InputError(f"an author has a name of 1 to {NAME_LIMIT} printable characters, got {name!r:.80}")
        if self.licence and self.licence not in LICENCES:
            raise InputError(f"expected a licence of {', '.join(LICENCES)}, got {self.licence!r:.80}")
        if len(self.words) > WORDS_LIMIT:
            raise InputError(f"expected up to {WORDS_LIMIT:,} characters of words, got {len(self.words):,}")

    @property
    def paragraphs(self) -> list[str]:
        """The words, in paragraphs."""
        return [part.strip() for part in self.words.splitlines() if part.strip()]


NOBODY = Imprint()


def citation_line(value: Mapping[str, Any], written: date, imprint: Imprint) -> str:
    """The citation of a record for a list of references.

    value  the record as plain values
    """
    cited = _cited(value, imprint)
    return f"{'; '.join(cited['authors'])} ({written.year}). {cited['title']} [data set]. {cited['version']}."


def citation_file(value: Mapping[str, Any], written: date, program: str, imprint: Imprint) -> str:
    """A description in the Citation File Format 1.2.0, with strings as in JSON, which YAML allows.

    program  version of audiosim
    """
    cited = _cited(value, imprint)
    quoted = {key: json.dumps(said, ensure_ascii=False) for key, said in cited.items() if isinstance(said, str)}
    authors = "".join(f"\n  - name: {json.dumps(name, ensure_ascii=False)}" for name in cited["authors"])
    licence = f"\nlicense: {imprint.licence}" if imprint.licence else ""
    return f"""cff-version: 1.2.0
message: If you use these results, please cite them as below.
type: dataset
title: {quoted["title"]}
authors:{authors}
date-released: {written.isoformat()}{licence}
version: {quoted["version"]}
abstract: {quoted["abstract"]}
identifiers:
  - type: other
    value: {quoted["identifier"]}
    description: SHA-256 of the pool of documents that were judged
references:
  - type: software
    title: audiosim
    version: {json.dumps(program)}
    authors:
      - name: The audiosim developers
"""


def _cited(value: Mapping[str, Any], imprint: Imprint) -> dict[str, Any]:
    compared = f" and {counted(value['comparisons'], 'comparison')}" if value["comparisons"] else ""
    abstract = (
        f"{len(value['systems'])} systems ranked by {value['measure']} on {value['queries']} queries, "
        f"{value['judged']} of {value['pool']} pairs judged{compared}. {value['sentence']}"
    )
    return {
        "title": f"{value['name']}: results",
        "authors": imprint.authors or (f"The organisers of {value['name']}",),
        "version": f"{counted(value['judged'], 'judged pair')}{compared}",
        "abstract": abstract,
        "identifier": f"sha256:{value['content']}",
    }
