"""Values in bodies: decoded and checked by msgspec, several times faster than validation after `json` would."""

import json
import re
from typing import Any, ClassVar, Self, TypeVar

import msgspec
from fastapi import HTTPException
from msgspec import Struct
from msgspec.inspect import CollectionType, LiteralType, StructType, Type, UnionType, type_info
from msgspec.structs import StructConfig
from pydantic_core import CoreSchema, core_schema

from audiosim.text import did_you_mean, repeated

A_BODY = 'expected an object such as {"query": "q1"}, in UTF-8'
MOST_VALUES = 500_000


MOST_STRICT_BYTES = 64 * 2**10


NOT_FINITE = re.compile(rb"(NaN|Infinity)\b")


UNKNOWN = re.compile(r"(?:unknown field|Invalid enum value) [`'](.*?)[`'](?: - at `\$)?([^`]*)")


PLACE = re.compile(r"\(byte (\d+)\)")


PLACE_OF_VALUE = re.compile(r" - at (`(?:key` in `)?\$[^`]*`)$")


# Words of msgspec, which are those of Python, and ours.
TYPES = {"str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false", "array": "a list"}
TYPES |= {"object": "an object"}
REPLACED = {
    "Expected": "expected",
    "Object missing required field": "expected the field",
    "Object contains unknown": "unknown",
    "Invalid enum": "unknown",
    "Invalid": "invalid",
    "Number": "number",
}
BOUNDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}


Value = TypeVar("Value")


class OnWire:
    """A value in a body; routes use it like any model that FastAPI knows.

    Its docstring lists its fields. These mean the same in every value that does not say otherwise:

    about           subject of every statement: its queries and its listeners
    aspect          aspect that is ranked by; mean for the mean of all
    assessor        name of the person who judges
    basis           "predicted, nothing judged", or the number of judged pairs that were used
    broad           grade on the broad scale
    by              name of the person who did it
    collection      identifier of the collection
    confidence      mean confidence in the order of two systems, .5 to 1; null if there is nothing to order
    created         time of its making, ISO 8601
    cutoff          depth of the pool: results of each system and query that are judged
    days            validity in days; no limit if not given
    document        identifier of the document
    document_peaks  address of the waveform of the document's recording; null if there is none
    document_sound  address of the document's recording; null if there is none
    ended           true if it admits nobody any more
    expectation     expected value
    expires         time of its end, ISO 8601; null for never
    fine            grade on the fine scale
    fit             check of the model against the judgments: PASS, FAIL or NOT CHECKED
    fit_sentence    the check in words
    goal            stopping rule of the campaign, such as confidence=0.95
    high            upper end of the 95 % interval
    include         what else to send with each row
    judged          number of judged pairs of the pool
    judgments       number of judgments
    low             lower end of the 95 % interval
    measure         measure of the ranking, such as nDCG@5
    model           name of the model
    name            name, as others see it
    number          number of the line in the campaign's log
    pool            number of pairs in the pool
    preliminary     true while the forecast is still being computed: there are no figures yet
    query           identifier of the query
    query_peaks     address of the waveform of the query's recording; null if there is none
    query_sound     address of the query's recording; null if there is none
    query_text      prompt of the query in words; null if it has none
    rank            place in the ranking, from 1
    reached         true if the stopping rule is met
    reason          reason, as the log keeps it
    scale           name of the scale
    sentence        the result in words
    state           number of the last line of the campaign's log that this value takes into account
    status          state of the campaign: open, paused or closed
    system          name of the system
    systems         one entry for each system, best first
    time            time in ISO 8601, UTC
    top_k           number K of best systems that the probabilities `top` are about
    variance        variance of the pair's grade
    version         version of the model; models of one version predict the same
    widened         factor by which deviations are widened after the check FAIL; else 1
    """

    __slots__ = ()
    __struct_fields__: ClassVar[tuple[str, ...]]
    __struct_config__: ClassVar[StructConfig]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        encoded = core_schema.plain_serializer_function_ser_schema(msgspec.to_builtins)
        return core_schema.no_info_plain_validator_function(cls.taken, serialization=encoded, ref=cls.__name__)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        return {"title": cls.__name__}  # `document.describe` fills it in

    @classmethod
    def taken(cls, value: bytes | Self) -> Self:
        """Decode a body; a value is returned unchanged."""
        return decode(value, cls) if isinstance(value, bytes) else value

    @classmethod
    def of(cls, value: object, **more: object) -> Self:
        """A value from the fields of the same names of another one, and from further fields."""
        return cls(**{name: getattr(value, name) for name in cls.__struct_fields__ if name not in more}, **more)


