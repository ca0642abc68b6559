"""Results become plain values, whatever they hold."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from audiosim.collection.values import FINE
from audiosim.measures.measure import parse_measure
from audiosim.results.value import Result, Value, plain, rows_of


class Both(NamedTuple):
    a: int
    b: tuple[np.float64, ...]


@dataclass(frozen=True, slots=True)
class Inner(Value):
    share: np.float32
    _kept: object = None


@dataclass(frozen=True, slots=True, eq=False)
class Outer(Result):
    inner: Inner
    pairs: tuple[Both, ...]
    table: np.ndarray
    by: dict[object, object]


def test_every_kind_of_value_becomes_what_json_holds():
    outer = Outer(
        Inner(np.float32(0.5), object()),
        (Both(1, (np.float64("inf"), np.float64(2))),),
        np.array([[1, 2], [3, 4]]),
        {1: parse_measure("CG@5"), "path": Path("a"), "none": None, "flag": np.bool_(True), "nan": float("nan")},
    )
    expected = {
        "inner": {"share": 0.5},
        "pairs": [{"a": 1, "b": [None, 2.0]}],
        "table": [[1, 2], [3, 4]],
        "by": {"1": "CG@5", "path": "a", "none": None, "flag": True, "nan": None},
    }
    assert outer.to_dict() == expected
    assert json.loads(json.dumps(outer.to_dict(), allow_nan=False)) == expected
    assert outer.rows() == [expected]
    assert plain(FINE)["name"] == "fine"


def test_rows_of_columns_hold_numbers_of_python():
    rows = rows_of({"name": ["a", "b"], "n": np.array([1, 2]), "ok": np.array([True, False])})
    assert rows == [{"name": "a", "n": 1, "ok": True}, {"name": "b", "n": 2, "ok": False}]
    assert {type(value) for row in rows for value in row.values()} == {str, int, bool}


def test_a_result_without_rows_is_a_table_without_rows():
    @dataclass
    class Found(Result):
        _index = ("query", "document")

        def rows(self):
            return []

    table = Found().to_frame()
    assert (len(table), list(table.index.names)) == (0, ["query", "document"])
