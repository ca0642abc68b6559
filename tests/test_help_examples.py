"""The examples in the help texts: every command has one, and each runs unchanged in the folder of demo.

Here demo is the output of `audiosim demo demo`, with ten of its queries, a quarter of its sounds and half of its
systems, so that all examples run in seconds. Those that a page of the documentation has too run where it is tested.
"""

import csv
import re
import shlex
import shutil
from pathlib import Path

import pytest
import typer

from audiosim import cli
from audiosim.people.study_log import StudyLog, read_study
from tests.service.test_documented_in_order import FOUND

# Other files run the examples of the service (tests/service/test_served_examples.py), the demo (tests/test_cli.py),
# and `study serve` (tests/service/test_study_app.py);
# no test has a cluster for the last one.
ELSEWHERE = re.compile(r"audiosim (serve|study serve|demo)|http://|s3://|tcp://")
LONG = (
    *("--evidence", "--learn", "--compare", "chroma", "--folds"),
    *(f"audiosim {command}" for command in ("extract", "init", "plan", "report", "worth")),
)


def commands(group=None, name="audiosim"):
    """Name and command of everything that can be called."""
    group = group or typer.main.get_command(cli.app)
    context = typer.Context(group, info_name=name)
    for one in group.list_commands(context):
        command = group.get_command(context, one)
        if hasattr(command, "list_commands"):
            yield from commands(command, f"{name} {one}")
        else:
            yield f"{name} {one}", command


def examples(command):
    """Commands in backquotes after the word Example."""
    said = command.help.partition("Example")[2]
    return [" ".join(text.split()) for text in re.findall(r"`([^`]*audiosim [^`]+)`", said)]


COMMANDS = dict(commands())
DOCUMENTED = set().union(*FOUND.values())  # run there in the same demo
HERE = [
    text
    for command in COMMANDS.values()
    for text in examples(command)
    if not ELSEWHERE.search(text) and tuple(shlex.split(text)[1:]) not in DOCUMENTED
]
MARKED = [pytest.param(text, marks=pytest.mark.slow if any(one in text for one in LONG) else ()) for text in HERE]


CLIPS = 6  # clips to describe again
SMALLER = {"calibration demo": "calibration demo --parts 2 --jobs 1", "judgments=100": "judgments=5"}  # else seconds


@pytest.mark.parametrize("name", [name for name in COMMANDS if not re.search(r"serve|demo", name)])
def test_words_that_functions_share_with_commands_name_no_option(name):
    command = COMMANDS[name]
    words = [command.help.partition("Example")[0], *(getattr(one, "help", None) or "" for one in command.params)]
    assert [one for one in words if re.search(r"(?<!\S)`?--[a-z]", one)] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_an_example_of_itself(name):
    assert any(f"{name} " in text for text in examples(COMMANDS[name]))


@pytest.fixture
def place(tmp_path, monkeypatch, small_demo):
    """A folder with demo in it, to run an example in."""
    shutil.copytree(small_demo, tmp_path / "demo")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mine(place):
    """A collection that two people have judged completely."""
    shutil.copytree(place / "demo" / "runs", place / "mine" / "runs")
    truth = [line.split() for line in (place / "demo" / "truth.qrels").read_text("utf-8").splitlines()]
    with (place / "mine" / "judgments.csv").open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["query", "document", "fine", "assessor"])
        for number, (query, _, document, grade) in enumerate(truth):
            rows.writerow([query, document, grade, "ann"])
            rows.writerow([query, document, min(100, max(0, int(float(grade)) + number % 21 - 10)), "bob"])


def prepare(place, run, answer_study, words):
    """Make the files that the example needs beside demo."""
    if "mine" in words:
        mine(place)
    if words[1] in ("extract", "init"):
        for path in sorted((place / "demo" / "sounds").iterdir())[CLIPS:]:
            path.unlink()
    if words[1] == "satisfaction":
        run(*shlex.split("study sample demo --judgments demo/truth.qrels --wanted 20 -o answers.tsv"))
        answer_study(place / "answers.tsv")
    if words[1:3] == ["study", "answers"]:
        (place / "examples.tsv").write_text("answer\tquery\tA1\tB1\n\tq1\td1\td2\n", encoding="utf-8")
        StudyLog.open(place / "study.jsonl", read_study(place / "examples.tsv"))[0].close()
    if "monday.jsonl" in words and words[1] != "backup":
        run(*shlex.split("backup --db sqlite:///demo/campaign.db -o monday.jsonl"))
    if words[1] == "take-back":
        run("set-aside", *words[2:])
    if words[1:3] == ["token", "revoke"]:
        run(*shlex.split("token create --role assessor --name ann --db sqlite:///demo/campaign.db"))
    for release in (word for word in words if word.startswith("release-")):
        code, result, _ = run(*shlex.split("estimate demo --model mjud --format json"))
        assert code == 0
        (place / release).write_text(result, encoding="utf-8")
    if "new-system.trec" in words:
        shutil.copy(place / "demo" / "runs" / "harmony.trec", place / "new-system.trec")
    if "rows.csv" in words:
        (place / "rows.csv").write_text("fSYS,OV,fART,sGEN,fGEN\n.5,.2,.1,1,.3\n", encoding="utf-8")
    if any(word.startswith("shards/") for word in words):
        shutil.copytree(place / "demo" / "sounds.index", place / "shards" / "one.index")


@pytest.mark.slow
@pytest.mark.usefixtures("unspread")
@pytest.mark.parametrize("text", MARKED)
def test_an_example_runs(text, place, run, answer_study):
    for long, short in SMALLER.items():
        text = text.replace(long, short)
    words = shlex.split(text)
    prepare(place, run, answer_study, words)
    spread = [str(path) for word in words[1:] for path in (sorted(Path().glob(word)) if "*" in word else [word])]
    code, _, said = run(*spread)
    assert code == 0, said
    for output in (words[place + 1] for place, word in enumerate(words) if word in ("-o", "--output")):
        assert Path(output).exists()


COMPLETED = """
begin()
os.environ |= {"_AUDIOSIM_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
sys.argv = ["audiosim"]
from audiosim.cli import main
main()
"""


@pytest.mark.slow
def test_the_shell_completes_commands_and_options(together):
    found = together(COMPLETED, {"words": "audiosim est"}, {"words": "audiosim estimate --meas"})
    assert [said.split() for _, said in found] == [["estimate"], ["--measure"]]


def test_a_command_that_is_misspelt_is_answered_with_the_nearest_one(run):
    code, out, err = run("estimte", "demo")
    assert (code, out) == (2, "")
    assert "no such command 'estimte'; did you mean estimate?" in " ".join(err.split())
