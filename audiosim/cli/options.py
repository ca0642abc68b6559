"""Parts shared by the commands: options, opening a collection, printing a result."""

import csv
import inspect as signatures
import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_origin, get_type_hints

import typer

from audiosim.collection.check import deep_in_words, inspect
from audiosim.collection.collection import Collection
from audiosim.collection.grading import on_scale, read_on
from audiosim.collection.kinds import SystemFrom
from audiosim.collection.values import SameArtist
from audiosim.errors import InputError
from audiosim.measures.measure import Measure, as_measure
from audiosim.ranking.about import OF_THIS_KIND, THESE, About
from audiosim.text import NOTES, as_option, field_list, sentence, spell_advice

if TYPE_CHECKING:
    from rich.console import RenderableType


class Format(StrEnum):
    """Format of a command's output."""

    table = "table"
    json = "json"
    csv = "csv"


CollectionFolder = Annotated[
    Path, typer.Argument(metavar="COLLECTION", help="The collection's folder.", show_default=False)
]
ModelName = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="joint, mout, mjud, loutput, ljudge, historical, uniform, a model file, remote:URL or an installed "
        "estimator. Default: joint.",
    ),
]
MeasureName = Annotated[
    str,
    typer.Option(
        "--measure", help="Such as nDCG@5 or RBP(p=0.8)@5, or an installed one; without a cutoff, the collection's."
    ),
]
MeasureOrNone = Annotated[
    str | None, typer.Option("--measure", help="As for `estimate`. Default: that of the saved results, else CG@5.")
]
Measures = Annotated[
    list[str],
    typer.Option(
        "--measure", help="Such as nDCG@5 or RBP(p=0.8)@5; without a cutoff, the collection's; repeat for more."
    ),
]
JudgmentsFile = Annotated[
    str | None,
    typer.Option(
        "--judgments",
        metavar="FILE|URL|none",
        help="Judgments to use instead of the folder's: a file, or none. With a campaign's database, such as "
        "sqlite:///campaign.db, its judgments are added to the folder's.",
    ),
]
NamedBy = Annotated[
    SystemFrom | None,
    typer.Option(
        "--system-from",
        help="Take system names from the tag in run files or from the file names. Default: as in collection.toml, "
        "else the tag, or the file name if several files share a tag.",
        show_default=False,
    ),
]
FromOwnArtist = Annotated[
    SameArtist | None,
    typer.Option(
        "--same-artist",
        help="Results that are the query's own recording, or by its artist: drop or keep them. Default: as in "
        "collection.toml, else keep them and print a note.",
        show_default=False,
    ),
]
ScaleName = Annotated[
    str | None,
    typer.Option(
        "--scale",
        metavar="SCALE",
        help="Scale of the judgments: fine (0 to 100), broad (0 1 2), binary, or levels such as 0-3 or 0,1,2,5. Or "
        "another that fine judgments are converted to: graded-4 has four levels; binary-40 is relevant from 40 on. "
        "Default: as in collection.toml, else guessed, with a note.",
        show_default=False,
    ),
]
AspectName = Annotated[
    str | None,
    typer.Option(
        "--aspect",
        metavar="NAME|mean",
        help="Aspect to rank by, if judgments have a column aspect; mean: the mean of all. Default: mean.",
        show_default=False,
    ),
]
Partial = Annotated[
    bool,
    typer.Option(
        "--partial",
        help="Accept runs that answer fewer than 90 % of the queries, otherwise an error; a missing query scores 0.",
    ),
]
PlotFile = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Also draw the result: .png, .svg or .pdf.")
]
PageFile = Annotated[
    Path | None,
    typer.Option("--report", metavar="REPORT.html", help="Also write the result as a page with plots."),
]
_ABOUT_WORDS = "these|queries|panel|listeners|N"
_ABOUT_HELP = (
    "`these`: only these queries, so that only missing judgments are uncertain; `queries`: queries of this kind, with "
    "these as a sample. `panel`: the mean opinion of the people who judged, as if each had judged every pair; "
    "`listeners`: that of all people like them; N: that of N people, including those who judged."
)
AboutWords = Annotated[
    list[str] | None,
    typer.Option("--about", metavar=_ABOUT_WORDS, help=_ABOUT_HELP, show_default="these, panel"),
]
AboutThisKind = Annotated[
    list[str] | None,
    typer.Option("--about", metavar=_ABOUT_WORDS, help=_ABOUT_HELP, show_default="queries, panel"),
]
Database = Annotated[
    str,
    typer.Option(
        "--db",
        metavar="URL",
        envvar="AUDIOSIM_DB",
        help="Database of a service, such as sqlite:///campaign.db; a service may use it meanwhile.",
        show_default=False,
    ),
]
SelectionRuleName = Annotated[
    str | None,
    typer.Option(
        "--selection-rule",
        help="How to choose pairs: differences or scores (the thesis's weights, to rank systems or to estimate their "
        "scores), unsettled (the paper's weights, for pairs of systems below .95), doubts or variances (the same "
        "aims, by expected information), drawn (at random, in proportion to doubts), random, pooled, or an installed "
        "rule. Default: drawn with a joint model, differences with any other.",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything random, including how ties are broken.", min=0)]
Jobs = Annotated[int | None, typer.Option("-j", "--jobs", help="Worker processes. Default: one.", min=1)]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Do the work on a Dask cluster, such as tcp://10.0.0.1:8786, instead of processes here. Needs "
        "audiosim\\[scale].",
    ),
]
As = Annotated[Format, typer.Option("--format", help="Output format: table for people, json or csv for programs.")]


