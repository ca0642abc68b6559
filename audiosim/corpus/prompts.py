r"""Prompts: texts of queries, in the column `prompt` of documents.tsv, beside the query's sound or instead of it.

A table has one line per document, so line ends, tabs and backslashes in a prompt are written `\n`, `\t` and `\\`.
"""

import re
from collections.abc import Mapping

from audiosim.corpus.collection import Collection
from audiosim.corpus.model import Document, queries_of
from audiosim.errors import InputError

PROMPT = "prompt"
LONGEST_PROMPT = 5000
WRITTEN = {"\\": "\\\\", "\n": "\\n", "\t": "\\t"}
READ = {written: sign for sign, written in WRITTEN.items()}


def prompt_of(documents: Mapping[str, Document], document: str) -> str:
    """The prompt of a query's document; empty if it has none."""
    known = documents.get(document)
    written = "" if known is None else known.more.get(PROMPT, "")
    return prompt_text(written)


def prompts_of(collection: Collection) -> dict[str, str]:
    """The prompt of each query that has one."""
    found = {
        query: prompt_of(collection.documents, collection.query_document(query))
        for query in queries_of(collection.runs)
    }
    return {query: text for query, text in found.items() if text}


def prompt_text(written: str) -> str:
    """A prompt, from the field of a table."""
    return re.sub(r"\\[\\nt]", lambda found: READ[found[0]], written)


def prompt_cell(text: str) -> str:
    """A prompt as written in documents.tsv; an InputError if it is empty, too long, or not text."""
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise InputError("the prompt is empty, expected text")
    if len(text) > LONGEST_PROMPT:
        raise InputError(f"the prompt has {len(text):,} characters, expected at most {LONGEST_PROMPT:,}")
    wrong = next(
        (sign for sign in text if not sign.isprintable() and ord(sign) < ord(" ") and sign not in "\n\t"), None
    )
    if wrong is not None:
        raise InputError(f"the prompt has the character {wrong!r}, which is not text")
    return re.sub(r"[\\\n\t]", lambda found: WRITTEN[found[0]], text)
