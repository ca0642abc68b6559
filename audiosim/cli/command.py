"""A command made from a function: arguments and options from its signature, their help from its docstring."""

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from io import BytesIO, StringIO
from pathlib import Path
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer
from annotated_types import Ge, Le

from audiosim.cli import options
from audiosim.cli.verbs import Verb
from audiosim.collection.collection import Collection
from audiosim.collection.layouts import FolderFiles
from audiosim.errors import ArgumentError, of_argument
from audiosim.results.progress import progress
from audiosim.results.value import known_columns, need
from audiosim.tables.text import check_output_file, write_text, write_texts
from audiosim.text import field_list, printable, sentence
from audiosim.workers import Workers

SHORT = {"output": "-o", "jobs": "-j", "count": "-n"}
PLOTTED = {".png", ".svg", ".pdf"}
FROM_READING = ("folder", "log", "own", "files")
READ = options.CollectionOptions.__dataclass_fields__


def command_of(verb: Verb) -> Callable[..., None]:
    """The function as typer takes it: reads what is typed, calls the function, prints its result."""
    function = _found(verb.function)
    text, words = field_list(function.__doc__ or "")
    command = _Command.of(verb, function, words)

    def called(**typed: Any) -> None:
        with command.usage():
            command.run(typed)

    called.__doc__ = text
    parameters = command.options()
    called.__signature__ = inspect.Signature(parameters, return_annotation=None)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": None}
    return called


@dataclass(frozen=True, slots=True)
class _Command:
    """A function, with those of its parameters that are typed.

    own       the parameters by name
    supplied  names of those that the command supplies: progress, log, folder, own, files; see `_read`
    read      name of the one that is read from one folder or several, with the options of reading; empty: none
    settings  the parameter of the service's settings
    """

    verb: Verb
    function: Callable[..., Any]
    own: Mapping[str, "_Parameter"]
    supplied: Set[str]
    read: str
    settings: "_Parameter | None"

    @classmethod
    def of(cls, verb: Verb, function: Callable[..., Any], words: Mapping[str, str]) -> "_Command":
        """The command of a function whose parameters are described in these words."""
        hints = _hints(function)
        taken = {
            name: _Parameter(one, hints[name], words.get(name, ""), verb)
            for name, one in inspect.signature(function).parameters.items()
            if name not in verb.hidden
        }
        several = "collections" in taken and hints["collections"] == Sequence[Collection]
        read = (
            "" if verb.reads == "not" else "collections" if several else "collection" if "collection" in taken else ""
        )
        supplied = taken.keys() & {"progress", *(FROM_READING if read else ())}
        without = {*supplied, "settings", *(["judgments", "scale"] if read else [])}
        own = {name: one for name, one in taken.items() if name not in without}
        return cls(verb, function, own, supplied, read, taken.get("settings"))

    def options(self) -> list[inspect.Parameter]:
        """Everything that is typed, as typer reads it."""
        parameters = [one.of_typer() for one in self.own.values()]
        if self.settings is not None:
            parameters += options.of_settings(self.settings.hint, self.verb.metavars)
        taken = {one.spelled for one in self.own.values()}
        parameters += [one for one in options.of_collection() if self.read and f"--{one.name}" not in taken]
        if self.verb.workers:
            parameters += [options.keyword(name, *options.SHARED[name](None)) for name in ("jobs", "scheduler")]
        if self.verb.plots:
            parameters.append(options.keyword("plot", options.PlotFile, None))
        if self.verb.page:
            parameters.append(options.keyword("report", options.PageFile, None))
        if self.verb.view and "form" not in self.own:
            parameters.append(options.keyword("form", options.As, options.Format.table))
        return parameters

    def run(self, typed: dict[str, Any]) -> None:
        """Call the function with what was typed, and print its result."""
        plot, page = typed.get("plot"), typed.get("report") if self.verb.page else None
        if plot is not None:
            check_plot(plot)
        if page is not None:
            need("plots", "--report")
            check_output_file(page)
        if None not in (typed.get("scheduler"), typed.get("jobs")):
            raise ArgumentError("scheduler", "--scheduler and --jobs cannot be combined: a cluster has its workers")
        given = {name: one.value(typed[name]) for name, one in self.own.items() if name != self.read}
        with options.notes_shown(), ExitStack() as stack:
            if self.read:
                given |= self._read(typed, _listed(given.get("measures", given.get("measure") or [])))
            if self.settings is not None:
                given["settings"] = self.settings.hint.read(typed)
            if "progress" in self.supplied:
                given["progress"] = stack.enter_context(progress(self.verb.bar))
            function = _by_measure(self.function, typed) if self.verb.by_measure else self.function
            several = [name for name, one in self.own.items() if one.parameter.kind is inspect.Parameter.VAR_POSITIONAL]
            found = function(*(given.pop(several[0]) if several else ()), **given)
            if plot is not None:
                save_plot(found, plot)
            if page is not None:
                write_text(page, _found(self.verb.page)(found).splitlines())
        _print(self.verb, typed.get("form", options.Format.table), found)

    @contextmanager
    def usage(self) -> Iterator[None]:
        """Report a wrong argument as wrong usage: exit code 2, which scripts can distinguish from wrong data."""
        try:
            yield
        except ArgumentError as error:
            at = self.own.get(error.argument)
            hint = f"--{error.argument.replace('_', '-')}" if at is None else at.spelled
            raise typer.BadParameter(str(error), param_hint=hint) from error

    def _read(self, typed: Mapping[str, Any], measures: Sequence[str]) -> dict[str, Any]:
        """The collection or collections, and what else is known of where they come from."""
        reading = options.CollectionOptions(**{name: typed[name] for name in READ if name in typed})
        folders = _listed(typed[self.read])
        found = [_collection(self.verb, reading, Path(one), typed["aspect"], measures) for one in folders]
        first, files = Path(folders[0]), None if reading.log else reading.judgments
        more: dict[str, Callable[[], Any]] = {
            "log": lambda: reading.log,
            "folder": lambda: folders[0],
            "own": lambda: replace(reading, judgments=None).read(first) if reading.log else None,
            "files": lambda: FolderFiles.find(first, files),
        }
        return {self.read: found if self.read == "collections" else found[0]} | {
            name: value() for name, value in more.items() if name in self.supplied
        }


