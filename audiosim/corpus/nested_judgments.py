"""Judgments in nested files: XML, and JSON as written by ranx. Each pair becomes a row, as in a table.

XML is read by the names of its parts, at any depth; each may be an element or an attribute:

    <judgment query="q1" document="d1" assessor="ann" fine="63" broad="SS"/>
    <query id="q1"><candidate id="d1"><broad>VS</broad></candidate></query>

ranx: {"q1": {"d1": 2, "d2": 0}}, grades by query and document.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from audiosim.corpus.lines import Lines
from audiosim.errors import FormatError, InputError
from audiosim.messages import repeated, shortened

JudgmentRows = Iterator[tuple[int, dict[str, str]]]
NAMES = {
    **dict.fromkeys(("query", "topic", "seed", "query_id", "qid"), "query"),
    **dict.fromkeys(("document", "doc", "candidate", "result", "document_id", "docid", "docno"), "document"),
    **dict.fromkeys(("grade", "rel", "relevance", "score"), "grade"),
    **dict.fromkeys(("assessor", "grader", "evaluator", "user"), "assessor"),
    **{name: name for name in ("fine", "broad", "group", "time")},
}
OF_ELEMENT = ("id", "name", "value")  # names of attributes with the value of their element
VALUES = ("grade", "fine", "broad", "group")


def is_xml(line: str) -> bool:
    """True if a file that starts with a line is XML."""
    return line.lstrip().startswith("<") and ("<?xml" in line or line.rstrip().endswith(">"))


def xml_rows(path: Path, lines: Lines) -> JudgmentRows:
    """The judgments of an XML file, each with the line on which it ends."""
    reader = _Reader(path)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.CharacterDataHandler = reader.words.append
    parser.EndElementHandler = reader.end
    # Entities are refused, as they let a small file expand into a huge one.
    parser.EntityDeclHandler = reader.refuse_entity
    try:
        for reader.line, text in lines:
            # A declaration may name another encoding, but the text is already decoded from UTF-8.
            parser.Parse(text.partition("?>")[2] if text.startswith("<?xml") else f"{text}\n")
        parser.Parse("", True)
    except expat.ExpatError as error:
        raise FormatError(path, reader.line, f"not XML: {expat.errors.messages[error.code]}") from None
    if not reader.found:
        raise InputError(f"{path}: holds no judgment, expected elements with query, document and grade, fine or broad")
    yield from reader.found


@dataclass
class _Reader:
    """Collects judgments while a parser goes through a file.

    line   number of the current line
    open   known values of each open element, outermost first, and the number of judgments before it
    words  text of the innermost open element
    found  the judgments so far
    """

    path: Path
    line: int = 1
    open: list[tuple[dict[str, str], int]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    found: list[tuple[int, dict[str, str]]] = field(default_factory=list)

    def refuse_entity(self, *_: object) -> None:
        raise FormatError(self.path, self.line, "the file declares an entity, expected plain XML")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        own = NAMES.get(name.lower())
        known = {NAMES[key.lower()]: value for key, value in attributes.items() if key.lower() in NAMES}
        if own is not None:
            known[own] = next((attributes[key] for key in OF_ELEMENT if key in attributes), known.get(own, ""))
        self.open.append(({key: value.strip() for key, value in known.items() if value.strip()}, len(self.found)))
        self.words.clear()

    def end(self, name: str) -> None:
        (known, before), own, words = self.open.pop(), NAMES.get(name.lower()), "".join(self.words).strip()
        self.words.clear()
        if own is not None and words:
            known.setdefault(own, words)
        if "document" in known and any(value in known for value in VALUES):
            around = {key: value for outer, _ in self.open for key, value in outer.items()}
            self.found.append((self.line, {"query": ""} | around | known))
        elif self.open and before == len(self.found):
            self.open[-1][0].update(known)  # its value describes the enclosing element


def ranx_rows(path: Path, lines: Lines, column: str) -> JudgmentRows:
    """The judgments of a JSON file of numbers by query and document; as it is one JSON value, errors name no line.

    column  column of the numbers: `grade`, or `group`
    """
    for query, document, number in ranx_values(path, lines):
        yield 1, {"query": query, "document": document, column: number}


def ranx_values(path: Path, lines: Lines) -> Iterator[tuple[str, str, str]]:
    """Query, document and number, as text, of a JSON file of numbers by query and document."""
    try:
        table = json.loads(
            "\n".join(text for _, text in lines), object_pairs_hook=_once, parse_float=str, parse_int=str
        )
    except json.JSONDecodeError as error:
        raise FormatError(path, error.lineno, f"not JSON: {error.msg}") from None
    except RecursionError:
        raise FormatError(path, 1, "not JSON: nested too deeply") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    for query, documents in table.items() if isinstance(table, dict) else [("", table)]:
        if not isinstance(documents, dict):
            raise InputError(f"{path}: expected numbers by query and document, found {shortened(str(documents))}")
        for document, number in documents.items():
            if not isinstance(number, str):
                raise InputError(f"{path}: expected a number for query {query}, document {document}")
            yield query, document, number


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if (twice := repeated(name for name, _ in pairs)) is not None:
        raise InputError(f"{shortened(twice)} occurs twice, expected it once")
    return dict(pairs)
