"""Commands on the pages name existing commands and options, in a valid form."""

import re
import shlex
from pathlib import Path

import click
import pytest
import typer

from audiosim import cli

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = re.compile(r"^(?: {4}|\$ )?(audiosim [a-z](?:.*\\\n)*.*)$|`(audiosim [a-z][^`]*)`", re.MULTILINE)
PLACEHOLDER = re.compile(r"\.\.\.|…|\||\[")  # a form of a command, not a command


def documented():
    for page in PAGES:
        for one in COMMAND.finditer(page.read_text("utf-8")):
            text = (one[1] or one[2]).replace("\\\n", " ").split("   #")[0]
            if not PLACEHOLDER.search(text.split("--fail-unless")[0]):
                yield f"{page.name}: {' '.join(text.split())}"


COMMANDS = typer.main.get_command(cli.app)
# A line of prose may also begin with the program's name.
FOUND = sorted(one for one in set(documented()) if one.split()[2] in COMMANDS.list_commands(click.Context(COMMANDS)))


def test_the_pages_hold_many_commands():
    assert len(FOUND) > 40


@pytest.mark.parametrize("where", FOUND)
def test_a_documented_command_has_the_options_that_it_is_given(where):
    words, command = shlex.split(where.partition(": audiosim ")[2], comments=True), COMMANDS
    while hasattr(command, "list_commands") and words:
        command = command.get_command(click.Context(command), words.pop(0))
        assert command is not None
    known = {"--help"}.union(*({*one.opts, *one.secondary_opts} for one in command.params))
    assert {word.split("=")[0] for word in words if word.startswith("--")} <= known
