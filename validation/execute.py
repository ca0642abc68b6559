"""Execute the notebooks of this folder, each in a separate kernel, and keep them with their output.

    python validation/execute.py [NAME...]           computes every figure again: many hours
    python validation/execute.py [NAME...] --resume  the same, with the campaigns played by an earlier run
    python validation/execute.py [NAME...] --kept    shows the kept figures: a minute

NAME is that of a notebook, such as sound; by default all. Executed notebooks go to docs/_build/validation. The exit
code is 1 if one fails.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

HERE = Path(__file__).resolve().parent
EXECUTED = HERE.parent / "docs" / "_build" / "validation"


def execute(path: Path) -> str | None:
    """Execute a notebook and keep it; return the error, or None."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=None, kernel_name="python3", resources={"metadata": {"path": HERE}})
    try:
        client.execute()
    except CellExecutionError as error:
        return str(error)
    finally:
        EXECUTED.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, EXECUTED / path.name)
    return None


def main() -> int:
    """Execute all notebooks, or the named ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    notebooks = sorted(path.stem for path in HERE.glob("*.ipynb"))
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(notebooks))
    parser.add_argument("--kept", action="store_true", help="show the kept figures")
    parser.add_argument("--resume", action="store_true", help="use the campaigns already played")
    options = parser.parse_args()
    if unknown := set(options.names) - set(notebooks):
        parser.error(f"no notebook {', '.join(sorted(unknown))}; there are {', '.join(notebooks)}")
    if options.kept:
        os.environ["AUDIOSIM_FIGURES"] = "kept"
    elif not options.resume:
        shutil.rmtree(EXECUTED / "played", ignore_errors=True)
    failed = 0
    for path in (HERE / f"{name}.ipynb" for name in options.names or notebooks):
        wrong = execute(path)
        failed += wrong is not None
        print(f"{path.name}: {'done' if wrong is None else wrong}", flush=True)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
