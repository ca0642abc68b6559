"""Every command on the pages runs, page by page in reading order, beside the demo.

Here the demo is smaller than the one that `make demo` makes, and slow commands run fewer campaigns.
"""

import re
import shlex
import shutil
from functools import cache
from pathlib import Path

import click
import numpy as np
import pyarrow
import pytest
import typer
from pyarrow import parquet

from audiosim import cli
from audiosim.collection.mirex import file_identifier

ROOT = Path(__file__).resolve().parents[2]
# The commands of recipes.md run in a copy of the project, in test_recipes.
PAGES = [ROOT / "README.md", *sorted({*(ROOT / "docs").glob("*.md")} - {ROOT / "docs" / "recipes.md"})]
COMMAND = re.compile(r"^(?: {4}|\$ )?(audiosim [a-z](?:.*\\\n)*.*)$|`(audiosim [a-z][^`]*)`", re.MULTILINE)
PLACEHOLDER = re.compile(r"\.\.\.|…|\||\[")  # a form of a command, not a command
# Tested elsewhere: another machine and a cluster in test_served_examples and test_cluster; `--learn joint` in
# test_joint_fit; campaigns judged by ann in test_cli_judges, test_comparing and test_check_pairs; weights by judgments
# and embeddings in test_embedded; studies in test_study_app; aspects in test_cli_judges. Not available in tests: the
# dialogues judged by machines, and musicnn.
ELSEWHERE = re.compile(
    r"https?://|tcp://|s3://|postgresql://|--learn joint|audiosim demo|--known|study (serve|answers)|judges dialsumm|"
    r"(judge\S*|set-aside|take-back|disagreements|order-effects) .*--judgments sqlite|neighbours \S+ --judged|"
    r"--with musicnn|--aspect|--generated|--without|without-ann|audiosim questions"
)
COMMANDS = typer.main.get_command(cli.app)
VERBS = COMMANDS.list_commands(click.Context(COMMANDS))  # prose may begin a line with audiosim as well
GIVEN = ("demo", "mine", "mirex2011", "next-year")
SMALLER = {
    "--parts 100": "--parts 2",
    "--queries 50": "--queries 8",
    "-n 20": "-n 5",
    "rules demo": "rules demo --stopping-rule judgments=5",
    "worth demo": "worth demo --target 0.6 --splits 1",
}
CLIPS = 6  # in the folder of music
NAMES = {"RULE": "judgments=5", "URL": "sqlite:///demo/campaign.db", "million.index": "demo/sounds.index"}


def commands_of(text):
    """The whole commands of a page, in their order, each once; those that only name an option do not count."""
    found = {}
    for one in COMMAND.finditer(text):
        line = " ".join((one[1] or one[2]).replace("\\\n", " ").split("   #")[0].split())
        if line.split()[1] not in VERBS or PLACEHOLDER.search(line.split("--fail-unless")[0]) or ELSEWHERE.search(line):
            continue
        words = shlex.split(line.rstrip(" &.").partition(" > ")[0])[1:]
        if is_whole(words):
            found[tuple(shlex.split(line)[1:])] = line
    return found


@cache
def named(group, name):
    return group.get_command(click.Context(group), name)


def is_whole(words):
    """True if a command has all its arguments."""
    command = COMMANDS
    while hasattr(command, "list_commands"):
        if not words or words[0] not in command.list_commands(click.Context(command)):
            return False
        name, *words = words
        command = named(command, name)
    given = command.make_parser(click.Context(command)).parse_args(list(words))[0]
    return all(given.get(one.name) not in (None, (), []) for one in command.params if one.required)


READING = {"check", "compare", "estimate", "evaluate", "history", "next", "plan", "predict", "reliability", "simulate"}
READING |= {"calibration", "rules"}
FILE = re.compile(r"/|\.(csv|html|json|parquet|qrels|trec|tsv)$")  # which another command of the page may have made


def only_reads(words):
    """True where a command makes nothing and reads nothing but collections, which it is given anew."""
    return words[0] in READING and "-o" not in words and not any(map(FILE.search, {*words} - {*GIVEN}))


