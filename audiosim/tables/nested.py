"""Judgments in nested files: XML, and JSON as written by ranx. Each pair becomes a row, as in a table.

XML is read by the names of its parts, at any depth; each may be an element or an attribute:

    <judgment query="q1" document="d1" assessor="ann" fine="63" broad="SS"/>
    <query id="q1"><candidate id="d1"><broad>VS</broad></candidate></query>

ranx: {"q1": {"d1": 2, "d2": 0}}, grades by query and document.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from audiosim.errors import FormatError, InputError
from audiosim.tables.schema import check_identifier
from audiosim.tables.text import Lines, parse_json
from audiosim.text import quoted, repeated, shortened

JudgmentRows = Iterator[tuple[int, dict[str, str]]]
NAMES = {
    **dict.fromkeys(("query", "topic", "seed", "query_id", "qid"), "query"),
    **dict.fromkeys(("document", "doc", "candidate", "result", "document_id", "docid", "docno"), "document"),
    **dict.fromkeys(("grade", "rel", "relevance", "score"), "grade"),
    **dict.fromkeys(("assessor", "grader", "evaluator", "user"), "assessor"),
    **{name: name for name in ("fine", "broad", "group", "time")},
}
OF_ELEMENT = ("id", "name", "value")  # names of attributes with the value of their element
DEEPEST = 100  # open elements
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
    parser.CharacterDataHandler = reader.text
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
class _Element:
    """An open element.

    known    its values, from attributes and from inner elements
    before   number of judgments found before it
    words    its text
    inner    True if it has inner elements
    several  names of the values that differ between its inner elements
    """

    known: dict[str, str]
    before: int
    words: list[str] = field(default_factory=list)
    inner: bool = False
    several: set[str] = field(default_factory=set)


@dataclass
class _Reader:
    """Collects judgments while a parser goes through a file.

    line   number of the current line
    open   open elements, outermost first
    found  the judgments so far
    """

    path: Path
    line: int = 1
    open: list[_Element] = field(default_factory=list)
    found: list[tuple[int, dict[str, str]]] = field(default_factory=list)

    def refuse_entity(self, *_: object) -> None:
        raise FormatError(self.path, self.line, "the file declares an entity, expected plain XML")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self.open) >= DEEPEST:
            raise FormatError(self.path, self.line, f"nested too deeply, expected up to {DEEPEST} open elements")
        if self.open:
            self.open[-1].inner = True
        known: dict[str, str] = {}
        for key, value in attributes.items():
            self._note(known, NAMES.get(key.lower()), value)
        self._note(
            known, NAMES.get(name.lower()), next((attributes[key] for key in OF_ELEMENT if key in attributes), "")
        )
        self.open.append(_Element(known, len(self.found)))

    def text(self, words: str) -> None:
        self.open[-1].words.append(words)

    def end(self, name: str) -> None:
        element, own = self.open.pop(), NAMES.get(name.lower())
        known, words = element.known, "".join(element.words).strip()
        if words and element.inner and (known or own is not None or element.before < len(self.found)):
            problem = f"found the text {quoted(words)} beside elements in {shortened(name)}, expected one or the other"
            raise FormatError(self.path, self.line, problem)
        self._note(known, own, words)
        if "document" in known and any(value in known for value in VALUES):
            self._add(element)
        elif self.open and element.before == len(self.found):
            outer = self.open[-1]  # its value describes the enclosing element
            outer.several |= element.several
            outer.several |= {key for key, value in known.items() if outer.known.setdefault(key, value) != value}

    def _note(self, known: dict[str, str], key: str | None, value: str) -> None:
        value = value.strip()
        if key is None or not value:
            return
        if key in known:
            both = f"{quoted(known[key])} and {quoted(value)}"
            raise FormatError(self.path, self.line, f"{key} is given twice, {both}, expected it once")
        known[key] = value

    def _add(self, element: _Element) -> None:
        row, several = {"query": ""}, set[str]()
        for one in (*self.open, element):
            row |= one.known
            several = several - one.known.keys() | one.several
        if several:
            raise FormatError(self.path, self.line, f"{min(several)} is given twice, expected it once")
        self.found.append((self.line, row))


def ranx_rows(path: Path, lines: Lines, column: str) -> JudgmentRows:
    """The judgments of a JSON file of numbers by query and document; as it is one JSON value, errors name no line.

    column  column of the numbers: `grade`, or `group`
    """
    for query, document, number in ranx_values(path, lines):
        yield 1, {"query": query, "document": document, column: number}


def ranx_values(path: Path, lines: Lines) -> Iterator[tuple[str, str, str]]:
    """Query, document and number, as text, of a JSON file of numbers by query and document."""
    text = "\n".join(text for _, text in lines)
    table = parse_json(path, 1, text, "numbers by query and document", str)
    for query, documents in _named(path, "query", table):
        for document, number in _named(path, "document", documents):
            if not isinstance(number, str):
                raise InputError(f"{path}: expected a number for query {query}, document {document}")
            yield query, document, number


def _named(path: Path, kind: str, table: Any) -> Iterator[tuple[str, Any]]:
    """The entries of an object by their names, without white space around them."""
    if not isinstance(table, dict):
        raise InputError(f"{path}: expected numbers by query and document, found {shortened(str(table))}")
    names = [name.strip() for name in table]
    for name in names:
        check_identifier(path, 1, kind, name)
    if (twice := repeated(names)) is not None:
        raise FormatError(path, 1, f"{kind} {shortened(twice)} occurs twice, expected it once")
    return zip(names, table.values(), strict=True)
