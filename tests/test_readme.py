"""What the README shows works as it is shown."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SCREEN = 40  # lines
EXAMPLES = [text for text in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "service.client" not in text]
COMMANDS = re.findall(r"`audiosim ([a-z]+)", README)


def run(*command, **options):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, **options)


def test_the_first_screen_shows_the_two_commands_and_a_python_example():
    first = "\n".join(README.splitlines()[:SCREEN])
    assert "make demo" in first
    assert "make test" in first
    assert "```python" in first
    assert len([line for line in EXAMPLES[0].splitlines() if line]) <= 11


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_python_examples_run_as_they_are(example):
    said = run(sys.executable, "-W", "error", "-c", example).stdout
    assert said.count("timbre-full") == (2 if "confidence" in example else 0)
    assert ("ordinalregression__ridge" in said) == ("GridSearchCV" in example)


@pytest.mark.parametrize("command", sorted(set(COMMANDS)))
def test_every_command_named_explains_itself_with_an_example(command):
    said = run(sys.executable, "-m", "audiosim.cli", command, "--help").stdout
    assert "Example" in said


def test_make_demo_and_make_test_are_what_the_readme_says():
    # Run dry: their parts are run by test_package and by whoever reads this.
    environment = {key: value for key, value in os.environ.items() if key not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}}
    assert "audiosim demo" in run("make", "-n", "demo", env=environment).stdout
    assert "-m pytest" in run("make", "-n", "test", env=environment).stdout
