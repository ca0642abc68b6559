"""Pages of the reference, generated from their subjects: the commands, the routes, the public names of Python.

python docs/generated_pages.py  writes them beside this file, as `make docs` does
"""

import ast
import importlib
import inspect
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin

import typer
from generated_keys import keys_parts

import audiosim
from audiosim import Collection, cli
from audiosim.cli.verbs import COMMANDS, Group, Verb
from audiosim.service.app import create_app
from audiosim.service.client import Client, Organiser
from audiosim.service.settings import Settings
from audiosim.service.transport import Transport
from audiosim.text import field_list, sentence

ROOT = Path(__file__).resolve().parents[1]
TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "array": "list"}
OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*)")
READ = ("judgments", "scale", "system_from", "same_artist", "partial", "aspect")
SHOWN = {"Security": "SECURITY.md", "Changelog": "CHANGELOG.md", "Contributing": "CONTRIBUTING.md"}


def write(folder: Path) -> None:
    """Write all generated pages."""
    pages = {
        "reference/commands.md": commands_page(),
        "reference/configuration.md": configuration_page(),
        "reference/http.md": http_page(),
        "reference/python.md": python_page(),
        "reference/faces.md": faces_page(),
        "reference/keys.md": _page(keys_parts(verbs(), _document()["components"]["schemas"])),
    }
    pages |= {f"project/{name.lower()}.md": root_page(path) for name, path in SHOWN.items()}
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:  # an equal page need not be built again
            path.write_text(text, encoding="utf-8")


