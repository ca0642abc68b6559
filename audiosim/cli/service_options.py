"""The settings of the service: options, variables of the environment, or lines of a file."""

import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from audiosim.errors import InputError
from audiosim.text import did_you_mean


class LogForm(StrEnum):
    """Form of the service's log."""

    text = "text"
    json = "json"


class UnaskedForm(StrEnum):
    """Treatment of judgments of pairs that were not handed out to the assessor."""

    counted = "count"
    marked = "mark"
    refused = "refuse"


def read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Take a file's settings as defaults; the command line and the environment take precedence."""
    if path is None or context.resilient_parsing:
        return path
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
    known = {str(parameter.name): parameter for parameter in context.command.params if parameter.name != "config"}
    settings = {name.replace("-", "_"): value for name, value in said.items()}
    for name, value in settings.items():
        if name not in known:
            expected = ", ".join(other.replace("_", "-") for other in known)
            raise InputError(f"{path}: unknown setting {name!r}, expected one of {expected}{did_you_mean(name, known)}")
        if isinstance(value, list) != (known[name].multiple or known[name].nargs == -1):
            raise InputError(f"{path}: {name} must be {'one value' if isinstance(value, list) else 'a list'}")
    context.default_map = settings
    return path


def service_option(variable: str, text: str, **more: Any) -> Any:
    """Option of the service that can also be set in the environment."""
    return typer.Option(help=text, envvar=f"AUDIOSIM_{variable}", **more)


Folders = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[COLLECTION]...",
        help="Folders of the collections, or one folder that holds them or is empty, as --home.",
        envvar="AUDIOSIM_COLLECTIONS",
        show_default=False,
    ),
]
Config = Annotated[
    Path | None,
    service_option(
        "CONFIG",
        "Settings as TOML: the names of these options, such as port = 8000, and collections = [...].",
        metavar="FILE",
        is_eager=True,
        callback=read_config,
        exists=True,
        dir_okay=False,
    ),
]
Model = Annotated[str | None, service_option("MODEL", "Model, as for `audiosim estimate`, for all collections.")]
