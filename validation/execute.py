"""Execute the notebooks of this folder, each in a kernel of its own, and keep them with what they showed.

    python validation/execute.py           makes every figure anew: hours
    python validation/execute.py --kept    shows the figures that are kept: a minute

Executed notebooks go to docs/_build/validation. Exit code 1 where one fails.
"""

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

HERE = Path(__file__).resolve().parent
EXECUTED = HERE.parent / "docs" / "_build" / "validation"


def execute(path: Path) -> str | None:
    """Execute a notebook and keep it; what went wrong, or None."""
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
    """Execute all of them."""
    if "--kept" in sys.argv:
        os.environ["AUDIOSIM_FIGURES"] = "kept"
    failed = 0
    for path in sorted(HERE.glob("*.ipynb")):
        wrong = execute(path)
        failed += wrong is not None
        print(f"{path.name}: {'done' if wrong is None else wrong}", flush=True)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
