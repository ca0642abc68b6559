"""Command that reports how each person and each machine judges, and that sets a person's judgments aside."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group

from audiosim.campaign.event import name_key
from audiosim.campaign.reader import judgments_in, log_in, placed_grades, turn_aside
from audiosim.campaign.self_checks import SelfCheck, self_checks
from audiosim.cli import options
from audiosim.collection.collection import Collection
from audiosim.collection.kinds import read_judgments
from audiosim.collection.layouts import FolderFiles
from audiosim.collection.pool import build_pool
from audiosim.collection.settings import read_settings
from audiosim.collection.values import Judgment, mean_grades
from audiosim.joint.estimators import JOINT, estimator_of
from audiosim.measures.measure import as_measure
from audiosim.people.effects import judge_effect
from audiosim.people.judges import Judges, most_disputed
from audiosim.ranking.expected import expected_scores
from audiosim.report.judge import checks_view, disagreements_view, effect_view, judges_view, order_view, spelled_grades

PersonName = Annotated[
    str | None,
    typer.Option(
        "--set-aside",
        metavar="NAME",
        help="Show the ranking with and without this person's judgments; with --yes, set them aside in the log of "
        "the campaign in --judgments.",
        show_default=False,
    ),
]
PersonBack = Annotated[
    str | None,
    typer.Option(
        "--take-back",
        metavar="NAME",
        help="Show the same for a person set aside earlier; with --yes, count their judgments again.",
        show_default=False,
    ),
]
MOST_LEFT_OUT = 10
CHECKED = {
    "repeats": "repeats",
    "within_noise": "noise",
    "within_noise_low": "noise_low",
    "within_noise_high": "noise_high",
    "known": "known",
    "attention": "attention",
    "warnings": "warnings",
}


def judges(
    folder: options.CollectionFolder,
    judgments: options.JudgmentsFile = None,
    set_aside: PersonName = None,
    take_back: PersonBack = None,
    reason: Annotated[str, typer.Option(help="Reason to record in the log.", show_default=False)] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Write to the log; otherwise the effect is only shown.")] = False,
    leave_one_out: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Rank without each person in turn, for the N most active ones; takes about a second each.",
            min=0,
        ),
    ] = MOST_LEFT_OUT,
    disagreements: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Instead, list the N pairs on which people differ most, given how each of them judges other pairs.",
            min=1,
            show_default=False,
        ),
    ] = None,
    order_effects: Annotated[
        bool,
        typer.Option(
            "--order-effects",
            help="Instead, list the effects of order alone: drift of all people together, preference for the document "
            "shown first in comparisons and, from a campaign's database, the effect of the place on a page of several "
            "candidates.",
        ),
    ] = False,
    known: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File of known grades, as `known` of `serve`: with a campaign's database, compares people with them.",
            exists=True,
            dir_okay=False,
            show_default=False,
        ),
    ] = None,
    measure: options.MeasureName = "CG",
    about: options.AboutWords = None,
    system_from: options.NamedBy = None,
    same_artist: options.FromOwnArtist = None,
    scale: options.ScaleName = None,
    form: options.As = options.Format.table,
) -> None:
    """Report how each person and each machine judges: severity, favourites, worth, and their effect on the ranking.

    Severity: how far their grades lie above those of listeners at large, as a share of the scale. Noise: the standard
    deviation of the same judgment made again. Drift: the change of their grades from the first to the last. Worth: the
    equivalent number of judgments with the usual noise. A second table shows how the ranking changes without
    each person.

    Effects of order: the mean drift of all people, the share of comparisons that prefer the document shown first and,
    with a campaign's database in --judgments, the effect of the place on a page of several candidates.

    --set-aside shows the ranking with and without a person's judgments. With --yes it sets them aside in the campaign's
    log: their judgments, past and future, do not count until --take-back. For judgments in files, `set_aside =
    ["NAME"]` in collection.toml does the same.

    Machines are compared with people's judgments. Favourites: in standard deviations of the machine's own grades.
    Agreement: the correlation with people's scores of the systems. Worth: the number of further human judgments that it
    saves now. All have 95 % intervals. The lines under the table name systems that a machine surely favours, those of
    its own maker first.

    Examples: `audiosim judges my-demo --judgments my-demo/truth.qrels`

    `audiosim judges my-demo --judgments my-demo/truth.qrels --format json`
    """
    subject = options.about_of(about)
    reading = options.CollectionOptions(judgments, system_from, same_artist, scale)
    collection = reading.load(folder)
    what = as_measure(measure, collection.cutoff)
    options.say_measures(collection, [what])
    pool = build_pool(collection, what.cutoff)
    kind, name = ("take_back", take_back) if set_aside is None else ("set_aside", set_aside)
    if name is not None:
        if set_aside is not None and take_back is not None:
            raise typer.BadParameter("one person at a time", param_hint="--set-aside and --take-back")
        log = reading.log
        if yes and log is None:
            raise typer.BadParameter(
                "expected --judgments with the database of a campaign; for judgments in files, add this line "
                f"to collection.toml: set_aside = {json.dumps([name], ensure_ascii=False)}",
                param_hint="--yes",
            )
        own = collection if log is None else replace(reading, judgments=None).read(folder)
        everything = _with_those_aside(own, folder, judgments, log, name)
        name = _known_as(name, everything)
        found = judge_effect(expected_scores(what, pool), estimator_of(pool, JOINT), everything, name, about=subject)
        number = turn_aside(log, own, kind, name, reason=reason).number if yes and log is not None else None
        value = found.to_dict() | {"line": number}
        options.print_result(form, value, found.rows(), lambda: effect_view(found, _next(kind, name, log, number)))
        return
    if yes or reason:
        raise typer.BadParameter("goes with --set-aside or --take-back", param_hint="--yes" if yes else "--reason")
    if disagreements is not None:
        disputed = most_disputed(build_pool(collection), collection.judgments, disagreements)
        rows = [one.to_dict(collection.scale.maximum) for one in disputed]
        flat = [{**row, "grades": spelled_grades(row), "beyond": spelled_grades(row, "beyond")} for row in rows]
        options.print_result(form, rows, flat, lambda: disagreements_view(rows))
        return
    records = [] if reading.log is None else log_in(reading.log, collection)
    placed = placed_grades(records, collection.scale)
    reports = Judges.of(build_pool(collection), collection.judgments, collection.comparisons, placed)
    if order_effects:
        rows = [one.to_dict() for one in reports.order_effects]
        options.print_result(form, rows, rows, lambda: order_view(reports.order_effects))
        return
    checks = {}
    if records:
        grades = {} if known is None else mean_grades(read_judgments(known, collection.scale)[1])
        checks = self_checks(records, collection.scale, grades)
    reports = reports.with_effects(what, pool, collection.judgments, leave_one_out, subject)
    judged = [row | _checked(checks, row["judge"]) for row in reports.to_dict()]
    flat = [row | _checked(checks, row["judge"]) for row in reports.rows()]
    rows = [check.to_dict() for check in checks.values()]
    options.print_result(form, judged, flat, lambda: Group(judges_view(reports), checks_view(rows)))


def _checked(checks: Mapping[str, SelfCheck], name: str) -> dict[str, Any]:
    """Checks of each person by pairs answered twice and by known pairs, as columns; none without checks."""
    if not checks:
        return {}
    if name not in checks:
        return dict.fromkeys(CHECKED)
    row = checks[name].to_dict()
    return {column: "; ".join(row[key]) if key == "warnings" else row[key] for column, key in CHECKED.items()}


def _with_those_aside(
    own: Collection, folder: Path, judgments: str | None, log: str | None, name: str
) -> tuple[Judgment, ...]:
    """The judgments in force, with those of one person even if that person is set aside.

    own  the collection, with the judgments of its files alone where there is a campaign's log
    """
    if log is not None:
        return judgments_in(log, own, back=(name,))
    files = FolderFiles.find(folder, judgments)
    others = set(read_settings(files.settings).set_aside) - {name} if files.settings else set()
    if name in {one.assessor for one in own.judgments} or files.judgments is None:
        return tuple(own.judgments)
    return tuple(one for one in read_judgments(files.judgments, own.scale)[1] if one.assessor not in others)


def _known_as(name: str, judgments: Sequence[Judgment]) -> str:
    """The name of a judge, typed in any case and form; unchanged where no name matches."""
    known = {one.assessor for one in judgments}
    alike = [one for one in sorted(known) if name_key(one) == name_key(name)]
    return name if name in known or not alike else alike[0]


def _next(kind: str, name: str, log: str | None, number: int | None) -> str:
    """A sentence on the line written, or on the next step."""
    if number is not None:
        return f"{name} {'is set aside' if kind == 'set_aside' else 'counts again'}: line {number} of the log."
    if log is not None:
        return f"Nothing is written yet: --yes {'sets' if kind == 'set_aside' else 'takes'} {name} " + (
            "aside." if kind == "set_aside" else "back."
        )
    names = f"set_aside = {json.dumps([name], ensure_ascii=False)}"
    return (
        f"To set {name} aside, write {names} to collection.toml."
        if kind == "set_aside"
        else f"To take {name} back, remove them from set_aside in collection.toml."
    )
