"""Figures of the benchmarks are kept as data, and the docs show figures made from the data."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "benchmarks"
RESULTS = json.loads((BENCHMARKS / "results.json").read_text("utf-8"))
sys.path.append(str(BENCHMARKS))  # for figures.py alone, last because benchmarks/service.py is not the service
FIGURES = runpy.run_path(str(BENCHMARKS / "figures.py"))
sys.path.pop()


def test_the_tables_in_the_docs_are_those_of_the_results():
    checked = subprocess.run(
        [sys.executable, BENCHMARKS / "figures.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stdout) == (0, "")


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_is_of_a_benchmark_that_is_there(name):
    script = BENCHMARKS / f"{name.split()[0]}.py"
    assert script.exists()
    assert RESULTS[name]["command"].startswith(f"python benchmarks/{script.name}")
    assert re.fullmatch(r"[0-9a-f]{7,}\+?", RESULTS[name]["commit"])
    assert re.fullmatch(r"([0-9a-f]{16})?", RESULTS[name]["code"])


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs").glob("*.md")))
def test_a_page_shows_figures_of_benchmarks_that_were_run(page):
    places = re.findall(r"<!-- figures: ([^/>]+?)(?: / ([^>]+?))? -->", (ROOT / "docs" / page).read_text("utf-8"))
    for name, title in places:
        assert title in ("", *RESULTS[name].get("tables", {})), f"{page}: {name} / {title}"


def test_no_script_hides_a_package_from_the_libraries_that_look_for_it():
    # A script's folder comes first in the path: numba takes a coverage.py there for the package of that name.
    command = (
        f"import sys; sys.path[0] = {str(BENCHMARKS)!r}; import librosa, numba, scipy.stats, sklearn; "
        "print([name for name, one in list(sys.modules.items())"
        " if (getattr(one, '__file__', None) or '').startswith(sys.path[0])])"
    )
    ran = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "[]\n"), ran.stderr


def test_every_test_of_a_soak_is_there(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    for promise in runpy.run_path(str(BENCHMARKS / "soak.py"))["PROMISES"]:
        for test in promise.tests:
            path, _, name = test.partition("::")
            assert not name or f"def {name}(" in (ROOT / path).read_text("utf-8"), test
            assert (ROOT / path).is_file(), test


def test_the_page_of_promises_has_each_promise_of_a_soak_in_its_words(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    soak = runpy.run_path(str(BENCHMARKS / "soak.py"))
    lines = [line.strip("|").split("|") for line in (ROOT / "docs/reliability.md").read_text("utf-8").splitlines()]
    rows = [tuple(cell.strip() for cell in line) for line in lines if len(line) == len(soak["COLUMNS"])]
    assert rows[0] == soak["COLUMNS"]
    assert all(row[3] for row in rows)
    assert rows[2:] == [one.row(row[3]) for one, row in zip(soak["PROMISES"], rows[2:], strict=True)]


def test_figures_become_markdown():
    row = {"what": "a fit", "value": 1200.0, "unit": "ms", "limit": 5.0, "note": "twice as fast"}
    kept = {"command": "python x.py", "processor": "1 x P", "rows": [row, row | {"least": True}]}
    kept["tables"] = {"errors": {"columns": ["model", "10 %"], "rows": [["a", 0.25], ["b", None]]}}
    table = "| model | 10 % |\n| --- | --- |\n| a | 0.25 |\n| b |  |"
    assert FIGURES["shown"](kept) == (
        "|  | figure | limit |  |\n| --- | --- | --- | --- |\n"
        "| a fit | 1,200 ms | 5 ms | twice as fast |\n| a fit | 1,200 ms | at least 5 ms | twice as fast |\n\n"
        f"errors:\n\n{table}\n\n    python x.py\n\n(1 x P)"
    )
    page = "# Page\n<!-- figures: x / errors -->\nold\n<!-- end of figures -->\nrest\n"
    assert FIGURES["with_tables"](page, {"x": kept}) == page.replace("old", f"{table}\n\n    python x.py\n\n(1 x P)")
    assert FIGURES["with_tables"](page, {}) == page
    where = kept | {"commit": "abc1234+", "load": "1.0 to 2.5"}
    marked = FIGURES["with_tables"](page, {"x": where}, {"x": "; changed"})
    assert "(1 x P, commit abc1234+, load 1.0 to 2.5; changed)" in marked


SOURCES = {
    "benchmarks/one.py": """\
        from figures import Figures

        from audiosim.direct import size

        with Figures("one") as figures:
            figures.add("size", size(), "")
            figures.table("sizes", ["of", "size", "text"], [["all", 2.0 * size(), "x"]])
        """,
    "audiosim/__init__.py": "",
    "audiosim/__main__.py": "import audiosim.command\n",
    "audiosim/command.py": "ANSWER = 1\n",
    "audiosim/text.py": "ANSWER = 1\n",
    "audiosim/direct.py": """\
        \"\"\"Sizes.\"\"\"


        def size():
            from audiosim.within import SIZE  # imported late

            return SIZE
        """,
    "audiosim/within.py": "SIZE = 2.0\n",
    "audiosim/elsewhere.py": "SIZE = 3.0\n",
}


@pytest.fixture
def checkout(tmp_path):
    """A checkout with one benchmark of a small package."""
    for name, text in SOURCES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(text), "utf-8")
    for name in ("figures.py", "measured_code.py"):
        shutil.copy(BENCHMARKS / name, tmp_path / "benchmarks")
    (tmp_path / "docs").mkdir()
    (tmp_path / ".gitignore").write_text("__pycache__\n", "utf-8")
    return tmp_path


def python(checkout, *words):
    command = [sys.executable, *words]
    # A change within one second that keeps a file's size would leave compiled code of before in use.
    environment = os.environ | {"PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command, cwd=checkout, env=environment, capture_output=True, text=True, check=True, timeout=60
    ).stdout


def code(checkout):
    return python(checkout, "benchmarks/measured_code.py", "benchmarks/one.py").strip()


def change(checkout, name, old, new):
    text = (checkout / name).read_text("utf-8")
    assert old in text
    (checkout / name).write_text(text.replace(old, new), "utf-8")


@pytest.mark.parametrize(
    ("name", "old", "new", "counts"),
    [
        ("audiosim/direct.py", "return SIZE", "return SIZE + 0", True),
        ("audiosim/within.py", "2.0", "2.5", True),  # imported within a function
        ("benchmarks/one.py", "2.0 *", "3.0 *", True),
        ("audiosim/elsewhere.py", "3.0", "4.0", False),  # not imported
        ("audiosim/direct.py", '"""Sizes."""', '"""Sizes, in metres."""', False),
        ("audiosim/direct.py", "# imported late", "# imported here", False),
        ("audiosim/within.py", "SIZE = 2.0", "SIZE  =  (2.0)", False),
        ("benchmarks/figures.py", "Figures of the benchmarks", "Figures", False),
    ],
)
def test_the_code_of_a_figure_is_every_statement_that_its_script_may_run(checkout, name, old, new, counts):
    before = code(checkout)
    assert re.fullmatch("[0-9a-f]{16}", before)
    change(checkout, name, old, new)
    assert (code(checkout) != before) == counts


@pytest.mark.parametrize(("script", "module"), [('["-m", "audiosim"]', "command"), ('"import audiosim.text"', "text")])
def test_the_code_of_a_figure_includes_that_of_programs_that_its_script_starts(checkout, script, module):
    change(checkout, "benchmarks/one.py", "with Figures", f"STARTED = {script}\nwith Figures")
    before = code(checkout)
    change(checkout, f"audiosim/{module}.py", "1", "2")
    assert code(checkout) != before


def test_a_module_may_move_without_a_change_of_the_code_of_a_figure(checkout):
    before = code(checkout)
    (checkout / "audiosim/within.py").rename(checkout / "audiosim/moved.py")
    change(checkout, "audiosim/direct.py", "audiosim.within", "audiosim.moved")
    assert code(checkout) == before


def test_a_figure_has_its_commit_load_and_code_is_marked_after_a_change_and_compared_in_turn(checkout):
    def git(*words):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words]
        return subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True).stdout

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "one")
    commit = git("rev-parse", "HEAD").strip()
    python(checkout, "benchmarks/one.py")
    (kept,) = json.loads((checkout / "benchmarks/results.json").read_text("utf-8")).values()
    assert commit.startswith(kept["commit"])
    assert re.fullmatch(r"\d+\.\d to \d+\.\d", kept["load"])
    assert kept["code"] == code(checkout)
    assert python(checkout, "benchmarks/figures.py", "--changed").startswith("0 of 1 figures")

    change(checkout, "audiosim/within.py", "2.0", "8.0")
    named, count = python(checkout, "benchmarks/figures.py", "--changed").splitlines()
    assert named == f"one: 1 of 3 files since {kept['commit']}: audiosim/within.py"
    assert count.startswith("1 of 1 figures")

    table = python(checkout, "benchmarks/figures.py", "--beside", "HEAD", "--rounds", "2", "one.py").splitlines()
    assert [re.split(r"\s{2,}", line.strip()) for line in table[1:]] == [
        ["size,", "2", "8", "4"],
        ["sizes: all, size", "4", "16", "4"],
    ]
    assert json.loads((checkout / "benchmarks/results.json").read_text("utf-8")) == {"one": kept}
    assert "old" not in git("worktree", "list")

    python(checkout, "benchmarks/one.py")
    (anew,) = json.loads((checkout / "benchmarks/results.json").read_text("utf-8")).values()
    assert anew["commit"] == f"{kept['commit']}+"
    assert python(checkout, "benchmarks/figures.py", "--changed").startswith("0 of 1 figures")


def test_code_that_was_edited_while_it_was_measured_is_not_that_of_the_figure(checkout):
    edited_later = str((checkout / "audiosim/within.py").stat().st_mtime - 1)
    assert python(checkout, "benchmarks/measured_code.py", "benchmarks/one.py", edited_later) == "\n"