def root_page(name: str) -> str:
    """A file of the repository's root, with links adapted to the site."""
    text = (ROOT / name).read_text(encoding="utf-8")
    text = re.sub(r"\]\(docs/([\w.-]+(?:#[\w-]+)?)\)", r"](../\1)", text)
    return re.sub(r"\]\(([A-Z]+)\.md\)", lambda found: f"]({found[1].lower()}.md)", text)


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its whole name, including those in groups."""
    group: Any = typer.main.get_command(cli.app)
    context = group.make_context("audiosim", [], resilient_parsing=True)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inner = getattr(command, "commands", None)
        if inner:
            yield from ((f"{name} {own}", one) for own, one in inner.items())
        elif command is not None:
            yield name, command


def commands_page() -> str:
    """All commands: what they do, their arguments and options."""
    parts = [
        "# Commands",
        "Written from `audiosim COMMAND --help`. Every command takes `--help`; exit code 1 means that the input is "
        "wrong, 2 that the command was called wrongly.",
    ]
    for name, command in commands():
        parts += [f"## audiosim {name}", _plain(command.help or ""), _usage(name, command), _options(command)]
    return _page(parts)


def configuration_page() -> str:
    """The settings of the service: name, words, default."""
    _, words = field_list(Settings.__doc__ or "")
    rows = []
    for one in fields(Settings):
        name = one.name.replace("_", "-")
        shown = f"`--{name}`" if one.name in {*Settings.TYPED} - {*Settings.PLACED} else f"`{name}`"
        default = "" if one.default in (None, ()) else f"`{str(one.default).lower()}`"
        rows.append(f"| {shown} | {_cell(sentence(words[one.name]))} | {default} |")
    parts = [
        "# Configuration of the service",
        "Every setting of `audiosim serve` has one name. It is taken from the command line (`--port 8000`), else from "
        "the environment (`AUDIOSIM_PORT=8000`), else from the file of `--config` (`port = 8000`). A name without "
        "dashes is no option: set it in the environment (`known-share` is `AUDIOSIM_KNOWN_SHARE`) or in the file. "
        'Several values are a list in the file (`grant = ["assessor=*"]`); in a variable they have spaces between '
        "them, paths colons. [Deployment](../deployment.md) has an example.",
        "\n".join(["| name | what | default |", "|---|---|---|", *rows]),
    ]
    return _page(parts)


def _usage(name: str, command: Any) -> str:
    arguments = [parameter.metavar or parameter.name.upper() for parameter in command.params if _is_argument(parameter)]
    return f"```text\n{' '.join(['audiosim', name, *arguments, '[OPTIONS]'])}\n```"


def _options(command: Any) -> str:
    rows = [_row(parameter) for parameter in command.params if parameter.name != "help"]
    return "\n".join(["| argument or option | meaning |", "|---|---|", *rows]) if rows else ""


def _row(parameter: Any) -> str:
    said = _cell(getattr(parameter, "help", "") or "")
    default = parameter.default
    shown = default not in (None, False, (), []) and not callable(default) and getattr(parameter, "show_default", True)
    if shown:
        words = (
            " ".join(map(str, default))
            if isinstance(default, list | tuple)
            else str(getattr(default, "value", default))
        )
        said += f" Default: `{words}`."
    choices = _choices(parameter)
    if choices:
        said += f" One of {', '.join(f'`{choice}`' for choice in choices)}."
    names = " ".join(f"`{option}`" for option in parameter.opts)
    if _is_argument(parameter):
        names = f"`{(parameter.metavar or str(parameter.name)).upper()}`"
    return f"| {names} | {said} |"


def _choices(parameter: Any) -> list[str]:
    """The accepted words, from typer's annotation or click's type of choices."""
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    if inspect.isclass(annotation) and issubclass(annotation, Enum):
        return [str(one.value) for one in annotation]
    words = get_args(annotation) if get_origin(annotation) is Literal else ()
    return [str(word) for word in words or getattr(getattr(parameter, "type", None), "choices", None) or ()]


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def http_page() -> str:
    """The routes of the service, from the document that it answers /openapi.json with."""
    document = _document()
    parts = [
        "# HTTP",
        "Written from `/openapi.json`, which the service answers itself; programs generate clients from it. Errors are "
        "`application/problem+json` with a request's number. [The service](../service.md) says how it is used.",
    ]
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            if method in ("get", "post", "put", "delete", "patch"):
                parts += _route(method.upper(), path, route)
    parts.append("## Bodies")
    for name, schema in sorted(document["components"]["schemas"].items()):
        parts += _body(name, schema)
    return _page(parts)


@cache
def _document() -> dict[str, Any]:
    """The description of the service."""
    app = create_app([Collection.load(ROOT / "fixtures" / "demo")])
    document: dict[str, Any] = json.loads(json.dumps(app.openapi()))
    return document


def _route(method: str, path: str, route: dict[str, Any]) -> list[str]:
    parts = [f"## {method} {path}", _plain(route.get("description") or route.get("summary", ""))]
    rows = [
        f"| `{one['name']}` | {one['in']} | {_kind(one.get('schema', {}))} | {_cell(one.get('description', ''))} |"
        for one in route.get("parameters", ())
    ]
    if rows:
        parts.append("\n".join(["| parameter | in | kind | meaning |", "|---|---|---|---|", *rows]))
    body = route.get("requestBody", {}).get("content", {})
    if body:
        parts.append(
            "Body: " + ", ".join(f"`{kind}`, {_kind(one.get('schema', {}))}" for kind, one in body.items()) + "."
        )
    answers = [f"| {code} | {_cell(one.get('description', ''))} |" for code, one in route.get("responses", {}).items()]
    return [*parts, "\n".join(["| answer | meaning |", "|---|---|", *answers])]


def _body(name: str, schema: dict[str, Any]) -> list[str]:
    needed = schema.get("required", ())
    rows = [
        f"| `{field}` | {_kind(one)}{'' if field in needed else ', optional'} | {_cell(one.get('description', ''))} |"
        for field, one in schema.get("properties", {}).items()
    ]
    table = ["\n".join(["| field | kind | meaning |", "|---|---|---|", *rows])] if rows else []
    return [f"### {name}", _plain(schema.get("description", "")), *table]


def _kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return f"`{schema['$ref'].rsplit('/', 1)[-1]}`"
    if "enum" in schema:
        return "one of " + ", ".join(f"`{one}`" for one in schema["enum"] if one is not None)
    if schema.get("type") == "array" and schema.get("items"):
        return f"list of {_kind(schema['items'])}"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(one) for one in schema["anyOf"] if one.get("type") != "null"))
    return TYPES.get(str(schema.get("type")), str(schema.get("type", "anything")))


class Operation(NamedTuple):
    """An operation of the service: its address, and the commands that its words name."""

    method: str
    path: str
    said: Mapping[str, Any]

    @property
    def verbs(self) -> set[str]:
        return set(re.findall(r"(?:as|of) `audiosim ([a-z-]+(?: [a-z]+)?)[^`]*`", self.said.get("description", "")))

    def is_at(self, method: str, path: str) -> bool:
        return method == self.method and bool(re.fullmatch(re.sub(r"\{[^}]*\}", "[^/]+", self.path), path))

    def fields(self) -> set[str]:
        """Names of what may be sent: of parameters in the address, and of the body."""
        bodies = [one["schema"].get("$ref", "") for one in self.said.get("requestBody", {}).get("content", {}).values()]
        schemas = [_document()["components"]["schemas"][one.rsplit("/", 1)[-1]] for one in bodies if one]
        own = {one["name"] for one in self.said.get("parameters", ()) if one["in"] == "query"}
        return own.union(*(one.get("properties", {}) for one in schemas))


class AskedError(Exception):
    """Raised instead of a request of the client: its method and its path."""


class Recorder(Transport):
    """A connection of the client that sends nothing; every request is an AskedError."""

    def __init__(self) -> None:
        self.url = "http://localhost"

    def send(self, method: str, path: str, **_: object) -> None:
        raise AskedError(method, path)

    def lines(self, path: str, _: object) -> None:
        raise AskedError("GET", path)


@cache
def _asked_by_client() -> dict[str, tuple[str, str]]:
    """The request that each method of the client sends first."""
    client = object.__new__(Client)
    client._there = Recorder()
    client.organiser = Organiser(client._there)
    found = {}
    for holder, prefix in ((client, ""), (client.organiser, "organiser.")):
        for name, method in inspect.getmembers(holder, inspect.ismethod):
            if name.startswith("_") or name == "close":
                continue
            needed = [
                {"a": [1.0]} if "Mapping" in str(one.annotation) else () if "Sequence" in str(one.annotation) else "a"
                for one in inspect.signature(method).parameters.values()
                if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD
            ]
            try:
                method(*needed)
            except AskedError as asked:
                found[f"{prefix}{name}"] = asked.args
    return found


def _pages_of(operation: Operation) -> list[str]:
    """The pages whose scripts have the last words of an operation's address."""
    last = operation.path.rsplit("}", 1)[-1]
    whole = rf"|\"{last[1:]}\"" if "-" in last else ""  # a name that is put into an address
    wanted = re.compile(rf"{re.escape(last)}(?![\w./-]){whole}")
    scripts = (ROOT / "service" / "pages").glob("*/*.js")
    return sorted({one.parent.name for one in scripts if last and wanted.search(one.read_text(encoding="utf-8"))})