@dataclass(frozen=True, slots=True)
class CollectionOptions:
    """Options for reading a collection's files, for commands that list them one after another."""

    judgments: JudgmentsFile = None
    system_from: NamedBy = None
    same_artist: FromOwnArtist = None
    scale: ScaleName = None
    partial: Partial = False

    @property
    def log(self) -> str | None:
        """Address of the campaign's database that the judgments come from; None if they come from files."""
        return self.judgments if self.judgments and "://" in self.judgments else None

    def read(self, folder: Path, aspect: str | None = None) -> Collection:
        """The collection in a folder, by one of its aspects if given."""
        as_read = read_on(self.scale)
        collection = Collection.load(
            folder,
            None if self.log else self.judgments,
            scale=as_read,
            system_from=self.system_from,
            same_artist=self.same_artist,
            partial=self.partial,
        )
        if self.log:
            from audiosim.campaign.reader import with_log

            collection = with_log(self.log, collection)
        if aspect is not None:
            collection = collection.by_aspect(aspect)
        return on_scale(collection, None if as_read else self.scale)

    def load(self, folder: Path, aspect: str | None = None, measures: Sequence[str] = ()) -> Collection:
        """The same, with doubts and guesses as notes; on a terminal also a line about each file.

        measures  measures that will be taken of it: judgments that they leave unused are a note
        """
        for text in measures:
            as_measure(text, 1)  # before the work
        collection = self.read(folder, aspect)
        say_read(collection)
        say_measures(collection, [as_measure(text, collection.cutoff) for text in measures])
        return collection


def say_read(collection: Collection) -> None:
    """Note what was guessed, and each likely mistake; on a terminal, stderr also gets a line about each file."""
    if sys.stderr.isatty():
        sys.stderr.writelines(f"read: {one.line}\n" for one in collection.readings if not (one.doubtful or one.unread))
    found = inspect(collection)
    for line in (*collection.guesses, *found.problems, *found.notes):
        NOTES.info("%s", line)


def say_measures(collection: Collection, measures: Sequence[Measure]) -> None:
    """Note cutoffs that are too deep, judgments beyond them, and measures to which nearly every pair is relevant."""
    from audiosim.measures.measure import beyond_in_words
    from audiosim.measures.scores import indiscriminate_in_words, judgments_beyond

    for cutoff in sorted({measure.cutoff for measure in measures}):
        if deep := deep_in_words(collection, cutoff):
            NOTES.info("%s", deep)
    for measure in measures:
        if beyond := judgments_beyond(collection, measure):
            NOTES.info("%s", beyond_in_words(measure, collection.scale, beyond, len(collection.judgments)))
        if said := indiscriminate_in_words(collection, measure):
            NOTES.info("%s", said)


