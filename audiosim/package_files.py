"""Location of the data shipped with the package."""

from pathlib import Path

HERE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """The shipped folder `models` or `fixtures`: inside an installed package, beside it in a checkout."""
    installed = HERE / name
    return installed if installed.is_dir() else HERE.parent / name
