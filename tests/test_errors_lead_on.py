"""Every error that a newcomer meets names the form that was expected, or what to type."""

import re
import shutil
from pathlib import Path

import pytest

from tests.test_help_examples import COMMANDS, examples

LEADS_ON = re.compile(r"expected |did you mean|`[^`]+`|--[a-z-]+ |audiosim [a-z]+ |Try '|must be| up to ")
FOLDERS = ("nowhere", "plain.txt", "empty")
FILES = ("nowhere.tsv", "plain.txt", "empty", "nothing.tsv")
DATABASES = ("sqlite:///nowhere.db", "sqlite:///plain.txt", "sqlite:///nowhere/deep/x.db", "mysql://x/y", "nowhere.db")
OUTPUTS = ("nowhere/x.html", "plain.txt/x")
OPTIONS = {
    "--measure": ("nDGC", "CG@0"),
    "--model": ("mouht", "nowhere.json"),
    "--aspect": ("timbre",),
    "--scale": ("mid",),
    "--about": ("them",),
    "--judgments": ("nowhere.qrels", "empty", "plain.txt", "sqlite:///nowhere.db", "other.qrels"),
    "--plot": ("x.doc",),
}
LONG = ("serve", "study serve", "demo", "plan", "worth", "train")


def wrong_inputs():
    """Each verb's example with one of its words wrong, and with each wrong value of its options."""
    for name, command in COMMANDS.items():
        (first, *_), known = examples(command), {flag for one in command.params for flag in one.opts}
        words = first.removeprefix("audiosim ").split()
        if name.removeprefix("audiosim ") in LONG or "'" in first or '"' in first:
            continue
        for place, word in enumerate(words):
            if words[place - 1] in ("-o", "--output", "--report", "--plot"):
                wrong = OUTPUTS[words[0] in ("extract", "init") :]  # which make the folders that are not there
            elif word == "demo":
                wrong = FOLDERS
            elif word.startswith("sqlite:"):
                wrong = DATABASES
            else:
                wrong = FILES if re.search(r"/|\.(tsv|csv|qrels|index|json|jsonl|trec)$", word) else ()
            yield from ((*words[:place], one, *words[place + 1 :]) for one in wrong if "http" not in word)
        yield from ((*words, option, one) for option, some in OPTIONS.items() if option in known for one in some)


@pytest.mark.longest
@pytest.mark.slow
@pytest.mark.usefixtures("unspread")
def test_every_error_of_a_verb_leads_on(run, small_demo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = []
    for words in wrong_inputs():
        shutil.rmtree("c", ignore_errors=True)
        Path("c", "empty").mkdir(parents=True)
        with monkeypatch.context() as there:
            there.chdir("c")
            Path("demo").symlink_to(small_demo)
            Path("plain.txt").write_text("hello there\n", encoding="utf-8")
            Path("nothing.tsv").touch()
            Path("other.qrels").write_text("x9 0 y9 1\n", encoding="utf-8")
            code, _, said = run(*words)
        errors = " ".join(line for line in said.splitlines() if not line.startswith(("note:", "read:")))
        if code and not LEADS_ON.search(errors):
            found.append(f"{' '.join(words)}: {errors}")
    assert found == []
