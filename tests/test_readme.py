"""All examples in the README and the pages of docs/ work as shown."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SCREEN = 40  # lines
# Of the others, one is about wording, and one has its own test, with a command that is new.
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in ("style.md", "recipes.md")]
TEXTS = {page.name: page.read_text(encoding="utf-8") for page in PAGES} | {"README.md": README}
FIRST, *OTHERS = (
    text
    for name in sorted(TEXTS, key="README.md".__ne__)
    for text in re.findall(r"```python\n(.*?)```", TEXTS[name], re.DOTALL)
    if "import Client" not in text
)
COMMANDS = {command for text in TEXTS.values() for command in re.findall(r"`audiosim ([a-z]+)", text)}
LINKS = [  # pages of reference/ are written with the site
    (name, link) for name, text in TEXTS.items() for link in re.findall(r"\]\((?!reference/)([^)#:]+)\)", text)
]
# A command with its output below it.
OUTPUTS = [
    found
    for text in TEXTS.values()
    for found in re.findall(r"^    audiosim ([^\n]*)\n\n```text\n(.*?)```", text, re.M | re.DOTALL)
]
COLUMNS, NUMBER, PLOT = 84, re.compile(r"(\d+(?:\.\d+)?)"), "\u2501\u25cf\u25cb\u00b7 \n"
WORDS = 1200  # people read a README in one sitting


def shell(*command, **options):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, **options)


def test_the_first_screen_shows_the_two_commands_and_a_python_example():
    first = "\n".join(README.splitlines()[:SCREEN])
    assert "make demo" in first
    assert "make test" in first
    assert "```python" in first
    assert len([line for line in FIRST.splitlines() if line]) <= 11
    assert len(README.split()) <= WORDS


@pytest.mark.slow
@pytest.mark.parametrize("example", [FIRST, *OTHERS])
def test_the_python_examples_run_as_they_are(example, monkeypatch, capsys):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")  # the folder of the example that adds a method to the comparison
    # In this process, which has already imported most modules: a new process for each takes a second longer.
    monkeypatch.chdir(ROOT)
    exec(compile(example, "an example", "exec"), {"__name__": "__main__"})
    said = capsys.readouterr().out
    if "campaign.confidence" in example:
        assert said.count("timbre-full") == 2
    assert ("ordinalregression__ridge" in said) == ("GridSearchCV" in example)


@pytest.mark.slow
@pytest.mark.parametrize(("command", "shown"), OUTPUTS)
def test_what_a_command_prints_is_what_the_page_shows(run, command, shown, monkeypatch, tmp_path, whole_demo):
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    monkeypatch.chdir(tmp_path)
    shutil.copytree(whole_demo, "demo")
    code, said, _ = run(*command.split())
    assert code == 0
    printed, expected = (NUMBER.split("\n".join(map(str.rstrip, text.splitlines()))) for text in (said, shown))
    # Every second part is a number: another processor may round the last digit differently, and so move a dot of a
    # plot.
    assert [part.strip(PLOT) for part in printed[::2]] == [part.strip(PLOT) for part in expected[::2]]
    assert [float(one) for one in printed[1::2]] == pytest.approx([float(one) for one in expected[1::2]], abs=0.01)


def test_the_runs_that_start_shows_look_right_to_check(run, tmp_path):
    (shown,) = re.findall(r"```text\n(q1 Q0 .*?)```", TEXTS["start.md"], re.DOTALL)
    (tmp_path / "runs.trec").write_text(shown, encoding="utf-8")
    code, said, _ = run("check", str(tmp_path))
    assert (code, "wrong?" in said) == (0, False)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_named_explains_itself_with_an_example(run, command):
    code, said, _ = run(command, "--help")
    assert code == 0
    assert "Example" in said


@pytest.mark.slow
def test_make_demo_and_make_test_are_what_the_readme_says():
    # A dry run: test_package and the readers run their parts.
    environment = {key: value for key, value in os.environ.items() if key not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}}
    assert "audiosim demo" in shell("make", "-n", "demo", env=environment).stdout
    assert "-m pytest" in shell("make", "-n", "test", env=environment).stdout


def test_links_lead_somewhere():
    folders = dict.fromkeys(TEXTS, ROOT / "docs") | {"README.md": ROOT}
    assert len(LINKS) > 100
    assert [(name, link) for name, link in LINKS if not (folders[name] / link).exists()] == []
