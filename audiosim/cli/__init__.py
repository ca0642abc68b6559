"""The command: one function per verb; reads files, makes one library call, prints."""

import errno
import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

import audiosim
from audiosim.cli import access_tokens, estimating, evaluating, fitting, keeping, planning, serving, simulating, sound
from audiosim.deprecation import UNTIL
from audiosim.errors import AudiosimError

app = typer.Typer(
    name="audiosim",
    help="Rank music-similarity systems honestly from as few human judgments as will do.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    rich_markup_mode="markdown",
)

UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"audiosim {audiosim.__version__}\n")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Rank music-similarity systems honestly from as few human judgments as will do."""


COMMANDS: dict[str, Callable[..., None]] = {
    "demo": serving.demo,
    "init": sound.init,
    "extract": sound.extract,
    "neighbours": sound.neighbours,
    "train": fitting.train,
    "predict": estimating.predict,
    "estimate": estimating.estimate,
    "compare": estimating.compare,
    "next": estimating.next_pairs,
    "plan": planning.plan,
    "simulate": simulating.simulate,
    "evaluate": evaluating.evaluate,
    "report": evaluating.report,
    "reliability": evaluating.reliability,
    "satisfaction": evaluating.satisfaction,
    "reproduce": evaluating.reproduce,
    "serve": serving.serve,
    "backup": keeping.backup,
    "verify": keeping.verify_logs,
    "restore": keeping.restore,
}
for name, command in COMMANDS.items():
    app.command(name)(command)
app.add_typer(access_tokens.app, name="token")


FORMER = {"--rule": "--selection-rule"}  # options by the names they have up to the next version


def main() -> None:
    """Run the command; what is wrong with the input is one line on stderr and exit code 1."""
    sys.argv[1:] = [_renamed(argument) for argument in sys.argv[1:]]
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except AudiosimError as error:
        _fail(str(error))
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:
        if error.filename is None and error.errno not in UNWRITABLE:
            raise
        _drop_output()
        _fail(f"{error.filename or 'output'}: {error.strerror}")


def _drop_output() -> None:
    """Keep Python from writing at its end what could not be written before."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _renamed(argument: str) -> str:
    """An argument with the name that an option has now; who uses the old one is told."""
    option, equals, value = argument.partition("=")
    if option not in FORMER:
        return argument
    sys.stderr.write(f"note: {option} is deprecated and goes with audiosim {UNTIL}: use {FORMER[option]}\n")
    return f"{FORMER[option]}{equals}{value}"


def _fail(message: str) -> None:
    sys.stderr.write(f"audiosim: {message}\n")
    sys.exit(1)
