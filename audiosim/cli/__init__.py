"""The command: one function per verb; reads files, makes one library call, prints."""

import errno
import os
import sys
from collections.abc import Mapping
from functools import cache
from glob import escape, glob
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import audiosim
from audiosim.cli.verbs import COMMANDS, PANELS, Group
from audiosim.errors import AudiosimError
from audiosim.text import as_option, did_you_mean, reason, refused_in_words, spell_advice

SETTINGS: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"], "max_content_width": 110},
    "rich_markup_mode": "markdown",
}
KEYS = "Words are explained in docs/glossary.md, the keys of the answer in JSON in docs/lookup.md, JSON keys."
UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}


class Once(TyperCommand):
    """A command that says which value it uses if an option that takes one is typed several times: the last."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Read what was typed."""
        parser = self.make_parser(ctx)
        single = [one for one in self.params if not (getattr(one, "is_flag", True) or getattr(one, "multiple", True))]
        for one in single:
            parser.add_option(one, one.opts, one.name, action="append")  # type: ignore[arg-type]
        typed = parser.parse_args(args=list(args))[0]
        for one in single:
            given = typed.get(one.name, [])
            if others := {str(value): None for value in given if value != given[-1]}:
                said = f"{max(one.opts, key=len)} was given {'twice' if len(given) == 2 else f'{len(given)} times'}"
                sys.stderr.write(f"note: {said}: {given[-1]} is used, not {', '.join(others)}\n")
        return super().parse_args(ctx, args)


class OnDemand(TyperGroup):
    """Commands, each imported only when called, so that none loads the libraries of another.

    The overridden types are in typer or in click, depending on typer's version: hence the lines that mypy ignores.
    """

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """The names of the commands, as the help lists them."""
        return list(COMMANDS)

    def get_command(self, ctx: typer.Context, cmd_name: str) -> TyperCommand | TyperGroup | None:  # type: ignore[override]
        """The command with a given name."""
        return _built(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        """The command named by the first argument; an unknown name is an error that suggests the nearest one."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            ctx.fail(f"no such command {args[0]!r}{did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run a command; its errors name options as they are typed: --unjudged zero for `unjudged="zero"`.

        Judgments that are missing, and that lie beside the collection, are named.
        """
        words = ctx.args
        try:
            return super().invoke(ctx)
        except AudiosimError as error:
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            called = [one for one in (command, *getattr(command, "commands", {}).values()) if one is not None]
            options = {str(one.name): max(one.opts, key=len) for own in called for one in own.params}
            said = spell_advice(str(error), lambda *given: _typed(options, *given))
            beside = [path for word in words for path in glob(os.path.join(escape(word), "truth.*"))]  # noqa: PTH118, PTH207
            error.args = (said.replace("--judgments FILE", f"--judgments {beside[0]}") if beside else said,)
            raise
        except Exception as error:
            if errors := getattr(error.__cause__, "errors", None):  # of pydantic, which reads what is typed
                error.message = refused_in_words(errors()[0])  # type: ignore[attr-defined]
            option = getattr(error, "option_name", "")  # an unknown one
            if option and ctx.invoked_subcommand == "serve":
                from audiosim.service.settings import elsewhere

                if place := elsewhere(option):
                    ctx.fail(f"{option} is no option: {place}")
            asked = getattr(getattr(error, "ctx", None), "command", None)
            takes = {one.name for one in getattr(asked, "params", ())}
            extra = str(getattr(error, "message", "")).startswith("Got unexpected extra")
            if extra and takes >= {"collection", "judgments"}:
                error.message += ". Runs and judgments lie in one folder, COLLECTION; --judgments FILE names others"  # type: ignore[attr-defined]
            raise

    def get_help(self, ctx: typer.Context) -> str:  # type: ignore[override]
        """The help text, without importing a command."""
        markup = self.rich_markup_mode
        self.rich_markup_mode = None  # importing rich would take longer than all the rest
        try:
            return super().get_help(ctx)
        finally:
            self.rich_markup_mode = markup

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Write the commands in their panels."""
        for panel, verbs in PANELS.items():
            with formatter.section(panel):
                formatter.write_dl([(name, verb.summary()) for name, verb in verbs.items()])


@cache  # what is typed wrong is explained by the same command
def _built(name: str) -> TyperCommand | TyperGroup:
    from audiosim.cli.command import command_of

    verb = COMMANDS[name]
    if isinstance(verb, Group):
        commands = typer.Typer(**SETTINGS, help=f"{verb.words}\n\nExample: {verb.example}", no_args_is_help=True)
        verbs = verb.verbs
    else:
        commands, verbs = typer.Typer(**SETTINGS), {name: verb}
    for own, one in verbs.items():
        commands.command(own, cls=Once, epilog=KEYS if one.view else None)(command_of(one))
    built = typer.main.get_command(commands)
    assert isinstance(built, TyperCommand | TyperGroup)
    return built


def _typed(options: Mapping[str, str], argument: str, value: str) -> str:
    """An argument as the command takes it; unchanged if the command does not."""
    return as_option(options[argument], value) if argument in options else f"{argument}={value}"


SUMMARY = """Rank music-similarity systems from as few human judgments as possible, and say how sure the ranking is.

`audiosim COMMAND --help` has examples. They use the folder that `audiosim demo demo` makes, so you can try them.
`--format json` prints the answer for programs; docs/lookup.md leads to the meaning of its keys.
"""

app = typer.Typer(
    name="audiosim",
    cls=OnDemand,
    help=SUMMARY,
    no_args_is_help=True,
    **(SETTINGS | {"add_completion": True}),
)


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"audiosim {audiosim.__version__}\n")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Options shared by all commands."""


def main() -> None:
    """Run the command; an error in the input is one line on stderr and exit code 1."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except AudiosimError as error:
        _fail(str(error))
    except MemoryError:
        _fail("there is not enough memory for this: ask for fewer draws, systems or queries at a time")
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:
        if error.filename is None and error.errno not in UNWRITABLE:
            raise
        _drop_output()
        _fail(f"{error.filename or 'output'}: {reason(error)}")


def _drop_output() -> None:
    """Keep Python from trying again, at its exit, to write output that could not be written."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str) -> None:
    sys.stderr.write(f"audiosim: {message}\n")
    sys.exit(1)
