"""docs/public.md lists the names for others to import, and examples for others import nothing else."""

import ast
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import audiosim
from audiosim import Collection
from audiosim.results.value import Result

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "public.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([a-z_.]+)` \| (.*) \|$", PAGE, re.MULTILINE))


@pytest.mark.parametrize("module", ROWS)
def test_what_is_listed_is_there(module):
    found = importlib.import_module(module)
    names = re.findall(r"`(\w+)`", ROWS[module])
    assert [name for name in names if not hasattr(found, name)] == []
    assert found.__doc__


def shown():
    """The modules imported by the sample package and the examples on the pages."""
    sample = [path.read_text("utf-8") for path in (ROOT / "tests" / "plugins" / "sample_package").rglob("*.py")]
    paths = [ROOT / "README.md", *(path for path in (ROOT / "docs").glob("*.md") if path.stem != "style")]
    pages = [path.read_text("utf-8") for path in paths]
    blocks = [block for page in pages for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL)]
    for text in [*sample, *blocks]:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom):
                yield node.module
            elif isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)


def test_what_we_show_imports_nothing_that_is_not_public():
    ours = {name for name in shown() if name and name.split(".")[0] in {"audiosim", "service"}}
    assert ours - set(ROWS) == set()
    assert len(ours) > 5


def subclasses(of):
    return {one for child in of.__subclasses__() for one in (child, *subclasses(child))}


def test_every_result_shows_what_users_read_and_no_more():
    """Most public names of a result, with the four that every result has: rows, plot, to_dict and to_frame."""
    for module in pkgutil.walk_packages(audiosim.__path__, "audiosim."):
        if not module.name.startswith("audiosim.service") and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    counts = {
        kind.__name__: len({name for name in [*dir(kind), *kind.__annotations__] if not name.startswith("_")})
        for kind in subclasses(Result) - {Collection}
    }
    assert {"Ranking", "Verdicts", "TwoSystems", "Evaluation", "Effort"} <= set(counts)
    assert {name: count for name, count in counts.items() if count > 21} == {}
