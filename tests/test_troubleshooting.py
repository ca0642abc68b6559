"""Every error of docs/troubleshooting.md is provoked by a command, and is printed with the page's text."""

import re
import shutil
import socket
from pathlib import Path

import pytest

from audiosim.campaign import DatabaseStore

ROOT = Path(__file__).parent.parent
TEXTS = re.findall(r"(?m)^`(.+)`\n: ", (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8"))
RUN = "q01 Q0 d1 1 .5 A\n"
PROVOKED = {  # beginning of a text: files of a collection, and the command
    "...: no such folder": ({}, "check nowhere"),
    "...: has no runs": ({}, "check c"),
    "...: expected a TREC run": ({"runs.trec": "q1 Q0 d1 1 0.5\n"}, "check c"),
    "...: document ... is twice": ({"runs.trec": RUN + RUN}, "check c"),
    "...: expected ... columns as": ({"judgments.csv": "query,document,grade\nq01,d1,a,1\n"}, "check c"),
    "...: expected a column": ({"judgments.csv": "querry,document,grade\nq01,d1,1\n"}, "check c"),
    "...: expected a finite number": ({"judgments.csv": "query,document,grade\nq01,d1,high\n"}, "check c"),
    "...: grade ... is not": ({"judgments.csv": "query,document,fine\nq01,d1,300\n"}, "check c"),
    "...: 0 of ...": ({"judgments.csv": "query,document,grade\nq01,d1.wav,1\n"}, "check c"),
    "...: cannot be read": ({}, "estimate demo --judgments nowhere.csv"),
    "...: the file is a database": ({}, "estimate demo --judgments campaign.db"),
    "...: nothing is judged": ({}, "evaluate demo"),
    "...: ... retrieved pairs": ({}, "evaluate demo --judgments some.qrels"),
    "unknown measure": ({}, "estimate demo --measure nDGC@5"),
    "unknown model": ({}, "estimate demo --model jont"),
    "...: cannot be decoded": ({"bad.wav": "x"}, "extract c/bad.wav -o x.index"),
    "...: is not an index": ({}, "neighbours nowhere.index d001"),
    "no such command": ({}, "estmate demo"),
    "port ...": ({}, "serve demo --port PORT"),
    "database ...": ({}, "verify postgresql://localhost:1/x"),
    "...: expected a name": ({}, "report demo -o report.txt"),
}


def test_the_page_has_the_twenty_commonest_errors_each_provoked_here():
    assert len(TEXTS) == len(PROVOKED) >= 20
    assert all(sum(text.startswith(start) for text in TEXTS) == 1 for start in PROVOKED)


@pytest.mark.slow
@pytest.mark.parametrize("start", PROVOKED)
def test_an_error_has_the_text_of_the_page(run, tmp_path, monkeypatch, start):
    files, command = PROVOKED[start]
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "fixtures" / "demo", "demo")
    Path("c").mkdir()
    if command == "check c" and "has no runs" not in start and "runs.trec" not in files:
        files = {"runs.trec": RUN} | files
    for name, text in files.items():
        Path("c", name).write_text(text, encoding="utf-8")
    truth = next(Path("demo").glob("truth*")).read_text(encoding="utf-8")
    Path("some.qrels").write_text("".join(truth.splitlines(keepends=True)[:5]), encoding="utf-8")
    DatabaseStore("sqlite:///campaign.db", "demo").close()
    (text,) = (one for one in TEXTS if one.startswith(start))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, _, err = run(*command.replace("PORT", str(taken.getsockname()[1])).split())
    assert code in (1, 2)
    found = re.sub(r"[\s│]+", " ", err)
    assert re.search(".*?".join(map(re.escape, text.split("..."))), found), found
