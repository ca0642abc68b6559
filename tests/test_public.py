"""docs/public.md lists the names for others to import, and examples for others import nothing else."""

import ast
import importlib
import re
from pathlib import Path

import pytest

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
