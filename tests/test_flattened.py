from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from audiosim.cli.flattened import flattened


@dataclass(frozen=True)
class Point:
    east: Annotated[float, typer.Option(envvar="FLATTENED_EAST")] = 0.0
    north: float = 0.0


@dataclass(frozen=True)
class Line:
    width: Annotated[float, typer.Option(min=1)]
    start: Point
    dashed: Annotated[bool, typer.Option("--dashed")] = False


def draw(name: str, times: int = 1, *, line: Line, colour: str = "black") -> None:
    """Draw a line."""
    drawn.append((name, times, line, colour))


drawn = []
APP = typer.Typer()
APP.command()(flattened(draw))


def test_fields_are_options_where_their_value_stood_with_their_own_defaults():
    parameters = typer.main.get_command(APP).params
    assert [(one.name, one.required, one.default) for one in parameters][:7] == [
        ("name", True, None),
        ("times", False, 1),
        ("width", True, None),
        ("east", False, 0.0),
        ("north", False, 0.0),
        ("dashed", False, False),
        ("colour", False, "black"),
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["--width", "2"], ("it", 1, Line(2, Point()), "black")),
        (
            ["--north", "3", "--width", "2", "--dashed", "--colour", "red", "--times", "4"],
            ("it", 4, Line(2, Point(5, 3), dashed=True), "red"),
        ),
    ],
)
def test_a_command_gets_values_of_what_was_said(given, expected):
    environment = {"FLATTENED_EAST": "5"} if "--north" in given else {}
    drawn.clear()
    assert CliRunner().invoke(APP, ["it", *given], env=environment).exit_code == 0
    assert drawn == [expected]


def test_what_a_field_does_not_allow_is_wrong_usage():
    assert CliRunner().invoke(APP, ["it", "--width", "0.5"]).exit_code == 2
    assert CliRunner().invoke(APP, ["it"]).exit_code == 2