def _by_measure(function: Callable[..., Any], typed: Mapping[str, Any]) -> Callable[..., Any]:
    """The function, called for each of several measures."""
    from audiosim.evaluation.by_measure import by_measure

    return partial(by_measure, function, workers=Workers(typed.get("jobs") or 1, typed.get("scheduler")))


def _listed(typed: Any) -> list[Any]:
    return typed if isinstance(typed, list) else [typed]


def _collection(
    verb: Verb, reading: options.CollectionOptions, folder: Path, aspect: str | None, measures: Sequence[str]
) -> Collection:
    if verb.reads in ("said", "whole"):
        return reading.load(folder, aspect, measures if verb.reads == "said" else ())
    return replace(reading, partial=True).read(folder, aspect)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Types of a function's parameters; that of its result may be known to type checkers alone."""
    plain = inspect.unwrap(function)
    own = SimpleNamespace(__annotations__={n: t for n, t in plain.__annotations__.items() if n != "return"})
    return get_type_hints(own, plain.__globals__, include_extras=True)


def check_plot(path: Path) -> None:
    """Refuse a file in which no plot can be drawn, before the work."""
    need("plots", "--plot")
    if path.suffix not in PLOTTED:
        raise ArgumentError("plot", f"{path}: expected a name that ends in .png, .svg or .pdf")
    check_output_file(path)


def save_plot(found: Any, path: Path) -> None:
    """Draw a result in a file, of the kind that its name says."""
    drawn = StringIO() if path.suffix == ".svg" else BytesIO()
    found.plot().save(drawn, format=path.suffix[1:], scale_factor=2)
    content = drawn.getvalue()
    write_texts({path: content.encode() if isinstance(content, str) else content})


