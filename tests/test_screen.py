"""Tables on a terminal use its full width and never cut a number."""

import io

import pytest
from rich.console import Console

from audiosim.report.rank import interval_bar
from audiosim.report.screen import PlainTable
from audiosim.results.value import shortened_to

NAMES = [f"system-{i:02d}-{'x' * 26}-{i:02d}" for i in range(40)]


def shown(width):
    table = PlainTable("", ("System", "left"), "CG@5", ("95 % interval", "whole"), "Ranks", ("", "bar"))
    for i, name in enumerate(NAMES):
        bar = interval_bar(0.1, 0.5, 0.9, 0, 1)
        table.add_row(str(i + 1), name, f"0.{500 + i}", f"0.{400 + i} – 0.{600 + i}", f"{i} – {i + 3}", bar)
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_forty_systems_of_long_names_fit_and_every_number_is_whole(width):
    lines = shown(width)
    assert len(lines) == 41
    assert max(map(len, lines)) <= width
    for i, line in enumerate(lines[1:]):
        assert line.split()[0] == str(i + 1)
        for number in (f"0.{500 + i} ", f"0.{400 + i} – 0.{600 + i}", f"{i} – {i + 3}"):
            assert number in line
        assert line.split()[1].endswith(f"{i:02d}")


@pytest.mark.slow
def test_the_bar_goes_before_a_name_is_shortened():
    wide, narrow, narrower = shown(120), shown(80), shown(60)
    assert "━" in wide[1]
    assert "━" not in narrow[1]
    assert all(name in line for name, line in zip(NAMES, narrow[1:], strict=True))
    assert "…" in narrower[1]


def test_names_keep_their_ends_even_where_no_table_fits():
    assert shown(30)[1].split()[1] == "syst…-00"


def test_a_text_is_shortened_in_the_middle():
    assert shortened_to("abcdefghij", 10) == "abcdefghij"
    assert shortened_to("abcdefghij", 7) == "abc…hij"
    assert shortened_to("abcdefghij", 6) == "abc…ij"
