"""Tables of a program's values: data frames, dicts, objects of ranx, ir_measures and ir_datasets, structured arrays.

Nothing here imports these packages: objects are recognised by their attributes.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from audiosim.errors import InputError
from audiosim.tables.nested import of_records
from audiosim.tables.schema import Schema
from audiosim.tables.table import Table
from audiosim.text import repeated, shortened


def memory_table(given: Any, schema: Schema, source: Path | str) -> Table:
    """The table of a value.

    source  what it is called in messages, or the file that it was read from
    """
    if isinstance(given, np.ndarray) and given.dtype.names:
        return Table(source, {name: given[name].tolist() for name in given.dtype.names})
    if is_frame(given):
        names = [str(name) for name in given.columns]
        if (twice := repeated(names)) is not None:
            raise InputError(f"{source}: two columns are called {twice}, expected one")
        frame = [given[own] for own in given.columns]
        lists = [one.to_list() if hasattr(one, "to_list") else list(one) for one in frame]
        return Table(source, dict(zip(names, lists, strict=True)))
    plain = given.to_dict() if is_ranx(given) else given
    if isinstance(plain, Mapping):
        return _of_mapping(plain, schema, source)
    if isinstance(plain, str | bytes) or not isinstance(plain, Iterable):
        kind = f"the text {plain!r:.80}" if isinstance(plain, str) else type(plain).__name__
        raise InputError(f"{source}: expected {schema.memory}; got {kind}")
    rows = list(plain)
    if schema.forms and rows and all(type(row) in (tuple, list) and len(row) == len(schema.forms[0]) for row in rows):
        columns = dict(zip(schema.forms[0], map(list, zip(*rows, strict=True)), strict=True))
        return Table(source, columns, by_place=True)
    records = [_record(row, place, schema, source) for place, row in enumerate(rows)]
    return of_records(source, records, objects=schema.carried)


def is_frame(given: object) -> bool:
    """True for a data frame of pandas or Polars."""
    return hasattr(given, "columns") and hasattr(given, "__getitem__") and not isinstance(given, Mapping)


def is_ranx(given: object) -> bool:
    """True for a `Run` or `Qrels` of ranx; their dicts are not plain until `to_dict` converts them."""
    return hasattr(given, "to_dict") and not hasattr(given, "columns")


def distinct_keys(given: Mapping[Any, Any], what: str, source: Path | str) -> list[Any]:
    """The keys of a dict; an error if two of them, such as 1 and "1", become one identifier."""
    keys = list(given)
    if (twice := repeated(str(key).strip() for key in keys)) is not None:
        raise InputError(f"{source}: {what} {twice} occurs twice, expected it once")
    return keys


def _record(row: Any, place: int, schema: Schema, source: Path | str) -> dict[str, Any]:
    if isinstance(row, Mapping):
        return {str(name): value for name, value in row.items()}
    if hasattr(row, "_asdict"):
        found: dict[str, Any] = row._asdict()
        return found
    if is_dataclass(row):
        return {one.name: getattr(row, one.name) for one in fields(row)}
    raise InputError(f"{source}: row {place}: expected {schema.memory}; got {shortened(repr(row))}")


def _of_mapping(given: Mapping[Any, Any], schema: Schema, source: Path | str) -> Table:
    """A table of a dict: its keys and those of inner dicts are columns, from the outside in."""
    if not schema.keys:
        raise InputError(f"{source}: expected {schema.memory}; got a dict")
    keys = schema.keys
    levels, leaf = _levels(given)
    if "system" in schema.columns and levels + isinstance(leaf, list | tuple) == len(keys) + 1:
        keys = ("system", *keys)
    if not schema.value:
        for key in distinct_keys(given, keys[0], source):
            if not isinstance(given[key], Mapping):
                found = shortened(repr(given[key]))
                raise InputError(f"{source}: $.{key}: expected columns and values, found {found}")
        return of_records(source, [{keys[0]: key, **row} for key, row in given.items()])
    rows = list(_walk(given, keys, schema, source, ()))
    names = keys if all(len(row) == len(keys) for row in rows) else (*keys, schema.value)
    if (odd := next((row for row in rows if len(row) != len(names)), None)) is not None:
        place = "".join(f".{key}" for key in odd)
        raise InputError(f"{source}: ${place}: expected {schema.value} throughout, or an order")
    cells = map(list, zip(*rows, strict=True)) if rows else ([] for _ in names)
    return Table(source, dict(zip(names, cells, strict=True)), keys=keys)


def _levels(given: object) -> tuple[int, object]:
    """The number of levels of dicts, one within the other, and the first value inside."""
    levels = 0
    while isinstance(given, Mapping) and given:
        key, given = next(iter(given.items()))
        levels += len(key) if isinstance(key, tuple) else 1
    return levels, given


def _walk(
    value: object, keys: tuple[str, ...], schema: Schema, source: Path | str, above: tuple[Any, ...]
) -> Iterator[tuple[Any, ...]]:
    """The rows below a value: the keys that lead to each, and its value unless these are in an order."""
    if not keys:
        yield (*above, value)
    elif isinstance(value, Mapping):
        for key in distinct_keys(value, keys[0], source):
            own = key if isinstance(key, tuple) else (key,)
            yield from _walk(value[key], keys[len(own) :], schema, source, (*above, *own))
    elif len(keys) == 1 and schema.value == "score" and isinstance(value, list | tuple):
        yield from ((*above, one) for one in value)
    else:
        place = "".join(f".{key}" for key in above)
        order = f", or {keys[-1]}s, best first" if schema.value == "score" else ""
        expected = f"expected {' -> '.join(keys)} -> {schema.value}{order}"
        raise InputError(f"{source}: ${place}: {expected}, found {shortened(repr(value))}")