def _print(verb: Verb, form: options.Format, found: Any) -> None:
    if verb.view and found is not None:
        view = _found(verb.view)
        columns = known_columns(found)
        options.print_result(options.Format(form), found.to_dict(), found.rows(), lambda: view(found), columns)
    for failure in getattr(found, "failed", ()):
        sys.stderr.write(f"audiosim: {printable(failure.path)}: {failure.error}\n")
    if verb.failed and (why := getattr(found, verb.failed, None)):
        if isinstance(why, str):
            sys.stderr.write(f"audiosim: {why}\n")
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A parameter of a function, as an argument or an option.

    hint   its type, with bounds
    words  its words in the docstring
    """

    parameter: inspect.Parameter
    hint: Any
    words: str
    verb: Verb

    @property
    def name(self) -> str:
        return self.parameter.name

    @property
    def shared(self) -> str:
        """The name by which verbs share the parameter."""
        return "measures" if self.name == "measure" and self.verb.by_measure else self.name

    @property
    def positional(self) -> bool:
        """True for an argument; what has a default, and where to write, are options, unless spelled otherwise."""
        spelled = self.verb.spelled.get(self.name)
        if spelled is not None:
            return not spelled.startswith("-")
        return self.parameter.default is self.parameter.empty and self.name not in ("output", "db")

    @property
    def spelled(self) -> str:
        """The parameter as it is typed: --fail-unless, or COLLECTION."""
        if self.positional:
            return self.verb.spelled.get(self.name, self.verb.metavars.get(self.name, self.name.upper()))
        return self.verb.spelled.get(self.name, f"--{self.name.replace('_', '-')}")

    def of_typer(self) -> inspect.Parameter:
        """The parameter as typer reads it."""
        default = self.parameter.default
        if self.name == "collection" and self.positional:
            return options.keyword(self.name, options.CollectionFolder, default)
        if self.shared in options.SHARED and self.name not in self.verb.spelled:
            default = [default] if self.shared != self.name else default
            return options.keyword(self.name, *options.SHARED[self.shared](default))
        kind, bounds = _typed(self.hint)
        file = "FILE" if kind in (Path, list[Path]) else None
        said: dict[str, Any] = {
            "help": sentence(self.words),
            "metavar": self.verb.metavars.get(self.name, file),
        } | bounds
        if default is None or default is self.parameter.empty:
            said["show_default"] = False
        if self.positional:
            several = self.parameter.kind is self.parameter.VAR_POSITIONAL or get_origin(kind) is list
            whole: Any = kind if get_origin(kind) is list or not several else list[kind]  # type: ignore[valid-type]
            whole = whole | None if default is None else whole
            argument = typer.Argument(**said | {"metavar": f"{self.spelled}..." if several else self.spelled})
            return options.keyword(self.name, Annotated[whole, argument], default)
        if isinstance(default, tuple):
            default = ",".join(f"{one:g}" for one in default) or None if kind is str else list(default)
        if kind is bool and default is True:
            flags = [f"{self.spelled}/--no-{self.spelled[2:]}"]
        else:
            flags = [
                *([SHORT[self.name]] if self.name in SHORT and self.name not in self.verb.spelled else []),
                *self.spelled.split(),
            ]
        optional = kind | None if default is None else kind
        return options.keyword(self.name, Annotated[optional, typer.Option(*dict.fromkeys(flags), **said)], default)

    def value(self, typed: Any) -> Any:
        """The function's argument, of what was typed."""
        with of_argument(self.name):
            if self.shared in options.READS and self.name not in self.verb.spelled:
                return options.READS[self.shared](typed, self.parameter.default)
            if typed in (None, []) and self.parameter.default is not self.parameter.empty:
                return self.parameter.default
            number = _number_of(self.hint)
            return options.numbers(typed, number) if isinstance(typed, str) and number else typed


def _parts(hint: Any) -> tuple[list[Any], dict[str, Any]]:
    """The alternatives of a hint, without None, and the bounds that any of them has."""
    kinds, bounds = [], dict[str, Any]()
    for kind in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
        if get_origin(kind) is Annotated:
            kind, *more = get_args(kind)
            inner, own = _parts(kind)
            bounds |= own
            for one in more:
                bounds |= {"min": one.ge} if isinstance(one, Ge) else {"max": one.le} if isinstance(one, Le) else {}
            kinds += inner
        elif kind is not type(None):
            kinds.append(kind)
    return kinds, bounds


def _typed(hint: Any) -> tuple[Any, dict[str, Any]]:
    """The type that is typed for a hint, and its bounds: text for what is read from text, a list for a sequence."""
    kinds, bounds = _parts(hint)
    if _number_of(hint) is not None:
        return str, bounds
    if Path in kinds and not any(map(_is_sequence, kinds)):
        return Path, bounds
    first = next(filter(_is_sequence, kinds), kinds[0])
    if first in (bool, int, float, str) or get_origin(first) is Literal:
        return first, bounds
    if _is_sequence(first):
        return list[_typed(get_args(first)[0])[0]], bounds  # type: ignore[misc]
    return str, bounds


def _is_sequence(kind: Any) -> bool:
    origin = get_origin(kind)
    return isinstance(origin, type) and issubclass(origin, Sequence)


def _number_of(hint: Any) -> Any:
    """The kind of number in a hint that is a sequence of numbers, which is typed as 0,0.1; None for any other."""
    found = [get_args(kind)[0] for kind in _parts(hint)[0] if _is_sequence(kind)]
    return found[0] if found and found[0] in (int, float) else None


def _found(place: str) -> Callable[..., Any]:
    module, name = place.split(":")
    function: Callable[..., Any] = getattr(import_module(f"audiosim.{module}"), name)
    return function
