"""A wrong word in an option is wrong usage, exit code 2, in every command: scripts can tell it from a wrong file."""

import shutil
from inspect import signature
from pathlib import Path

import pytest
import typer

from audiosim import cli, extract
from audiosim.cli.command import command_of
from audiosim.cli.verbs import COMMANDS, Group

DEMO = Path(__file__).resolve().parents[1] / "fixtures" / "demo"
TRUTH = ["--judgments", DEMO / "truth.qrels"]
STUDY = "answer\tquery\tA1\tA2\tB1\tB2\tfine_A1\tfine_A2\tfine_B1\tfine_B2\na\tq\tx\ty\tz\tw\t10\t20\t30\t40\n"
# Words that are the user's own, so that none is wrong in itself, or that name a file, a folder or an address.
OWN = {
    "assessor", "collection", "collections", "completion_code", "config", "db", "document", "home", "host", "judge",
    "judgments", "name", "query", "reason", "scheduler", "service", "sounds", "source", "sources", "system", "target",
    "team", "tokens", "allowed_host", "without",
}  # fmt: skip
JUDGED = {"evaluate", "fits", "reliability", "simulate", "rules", "calibration", "worth", "check"}
RIGHT = {"a": "timbre-full", "b": "random", "model": "mout-fine"}  # what a test's arguments are without the wrong one
TEXT = (str, str | None, list[str], list[str] | None)
VERBS = [
    (name, *inner)
    for name, place in COMMANDS.items()
    for inner in ([[one] for one in place.verbs] if isinstance(place, Group) else [[]])
]


def texts(words):
    """Arguments and options of a command that are texts, by name."""
    place, group = COMMANDS[words[0]], typer.main.get_command(cli.app)
    verb, command = place, group.get_command(typer.Context(group), words[0])
    for word in words[1:]:
        verb, command = place.verbs[word], command.commands[word]
    kinds = {name: one.annotation.__origin__ for name, one in signature(command_of(verb)).parameters.items()}
    return {one.name: one for one in command.params if kinds.get(one.name) in TEXT and one.name not in OWN}


CASES = [(words, name) for words in VERBS for name in texts(words)]


@pytest.fixture(scope="module")
def rest(tmp_path_factory):
    """Arguments that each command needs besides, by the words of its name."""
    folder = tmp_path_factory.mktemp("wrong")
    (folder / "answers.tsv").write_text(STUDY)
    some = [DEMO / "sounds" / f"d00{i}.ogg" for i in range(2, 6)]
    extract(some, into=folder / "sounds.index")
    return {
        "init": [DEMO / "sounds", "-o", folder / "made"],
        "compare": [DEMO, RIGHT["a"], RIGHT["b"]],
        "predict-rows": [DEMO / "documents.tsv", RIGHT["model"]],
        "judge-effect": [DEMO, "ann"],
        "set-aside": [DEMO, "ann", "--reason", "tired"],
        "take-back": [DEMO, "ann", "--reason", "rested"],
        "report": [DEMO, "-o", folder / "report.zip"],
        "satisfaction": [folder / "answers.tsv", "--measure", "CG@2"],
        "train": [DEMO, "-o", folder / "mine.json", *TRUTH],
        "extract": [*some, "-o", folder / "other.index"],
        "neighbours": [folder / "sounds.index"],
        "map": [folder / "sounds.index"],
        "token create": ["--db", f"sqlite:///{folder / 'tokens.db'}", "--name", "ann"],
    } | {" ".join(words): [DEMO, *TRUTH] for words in VERBS if words[0] in JUDGED or words[-1] == "sample"}


def test_most_commands_take_words_that_can_be_wrong():
    assert len(CASES) > 100
    assert len({words for words, _ in CASES}) > 30


@pytest.mark.parametrize(("words", "name"), CASES, ids=lambda one: one if isinstance(one, str) else " ".join(one))
def test_a_wrong_word_is_exit_code_2_and_the_option_is_named(run, rest, words, name):
    one, given = texts(words)[name], list(rest.get(" ".join(words), [DEMO]))
    option = one.param_type_name == "option"
    if option:
        given += [max(one.opts, key=len), "nonsense"]
    else:
        given[given.index(RIGHT[name])] = "nonsense"
    code, out, err = run(*words, *given)
    assert (code, out) == (2, "")
    assert f"Invalid value for {max(one.opts, key=len) if option else name.upper()}" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["train", DEMO, "-o", "m.model"], "--output: m.model: the name of a model file must end in .json"),
        (["report", DEMO, *TRUTH, "-o", "r.pdf"], "--output: r.pdf: expected a name that ends in .html for a page"),
        (["history", "gone.json", "--plot", "x.bmp"], "--plot: x.bmp: expected a name that ends in .png, .svg or .pdf"),
        (["judge-effect", DEMO, "nobody", *TRUTH], "JUDGE: 'nobody' has judged no pair of"),
        (["calibration", DEMO, "--jobs", 2, "--scheduler", "tcp://127.0.0.1:1"], "--scheduler: --scheduler and --jobs"),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else "",
)
def test_so_are_a_file_s_wrong_ending_a_person_who_never_judged_and_what_excludes_each_other(
    run, tmp_path, monkeypatch, words, said
):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert f"Invalid value for {said}" in " ".join(err.replace("│", " ").split())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("file", "content", "options"),
    [
        ("collection.toml", 'scale = "nonsense"\n', []),
        ("model.json", "{}", ["--model", "model.json"]),
        ("model.json", "{}", ["--model", "gone.json"]),
    ],
)
def test_the_same_in_a_file_and_a_wrong_file_are_exit_code_1(run, tmp_path, monkeypatch, file, content, options):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(DEMO, "own", ignore=shutil.ignore_patterns("sounds"))
    (tmp_path / ("own" if file == "collection.toml" else ".") / file).write_text(content)
    code, out, err = run("estimate", "own", *options)
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 1
