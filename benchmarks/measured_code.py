"""Code that a benchmark measures: every module of the checkout that its script imports, directly or not.

It is found in the sources alone. Modules of programs that the script starts count too: those that a text in the script
imports, and all of audiosim and its service if the script has the text "audiosim", the command. Comments, docstrings
and imports are no part of it, so that moving a module changes nothing. Data, models and installed packages are not
looked at.

    python benchmarks/measured_code.py SCRIPT [TIME]   prints it, or nothing if a file was edited after TIME
"""

import ast
import hashlib
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("", "benchmarks/", "models/", "validation/")
NAMED = re.compile(r"\b(?:from|import) (audiosim(?:\.\w+)*)")
COMMAND = ("audiosim.__main__", "audiosim.service.app")
HARNESS = {"figures.py", "measured_code.py"}
BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")  # of a statement: lists of others


@cache
def code_of(script: Path) -> str:
    """Sixteen hexadecimal digits that change whenever a definition or statement of the measured code does."""
    statements = sorted({text for path in modules_of(script) for text in _statements(path)})
    return hashlib.sha256("\n".join(statements).encode()).hexdigest()[:16]


def changed_files(script: Path, commit: str) -> str:
    """Files of the measured code that differ from a commit, and the number of all."""
    paths = sorted(str(path.relative_to(ROOT)) for path in modules_of(script))
    command = ["git", "diff", "--name-only", commit, "--", *paths]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ran.returncode or not commit:
        return f"one or more of {len(paths)} files; its commit {commit or 'is unknown and'} is not in the history"
    names = ran.stdout.split()
    return f"{len(names)} of {len(paths)} files since {commit}: {', '.join(names)}"


def modules_of(script: Path) -> set[Path]:
    """The script, and the modules of the checkout that it needs."""
    found: set[Path] = set()
    after = [script.resolve(), *_named(script)]
    while after:
        path = after.pop()
        if path not in found and path.name not in HARNESS:
            found.add(path)
            after += _imported(path)
    return found


@cache
def _place(module: str) -> list[Path]:
    """The file of a module or package of the checkout; nothing of an installed one."""
    for package in PACKAGES:
        path = ROOT / f"{package}{module.replace('.', '/')}"
        if path.with_suffix(".py").is_file():
            return [path.with_suffix(".py").resolve()]
        if (path / "__init__.py").is_file():
            return [(path / "__init__.py").resolve()]
    return []


def _named(script: Path) -> list[Path]:
    """Modules that texts in a script name."""
    texts = {node.value for node in ast.walk(_tree(script)) if isinstance(node, ast.Constant)}
    names = {name for text in texts if isinstance(text, str) for name in NAMED.findall(text)}
    return [path for name in {*names, *(COMMAND if "audiosim" in texts else ())} for path in _place(name)]


@cache
def _imported(path: Path) -> list[Path]:
    """Modules of the checkout that a module imports anywhere in it."""
    names: set[str] = set()
    for node in _within(_tree(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return [place for name in names for place in _place(name)]


@cache
def _statements(path: Path) -> list[str]:
    """Everything at a module's top level but imports and texts, as text without comments and docstrings."""
    tree = _tree(path)
    for node in (tree, *_within(tree)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [part for part in node.body if not _without_effect(part)] or [ast.Pass()]
    return [ast.dump(part) for part in tree.body]


def _within(node: ast.AST) -> list[ast.AST]:
    """All statements within a module or statement, whose expressions hold none."""
    parts = [part for block in BLOCKS for part in getattr(node, block, ())]
    return [one for part in parts for one in (part, *_within(part))]


def _without_effect(part: ast.stmt) -> bool:
    text = isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) and isinstance(part.value.value, str)
    return text or isinstance(part, ast.Import | ast.ImportFrom)


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


if __name__ == "__main__":
    edited = [path for path in modules_of(Path(sys.argv[1])) if path.stat().st_mtime > float((*sys.argv, "inf")[2])]
    print("" if edited else code_of(Path(sys.argv[1])))