def verbs() -> Iterator[tuple[str, Verb]]:
    """Every verb with its whole name, including those in groups."""
    for name, place in COMMANDS.items():
        if isinstance(place, Group):
            yield from ((f"{name} {own}", one) for own, one in place.verbs.items())
        else:
            yield name, place


def _public_name(name: str, verb: Verb) -> str:
    """The function of `audiosim` that a command calls, or that has its name; empty: none is public."""
    module, own = verb.function.split(":")
    function = getattr(importlib.import_module(f"audiosim.{module}"), own)
    same = [one for one in audiosim.__all__ if getattr(audiosim, one) is function]
    return next(iter([*same, *(one for one in (name, name.replace(" ", "_")) if one in audiosim.__all__)]), "")


def faces_page() -> str:
    """Every verb beside its faces, and who takes which option."""
    paths, typed = _document()["paths"], dict(commands())
    operations = [Operation(method.upper(), path, one) for path, some in paths.items() for method, one in some.items()]
    said = ["| command | Python | HTTP | client | page |", "|---|---|---|---|---|"]
    options = ["| verb | option | command | Python | HTTP |", "|---|---|---|---|---|"]
    for name, verb in verbs():
        public, own = _public_name(name, verb), [one for one in operations if name in one.verbs]
        pages = ", ".join(sorted({page for one in own for page in _pages_of(one)}))
        python = _code([f"audiosim.{public}"] if public else [])
        said.append(f"| `audiosim {name}` | {python} | {_faces(own)} | {pages} |")
        options += _options_by_face(name, typed[name], public, own)
    alone = [f"| {_faces([one])} |" for one in operations if not one.verbs]
    parts = [
        "# One verb, several faces",
        "Written from the program. A verb is one function; command, route, method of the client and page are its "
        "faces, and have the same names and keys. Where Python has no name, the function is not public.",
        "\n".join(said),
        "## Operations of a running service",
        "Pages use these operations and those above alone, so a program can do whatever a page does.",
        "\n".join(["| HTTP | client |", "|---|---|", *alone]),
        "## Options by face",
        "An option of experts is a parameter in Python alone. How a collection is read "
        f"({_code([*READ], ', ')}) is the same for every command; in Python these are arguments of `Collection.load`.",
        "\n".join(options),
    ]
    return _page(parts)


def _faces(operations: Sequence[Operation]) -> str:
    """Cells of operations: themselves, and the client's methods."""
    methods = [name for name, asked in _asked_by_client().items() if any(one.is_at(*asked) for one in operations)]
    asked_for = _code(f"{one.method} {one.path}" for one in operations)
    return f"{asked_for} | {_code(f'Client.{name}' for name in methods)}"