def commands_by_page():
    """The commands of each page, but for those that an earlier page shows and that come to the same there."""
    found, known = {}, set()
    for page in PAGES:
        commands = commands_of(page.read_text("utf-8"))
        if kept := {words: line for words, line in commands.items() if words not in known}:
            found[page.name] = kept
        known |= {words for words in commands if only_reads(words)}
    return found


FOUND = commands_by_page()


def test_most_pages_show_whole_commands():
    assert sum(map(len, FOUND.values())) > 40
    assert ("neighbours", "demo/sounds.index", "-k", "5", "--system", "nearest", "-o", "nearest.trec") in FOUND[
        "README.md"
    ]


@pytest.fixture
def place(tmp_path, monkeypatch, small_demo):
    """A folder with some music, vectors of it, a run, features of a pair, and an empty folder for collections."""
    for name in ("music", "new", "my-collections"):
        (tmp_path / name).mkdir()
    for path in sorted((small_demo / "sounds").iterdir())[:CLIPS]:
        shutil.copy(path, tmp_path / "music")
    shutil.copy(path, tmp_path / "new")
    shutil.copy(path, tmp_path / "clip.mp3")
    shutil.copy(small_demo / "runs" / "harmony.trec", tmp_path / "new-system.trec")
    names = [file_identifier(one.name) for one in sorted((tmp_path / "music").iterdir())]
    np.save(tmp_path / "clap.npy", np.random.default_rng(0).standard_normal((len(names), 4)))
    (tmp_path / "clap.ids").write_text("\n".join(names), encoding="utf-8")
    (tmp_path / "DIR").mkdir()
    features = {name: [0.5] for name in ("fSYS", "OV", "fART", "sGEN", "fGEN")}
    parquet.write_table(pyarrow.table({"query": ["q01"], "document": ["d001"]} | features), tmp_path / "rows.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def adapted(line):
    """The words of a command, made smaller, with names for its placeholders."""
    for long, short in SMALLER.items():
        line = line.replace(long, short)
    words = [NAMES.get(word, word) for word in shlex.split(line.rstrip(" &.").partition(" > ")[0])[1:]]
    return [str(path) for word in words for path in (sorted(Path().glob(word)) if "/*" in word else [word])]


def prepare(small_demo, words):
    """Make the collections named in a command anew, unless the command makes them."""
    made = words[words.index("-o") + 1] if "-o" in words else None
    for name in GIVEN:
        if any(word == name or word.startswith(f"{name}/") for word in words):
            shutil.rmtree(name, ignore_errors=True)
            if made != name:
                shutil.copytree(small_demo, name)
            if name == "mirex2011":  # judged completely
                shutil.copy(small_demo / "truth.qrels", Path(name, "judgments.qrels"))
                Path(name, "judgments.csv").unlink()


def serve(commanded, words):
    """Start the service shown on a page, and wait until it is ready."""
    here = [
        str(Path(word).resolve()) if Path(word).is_dir() else word.replace("sqlite:///", f"sqlite:///{Path.cwd()}/")
        for word in words[1:]
    ]
    folders = [word for word in here if Path(word).is_dir()]
    options = [word for word in here if word not in folders]
    if "--port" in options:
        del options[options.index("--port") : options.index("--port") + 2]
    with commanded(folders, Path("serve.log"), *options, BROWSER="true") as server, server.client() as http:
        assert http.get("/health/live").status_code == 200


@pytest.mark.slow
@pytest.mark.usefixtures("unspread")
@pytest.mark.parametrize("page", FOUND)
def test_the_commands_of_a_page_run_in_its_order(page, place, small_demo, run, commanded, answer_study):
    for line in FOUND[page].values():
        words = adapted(line)
        prepare(small_demo, words)
        if words[0] == "serve":
            serve(commanded, words)
            continue
        code, printed, said = run(*words)
        assert code == 0, f"{line}\n{said}"
        if " > " in line:
            Path(line.partition(" > ")[2]).write_text(printed, encoding="utf-8")
        for output in (words[place + 1] for place, word in enumerate(words) if word in ("-o", "--output", "--report")):
            assert Path(output).exists(), line
        if words[0] == "study":
            answer_study(Path(words[words.index("-o") + 1]))
