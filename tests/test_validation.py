"""Notebooks that recompute the figures of the docs, progress bars in notebooks, and the check of links."""

import ast
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "validation").glob("*.ipynb"))
RESULTS = json.loads((ROOT / "benchmarks" / "results.json").read_text("utf-8"))


def code(path):
    cells = json.loads(path.read_text("utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def test_every_figure_that_is_kept_is_made_anew_by_one_notebook():
    text = "\n".join(cell for path in NOTEBOOKS for cell in code(path))
    shown = [
        name for call in re.findall(r"^show\((.*)\)", text, re.MULTILINE) for name in ast.literal_eval(f"({call},)")
    ]
    assert len(shown) == len(set(shown))
    assert {name.split()[0] for name in RESULTS} <= set(shown)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_what_it_showed(path):
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        assert cell.get("outputs", []) == []
    for text in code(path):
        ast.parse(text)


def executed(cells, folder):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    client = nbclient.NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": folder}})
    client.execute()
    return notebook.cells


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # from the kernel itself
def test_the_notebooks_run_and_show_every_figure_that_is_kept():
    setting = "import os; os.environ['AUDIOSIM_FIGURES'] = 'kept'"
    every = [cell for path in NOTEBOOKS for cell in code(path) if "figures_anew" in cell or cell.startswith("show(")]
    shown = json.dumps([cell["outputs"] for cell in executed([setting, *every], ROOT / "validation")])
    assert [name for name in RESULTS if name not in shown] == []


@pytest.mark.slow
def test_paths_of_commands_are_found_again():
    # Commands in results.json name only the last part of a path; here each leads to the proper place of its file.
    pytest.importorskip("IPython")
    anew = runpy.run_path(str(ROOT / "validation" / "figures_anew.py"))
    picture, kept = str(ROOT / "docs" / "calibration.png"), str(anew["WORK"] / "kept")
    words = ["--keep", kept, "--plot", picture, "--figures", "home"]
    found = anew["commands"]("python benchmarks/calibration.py --keep kept --plot calibration.png --figures home")
    assert found == [["benchmarks/calibration.py", *words]]
    played = str(anew["WORK"] / "never played")
    assert anew["commands"]("python benchmarks/verdicts.py 'never played' --only stops") == [
        ["benchmarks/campaigns.py", played],
        ["benchmarks/verdicts.py", played, "--only", "stops"],
    ]


@pytest.mark.slow
def test_a_notebook_that_is_not_there_is_said():
    pytest.importorskip("nbclient")
    command = [sys.executable, ROOT / "validation" / "execute.py", "speeed", "--kept"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "no notebook speeed; there are confidence, evidence, published_numbers, sound, speed" in ran.stderr


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_bar_of_progress_in_a_notebook_goes_on_and_is_gone_at_the_end():
    text = """
from audiosim.results.progress import progress
with progress("listening") as show:
    show(0, 4); show(4, 4)
    import IPython.display
"""
    (cell,) = executed([text], ROOT)
    assert [output["output_type"] for output in cell["outputs"]] == ["display_data"]
    assert cell["outputs"][0]["data"]["text/html"] == ""  # intermediate output is gone
    text = text.replace("show(4, 4)", "show(2, 4); raise ValueError")
    (cell,) = executed([f"try:\n{text.replace(chr(10), chr(10) + '    ')}\nexcept ValueError: pass"], ROOT)
    assert cell["outputs"][0]["data"]["text/html"] == ""


def test_without_a_network_the_check_of_links_says_that_it_was_skipped(tmp_path):
    # A host in the reserved domain .invalid cannot be reached from anywhere: RFC 6761.
    script = (ROOT / ".ci" / "links.py").read_text("utf-8").replace("www.python.org", "nowhere.invalid")
    (tmp_path / "links.py").write_text(script, encoding="utf-8")
    ran = subprocess.run([sys.executable, tmp_path / "links.py"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("links skipped: nowhere.invalid cannot be reached")