def _options_by_face(name: str, command: Any, public: str, operations: Sequence[Operation]) -> list[str]:
    """Rows of a verb that has more faces than its command: its options, and which of its faces takes them."""
    typed = {
        one.name: (one.metavar or one.name.upper()) if _is_argument(one) else one.opts[0] for one in command.params
    }
    python = inspect.signature(getattr(audiosim, public)).parameters if public else {}
    sent = {field for one in operations for field in one.fields()}
    names = [
        one for one in dict.fromkeys([*typed, *python]) if one not in {*READ, "collection", "progress", "help", "form"}
    ]
    rows = [(one, _code([typed[one]] if one in typed else []), one in python, one in sent) for one in names]
    said = [(f"`{one}`", option, "yes" if python else "", "yes" if sent else "") for one, option, python, sent in rows]
    return [f"| {name} | {' | '.join(row)} |" for row in said if public or operations]


def _code(words: Iterable[str], between: str = "<br>") -> str:
    return between.join(f"`{one}`" for one in words)


def python_page() -> str:
    """The names of `audiosim.__all__` and of the public modules, with their signatures and docstrings."""
    public = (ROOT / "docs" / "public.md").read_text(encoding="utf-8")
    modules = [name for name in re.findall(r"^\| `([a-z_.]+)` \|", public, re.MULTILINE) if name != "audiosim"]
    parts = [
        "# Python",
        "Written from the docstrings. These names change only with a line in the changelog: see [what is "
        "public](../public.md). In docstrings `(s, q)` is the shape of an array.",
        "## audiosim",
        *(part for name in audiosim.__all__ for part in _name("audiosim", name, getattr(audiosim, name))),
    ]
    for module in modules:
        loaded = importlib.import_module(module)
        parts += [f"## {module}", _docstring(inspect.getdoc(loaded) or "")]
        parts += [part for name in _own(loaded) for part in _name(module, name, getattr(loaded, name))]
    return _page(parts)


def _own(module: Any) -> list[str]:
    """The public functions and classes that a module defines, or lists in `__all__`."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return [name for name in listed if callable(getattr(module, name))]
    tree = ast.parse(inspect.getsource(module))
    kinds = (ast.FunctionDef, ast.ClassDef)
    return [node.name for node in tree.body if isinstance(node, kinds) and not node.name.startswith("_")]


def _name(module: str, name: str, value: Any) -> list[str]:
    parts = [f"### {module}.{name}", _signature(name, value), _docstring(inspect.getdoc(value) or "")]
    if inspect.isclass(value):
        for own, method in sorted(vars(value).items()):
            function = method.fget if isinstance(method, property) else getattr(method, "__func__", method)
            if not own.startswith("_") and inspect.isfunction(function) and function.__doc__:
                first = inspect.getdoc(function) or ""
                call = own if isinstance(method, property) else f"{own}{_arguments(function)}"
                parts.append(f"`{call}`\n:   {_first(first)}")
    return parts


def _signature(name: str, value: Any) -> str:
    return f"```text\n{name}{_arguments(value)}\n```"


def _arguments(value: Any) -> str:
    try:
        given = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    words = []
    for parameter in given.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        default = parameter.default
        simple = default is None or isinstance(default, str | int | float | bool)
        words.append(
            parameter.name if default is parameter.empty else f"{parameter.name}={default if simple else '...'}"
        )
    return f"({', '.join(words)})"


def _docstring(text: str) -> str:
    """The first paragraph as text, the rest with its layout."""
    first, _, rest = text.partition("\n\n")
    shown = _plain(first)
    return f"{shown}\n\n```text\n{textwrap.dedent(rest).rstrip()}\n```" if rest.strip() else shown


def _first(text: str) -> str:
    return _plain(text.partition("\n\n")[0])


def _plain(text: str) -> str:
    """A text in which Markdown sets only code, including options, so that their dashes are not punctuation."""
    parts = (" ".join(text.split("\n")) if "\n\n" not in text else text).split("`")
    parts[::2] = (OPTION.sub(r"`\1`", re.sub(r"([*_<>\[\]|])", r"\\\1", part)) for part in parts[::2])
    return "`".join(parts)


def _cell(text: str) -> str:
    return _plain(" ".join(text.split()))


def _page(parts: list[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


if __name__ == "__main__":
    write(Path(__file__).parent)