def keyword(name: str, annotation: Any, default: Any) -> signatures.Parameter:
    """A parameter as typer reads it: with an annotation of typer's, and a default or `inspect.Parameter.empty`."""
    return signatures.Parameter(name, signatures.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def of_settings(kind: Any, metavars: Mapping[str, str]) -> list[signatures.Parameter]:
    """The arguments and options of settings that may be typed; as texts, which `kind.read` reads as those of a file."""
    hints, words = get_type_hints(kind, include_extras=True), field_list(kind.__doc__)[1]
    found = []
    for name in kind.TYPED:
        default = kind.__dataclass_fields__[name].default
        stands = f" Default: {default}." if default else ""
        said: dict[str, Any] = {"help": sentence(words[name]) + stands, "show_default": False}
        several = get_origin(hints[name]) is tuple
        if name in kind.PLACED:
            typed: Any = typer.Argument(**said, metavar=metavars[name])
        else:
            typed = typer.Option(f"--{name.replace('_', '-')}", **said, metavar=metavars.get(name))
        text = bool if hints[name] is bool else list[str] if several else str
        found.append(keyword(name, Annotated[text | None, typed], None if text is not bool else False))
    return found


def of_collection() -> list[signatures.Parameter]:
    """The options of every verb on a collection."""
    hints = get_type_hints(CollectionOptions, include_extras=True)
    read = [keyword(one.name, hints[one.name], one.default) for one in fields(CollectionOptions)]
    return [*read, keyword("aspect", AspectName, None)]


def _about(words: list[str] | None, default: About | None) -> About | None:
    return default if not words else About.parse(words, default or OF_THIS_KIND)


# What every verb shares, by the name of the function's parameter: the option, and the argument made of what is typed.
SHARED: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "model": lambda default: (ModelName, default),
    "measure": lambda default: (MeasureName if default else MeasureOrNone, default),
    "judgments": lambda default: (JudgmentsFile, default),
    "measures": lambda default: (Measures, list(default)),
    "about": lambda default: (AboutWords if default == THESE else AboutThisKind, None),
    "selection_rule": lambda default: (SelectionRuleName, default),
    "db": lambda default: (Database, default),
    "seed": lambda default: (Seed, default),
    "jobs": lambda _: (Jobs, None),
    "scheduler": lambda default: (Scheduler, default),
}
READS: dict[str, Callable[[Any, Any], Any]] = {
    "about": _about,
    "jobs": lambda typed, default: default if typed is None else typed,
}


def numbers(text: str, kind: Callable[[str], Any]) -> tuple[Any, ...]:
    """Numbers with commas between them, such as 0,0.1."""
    try:
        return tuple(kind(word) for word in text.split(","))
    except ValueError:
        raise InputError(f"expected numbers with commas between them, got {text!r}") from None


def print_result(
    form: Format,
    value: Any,
    rows: Sequence[Mapping[str, Any]],
    view: Callable[[], "RenderableType"],
    columns: Sequence[str] = (),
) -> None:
    """Print a result in the form asked for.

    value    value for json
    rows     rows for csv
    view     text for people
    columns  names of the columns if there are no rows
    """
    if form is Format.table:
        from audiosim.report.screen import console

        drawn = view()
        if isinstance(drawn, str):
            sys.stdout.write(f"{drawn.removesuffix(chr(10))}\n")
        else:
            console().print(drawn)
    elif form is Format.json:
        sys.stdout.write(json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n")
    else:
        writer = csv.DictWriter(sys.stdout, list(rows[0]) if rows else list(columns))
        writer.writeheader()
        writer.writerows(rows)


class _OnScreen(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.said = set[str]()  # several measures may have the same notes

    def emit(self, record: logging.LogRecord) -> None:
        note = spell_advice(record.getMessage(), as_option)
        if note not in self.said:
            sys.stderr.write(f"note: {note}\n")
        self.said.add(note)


@contextmanager
def notes_shown() -> Iterator[None]:
    """Print on stderr what verbs say on the logger `audiosim.notes`."""
    handler = _OnScreen()
    before = NOTES.level, NOTES.propagate
    NOTES.addHandler(handler)
    NOTES.setLevel(logging.INFO)
    NOTES.propagate = False
    try:
        yield
    finally:
        NOTES.removeHandler(handler)
        NOTES.level, NOTES.propagate = before
