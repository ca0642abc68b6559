"""Nested files: JSON, and judgments in XML.

JSON Lines, and a list of objects, have one row per object. Other JSON is a value of nested objects, such as
{"q1": {"d1": 2, "d2": 0}}, which `audiosim.tables.memory` makes a table as it does with a dict.

XML is read by the names of its parts, in the words of the schema, at any depth; each may be an element or an attribute:

    <judgment query="q1" document="d1" assessor="ann" fine="63" broad="SS"/>
    <query id="q1"><candidate id="d1"><broad>VS</broad></candidate></query>
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from audiosim.errors import FormatError, InputError
from audiosim.tables.schema import Schema
from audiosim.tables.table import Table
from audiosim.tables.text import Lines, parse_json
from audiosim.text import quoted, shortened

OF_ELEMENT = ("id", "name", "value")  # names of attributes with the value of their element
EXPECTED = "one object per line, a list of objects, or values by query and document"
DEEPEST = 100  # open elements
MOST_EMPTY, SOME_EMPTY = 50, 1_000_000  # empty cells of a table for each value, and beside these


def read_json(path: Path, lines: Lines, objects: Sequence[str] = ()) -> Table | Any:
    """The rows of JSON Lines, or the value of other JSON; `objects` as for `of_records`."""
    texts = list(lines)
    first = parse_json(path, *texts[0], EXPECTED) if len(texts) == 1 else _alone(texts[0][1])
    if isinstance(first, dict) and not all(isinstance(value, dict | list) for value in first.values()):
        return of_records(path, [_record(path, *text) for text in texts], [number for number, _ in texts], objects)
    if len(texts) == 1:
        return first
    return parse_json(path, texts[0][0], "\n".join(text for _, text in texts), EXPECTED)


def of_records(
    source: Path | str, records: list[dict[str, Any]], lines: list[int] | None = None, objects: Sequence[str] = ()
) -> Table:
    """A table of objects with named values; objects in them are left out, except under the names `objects`."""
    found = (one for record in records for one in record.items())
    names = dict.fromkeys(name for name, value in found if not isinstance(value, dict) or name in objects)
    if len(names) * len(records) > MOST_EMPTY * sum(map(len, records)) + SOME_EMPTY:
        said = f"{len(names):,} names in {len(records):,} objects"
        raise InputError(f"{source}: expected objects with much the same names, found {said}")
    columns = {name: [record.get(name) for record in records] for name in names}
    return Table(source, columns, lines)


def _alone(line: str) -> object:
    """The JSON value of a line; None if it goes on."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _record(path: Path, number: int, text: str) -> dict[str, Any]:
    record = parse_json(path, number, text, "one object per line")
    if not isinstance(record, dict):
        raise FormatError(path, number, f"expected a JSON object, one per line, found {shortened(text)}")
    return record


def read_xml(path: Path, schema: Schema, lines: Lines) -> Table:
    """The rows of an XML file: a document with a number of a kind, and the line on which it ends."""
    reader = _Reader(path, {word: name for name, words in schema.columns.items() for word in words}, schema.numbers)
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
        wanted = f"{', '.join(schema.required)} and {' or '.join(schema.numbers)}"
        raise InputError(f"{path}: holds no {schema.what}, expected elements with {wanted}")
    return of_records(path, [row for _, row in reader.found], [number for number, _ in reader.found])


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
    """Collects rows while a parser goes through a file.

    names    column of each name that an element or attribute may have
    numbers  columns of numbers, one of which each row has
    line     number of the current line
    open     open elements, outermost first
    found    the rows so far
    """

    path: Path
    names: Mapping[str, str]
    numbers: Sequence[str]
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
            self._note(known, self.names.get(key.lower()), value)
        value = next((attributes[key] for key in OF_ELEMENT if key in attributes), "")
        self._note(known, self.names.get(name.lower()), value)
        self.open.append(_Element(known, len(self.found)))

    def text(self, words: str) -> None:
        self.open[-1].words.append(words)

    def end(self, name: str) -> None:
        element, own = self.open.pop(), self.names.get(name.lower())
        known, words = element.known, "".join(element.words).strip()
        if words and element.inner and (known or own is not None or element.before < len(self.found)):
            problem = f"found the text {quoted(words)} beside elements in {shortened(name)}, expected one or the other"
            raise FormatError(self.path, self.line, problem)
        self._note(known, own, words)
        if "document" in known and any(value in known for value in self.numbers):
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
