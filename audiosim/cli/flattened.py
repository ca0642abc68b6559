"""Commands whose settings are dataclasses by subject, flattened into command-line options."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def flattened(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters of dataclass types are replaced by their fields, in order, with the fields' defaults.

    A field may itself be such a dataclass. Fields are annotated like parameters of a command, and each option is named
    after its field.
    """
    plain = list(_plain(inspect.signature(command).parameters.values(), get_type_hints(command, include_extras=True)))

    @wraps(command)
    def called(**options: Any) -> None:
        command(**_gathered(get_type_hints(command), options))

    # typer reads the signature, and the annotations beside it.
    called.__signature__ = inspect.Signature(plain, return_annotation=None)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in plain} | {"return": None}
    return called


def _plain(parameters: Any, hints: Mapping[str, Any]) -> Iterator[inspect.Parameter]:
    """Parameters, with each settings value replaced by its fields."""
    for one in parameters:
        kind = hints[one.name]
        if is_dataclass(kind):
            own = get_type_hints(kind, include_extras=True)
            yield from _plain([_parameter(field.name, field.default) for field in fields(kind)], own)
        else:
            yield one.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY)


def _parameter(name: str, default: Any) -> inspect.Parameter:
    given = inspect.Parameter.empty if default is MISSING else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=given)


def _gathered(hints: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The options by name, with the fields of each settings value collected in it."""
    return {name: _value(name, kind, options) for name, kind in hints.items() if name != "return"}


def _value(name: str, kind: Any, options: Mapping[str, Any]) -> Any:
    if isinstance(kind, type) and is_dataclass(kind):
        return kind(**_gathered(get_type_hints(kind), options))
    return options[name]
