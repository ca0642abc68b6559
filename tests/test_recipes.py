"""The recipes of docs/recipes.md, applied to a copy of the project in their order, do what they say."""

import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import ir_measures
import pytest

from audiosim import Collection
from tests.test_package import TOGETHER

ROOT = Path(__file__).resolve().parents[1]
BLOCKS = re.findall(r"^```diff\n (\S+)\n(.*?)^```$", (ROOT / "docs" / "recipes.md").read_text("utf-8"), re.M | re.S)
SERVED = """
import json, sys
from fastapi.testclient import TestClient
from audiosim import Collection
from audiosim.service.app import create_app
sys.path.insert(0, "docs")
import generated_pages as pages
with TestClient(create_app([Collection.load("made")]), "http://localhost") as client:
    answer = client.get("/v1/collections/made/judged").json()
print(json.dumps([answer, pages._document(), pages.faces_page(), pages.commands_page()]))
"""
DURATIONS = """
import sys
from pathlib import Path
from audiosim.collection.durations import read_durations
print([read_durations(Path(name)) for name in sys.argv[1:]] + [read_durations({"d1": 2.5, "d2": 4})])
"""


def applied(folder, name, block):
    """Change a file as a block says: its lines without + are there, and only once; those without - are in the end."""
    before, after = (
        "".join(line[1:] or "\n" for line in block.splitlines(True) if not line.startswith(sign)) for sign in "+-"
    )
    path = folder / name
    text = path.read_text("utf-8") if before else ""
    assert path.exists() == bool(before), f"{name}: a block of additions alone makes a new file"
    assert not before or text.count(before) == 1, f"{name}: expected once\n{before}"
    path.write_text(text.replace(before, after) if before else after, encoding="utf-8")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Copy of the project with every recipe, and a collection with some judgments."""
    folder = tmp_path_factory.mktemp("recipes")
    for name in ("audiosim", "service", "docs", "fixtures", "models", "tests", "pyproject.toml", "README.md"):
        if (ROOT / name).is_dir():
            # With bytecode, which is for the same size and time of a file: compiling takes seconds.
            shutil.copytree(ROOT / name, folder / name, True, ignore=shutil.ignore_patterns("_build"))
        else:
            shutil.copy(ROOT / name, folder)
    for name, block in BLOCKS:
        applied(folder, name, block)
    runs = {
        "near": {"q1": ["d1", "d2", "d3"], "q2": ["d4", "d5", "d6"]},
        "far": {"q1": ["d3", "d7"], "q2": ["d6", "d4"]},
    }
    Collection.from_frames(runs, {"q1": {"d1": 2, "d3": 0}, "q2": {"d4": 1}}, scale="0-2").save(folder / "made")
    return folder


def asked(project, *arguments, given=None):
    said = subprocess.run(
        [sys.executable, *map(str, arguments)],
        input=given,
        cwd=project,
        env={"PYTHONPATH": str(project), "PATH": "", "HOME": str(project), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stdout + said.stderr
    return said.stdout


@pytest.fixture(scope="module")
def ran(project):
    """Output of commands with the recipes, run one after another in one process."""
    table = ["judged", "made", "--format"]
    commands = [[*table, "json"], [*table, "json", "--depth", "1"], [*table, "csv"], ["judged", "--help"], ["--help"]]
    commands.append(["evaluate", "made", "--measure", "Success(rel=1)@2", "--unjudged", "zero", "--format", "json"])
    found = json.loads(asked(project, "-c", TOGETHER, given=json.dumps(commands)))
    assert [code for code, _, _ in found] == [0] * len(commands)
    return [out for _, out, _ in found]


@pytest.mark.slow
def test_a_new_verb_is_one_function_and_one_line_and_a_new_option_one_parameter(ran):
    all_of_it, first, rows, helped, listed, _ = ran
    assert json.loads(all_of_it) == {"systems": ["near", "far"], "shares": [3 / 6, 2 / 4]}
    assert json.loads(first) == {"systems": ["near", "far"], "shares": [2 / 2, 1 / 2]}
    assert rows.splitlines()[:2] == ["system,judged", "near,0.5"]
    said = " ".join(helped.replace("│", " ").split())
    assert "Show which share of each system's results people have judged." in said
    assert "--depth <int range> [x>=1] Number of first results of each query that count." in said
    assert " judged " in listed


@pytest.mark.slow
def test_a_new_route_answers_like_the_command_and_is_described(project, ran):
    answer, document, faces, commands = json.loads(asked(project, "-c", SERVED).splitlines()[-1])
    assert answer == json.loads(ran[0])
    assert document["paths"]["/v1/collections/{collection}/judged"]["get"]["summary"].startswith("Show which share")
    assert document["components"]["schemas"]["JudgedSharesOut"]["properties"]["shares"]["description"] == (
        "Share of each, 0 to 1."
    )
    assert "| `audiosim judged` |  | `GET /v1/collections/{collection}/judged` |" in faces
    assert "| judged | `depth` | `--depth` |" in faces
    assert "## audiosim judged\n" in commands
    layers = runpy.run_path(str(project / "tests" / "test_layers.py"))
    for law in (name for name in layers if name.startswith("test_")):
        layers[law]()


@pytest.mark.slow
def test_a_new_measure_is_known_to_every_verb_and_has_the_values_of_ir_measures(project, ran):
    (found,) = json.loads(ran[-1]).values()
    made = Collection.load(project / "made")
    qrels = {}
    for one in made.judgments:
        qrels.setdefault(one.query, {})[one.document] = int(one.grade)
    theirs = {
        run.system: ir_measures.calc_aggregate(
            [ir_measures.Success(rel=1) @ 2],
            qrels,
            {query: {one: -rank for rank, one in enumerate(ranked)} for query, ranked in run.rankings.items()},
        )[ir_measures.Success(rel=1) @ 2]
        for run in made.runs
    }
    assert {row["system"]: row["mean"] for row in found["systems"]} == theirs == {"near": 1, "far": 0.5}


@pytest.mark.slow
def test_a_new_kind_of_table_is_read_in_any_form(project):
    texts = {
        "a.csv": "docno,duration\nd1,2.5\nd2,4\n",
        "b.tsv": "document\tseconds\nd1\t2.5\nd2\t4\n",
        "c.json": '[{"document": "d1", "seconds": 2.5}, {"document": "d2", "seconds": 4}]',
        "d.jsonl": '{"document": "d1", "seconds": 2.5}\n{"document": "d2", "seconds": 4}\n',
    }
    for name, text in texts.items():
        (project / name).write_text(text, encoding="utf-8")
    assert asked(project, "-c", DURATIONS, *texts) == f"{[{'d1': 2.5, 'd2': 4.0}] * 5}\n"