class Wire(OnWire, Struct):
    """A value in a body with fields of its own; `OnWire` alone sends a value of another room, with its fields."""


class OfState(Wire):
    """A value of a collection in one state of its campaign."""

    collection: str
    state: int


class Strict(Wire):
    """A value that is stored in a log for ever; ambiguous JSON and long bodies are refused.

    If a key is repeated, readers take either the first or the last value (RFC 8259, section 4), so its meaning is
    unknown. A lone surrogate is valid JSON, but not text.
    """

    @classmethod
    def taken(cls, value: bytes | Self) -> Self:
        """Decode a short body; a value is returned unchanged."""
        return _decode_strictly(value, cls) if isinstance(value, bytes) else value


def decode(body: bytes, kind: type[Value]) -> Value:
    """The value in a JSON body: 400 if it is not JSON, 422 if it has the wrong form or a key twice."""
    # Decoding blocks every other thread for some 50 ns per value: many more values would delay all requests.
    if len(body) > MOST_VALUES and body.count(b",") > MOST_VALUES:
        raise HTTPException(422, f"a body may hold {MOST_VALUES} values at most, this one has more commas than that")
    try:
        value = msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise HTTPException(422, f"{in_our_words(str(error))}{known_there(str(error), kind)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        place = PLACE.search(str(error))
        if place and NOT_FINITE.match(body, int(place[1])):
            raise HTTPException(422, f"every number must be finite {place[0]}") from None
        raise HTTPException(400, f"the body is not JSON: {encoding_hint(body) or f'{error}, {A_BODY}'}") from None
    _check_keys(body)
    return value


def in_our_words(problem: str) -> str:
    """Message of msgspec in our words, with the place of the value first: judgments[3].grade."""
    place = PLACE_OF_VALUE.search(problem)
    said = problem[: place.start()] if place else problem
    start = next((one for one in REPLACED if said.startswith(one)), "")
    said = f"{REPLACED.get(start, '')}{said.removeprefix(start)}"
    if start == "Expected":
        said = re.sub(
            r"`([^`]*)`", lambda one: " or ".join(TYPES.get(name, name) for name in one[1].split(" | ")), said
        )
        said = re.sub(r"(of length )?([<>]=?) ", lambda one: f"of {'length ' * bool(one[1])}{BOUNDS[one[2]]} ", said)
    return f"{place[1].replace('`', '').replace('$.', '').replace('$', 'the body')}: {said}" if place else said


def known_there(problem: str, kind: type) -> str:
    """End of an error about an unknown field or value: those that are known there, and the nearest one."""
    unknown = UNKNOWN.search(problem)
    if unknown is None:
        return ""
    there = _names(type_info(kind))
    for name in re.findall(r"\.(\w+)", unknown[2]):
        there = _names(there[name]) if name in there else {}  # a name within a table by name
    return f": expected {', '.join(there)}{did_you_mean(unknown[1], there)}" if there else ""


def _names(of: Type) -> dict[str, Type]:
    """The fields of an object, or the values of a choice, which may be optional or in a list, by name."""
    for one in of.types if isinstance(of, UnionType) else (of,):
        if isinstance(one, StructType):
            return {field.encode_name: field.type for field in one.fields}
        if isinstance(one, LiteralType):
            return {str(value): one for value in one.values}
        if isinstance(one, CollectionType):
            return _names(one.item_type)
    return {}


def encoding_hint(body: bytes) -> str:
    """Hint at the encoding problem of a body that should be JSON in UTF-8, or nothing."""
    if body.startswith(b"\xef\xbb\xbf"):
        return "it starts with a byte order mark, expected none"
    if body.startswith((b"\xff\xfe", b"\xfe\xff")) or body[1:4:2] == b"\0\0" or body[:3:2] == b"\0\0":
        return "it looks like UTF-16 or UTF-32, expected UTF-8"
    return ""


def _decode_strictly(body: bytes, kind: type[Value]) -> Value:
    if len(body) > MOST_STRICT_BYTES:
        raise HTTPException(413, f"such a body may have {MOST_STRICT_BYTES} bytes at most, got {len(body)}")
    if hint := encoding_hint(body):
        raise HTTPException(422, f"the body is not JSON: {hint}")
    try:
        return decode(body, kind)
    except HTTPException as error:
        if error.status_code == 400 and _is_json(body):
            raise HTTPException(422, "the body contains a lone surrogate, which is not text") from None
        raise


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _check_keys(body: bytes) -> None:
    try:
        json.loads(body, object_pairs_hook=_check_unique)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"the body is not JSON: {error}, {A_BODY}") from None


def _check_unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise HTTPException(422, f"the key {repeated(name for name, _ in pairs)!r:.80} occurs twice, expected it once")
    return found
