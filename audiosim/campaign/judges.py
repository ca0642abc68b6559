"""Verbs on judges: how each person and each machine judges, whom to set aside, and what people should discuss."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from annotated_types import Ge

from audiosim.campaign.reader import judgments_in, log_in, placed_grades, turn_aside
from audiosim.campaign.self_checks import self_checks
from audiosim.campaign.state import Ledger
from audiosim.collection.collection import Collection
from audiosim.collection.grading import on_scale
from audiosim.collection.kinds import read_judgments
from audiosim.collection.layouts import FolderFiles
from audiosim.collection.pool import build_pool
from audiosim.collection.settings import read_settings
from audiosim.collection.values import Judgment, mean_grades
from audiosim.errors import ArgumentError
from audiosim.joint.estimators import JOINT, estimator_of
from audiosim.joint.people import Panel
from audiosim.measures.measure import Measure
from audiosim.people import effects
from audiosim.people.judges import Judges, OrderEffects, all_order_effects, reports_on_people
from audiosim.ranking.about import THESE, About, as_about
from audiosim.ranking.expected import expected_scores, to_rank
from audiosim.results.value import Result


def judges(
    collection: object,
    *,
    judgments: object = None,
    scale: str | None = None,
    measure: str | Measure = "CG",
    about: About | str | Sequence[str] = THESE,
    leave_one_out: Annotated[int, Ge(0)] = 10,
    known: Path | None = None,
    log: str | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Judges:
    """Report how each person and each machine judges: severity, favourites, worth, and their effect on the ranking.

    Severity: how far their grades lie above those of listeners at large, as a share of the scale. Noise: the standard
    deviation of the same judgment made again. Drift: the change of their grades from the first to the last. Worth: the
    equivalent number of judgments with the usual noise. A second table shows how the ranking changes without
    each person.

    Machines are compared with people's judgments. Favourites: in standard deviations of the machine's own grades.
    Agreement: the correlation with people's scores of the systems. Worth: the number of further human judgments that it
    saves now. All have 95 % intervals. The lines under the table name systems that a machine surely favours, those of
    its own maker first.

    collection     `Collection` or its folder, or runs in memory
    judgments      judgments in memory, or a file; None: the collection's own
    scale          scale of the judgments, as for `estimate`
    measure        measure that ranks the systems
    about          subject of the rankings
    leave_one_out  rank without each person in turn, for so many of the most active ones; takes about a second each
    known          file of known grades, as `known` of `serve`: with a campaign's database, compares people with them
    log            address of the database with the campaign
    progress       called with the number of people left out, and of all

    Examples: `audiosim judges demo --judgments demo/truth.qrels`

    `audiosim judges demo --judgments demo/truth.qrels --format json`
    """
    collection, measure, pool = to_rank(collection, measure, scale, judgments)
    records = [] if log is None else log_in(log, collection)
    placed = placed_grades(records, collection.scale)
    reports = Judges.of(build_pool(collection), collection.judgments, collection.comparisons, placed)
    if records:
        grades = {} if known is None else mean_grades(read_judgments(known, collection.scale)[1])
        reports = replace(reports, checks=self_checks(records, collection.scale, grades))
    return reports.with_effects(measure, pool, collection.judgments, leave_one_out, as_about(about), progress)


def order_effects(
    collection: object, *, judgments: object = None, scale: str | None = None, log: str | None = None
) -> OrderEffects:
    """List the effects of order: drift, preference for the document shown first, and place on a page.

    The mean drift of all people, the share of comparisons that prefer the document shown first and, with a campaign's
    database, the effect of the place on a page of several candidates.

    judgments  as for `judges`, as is scale
    log        address of the database with the campaign

    Example: `audiosim order-effects demo --judgments demo/truth.qrels`
    """
    collection = on_scale(collection, scale, judgments)
    pool, records = build_pool(collection), [] if log is None else log_in(log, collection)
    people = reports_on_people(pool, Panel.of(pool, collection.judgments))
    return OrderEffects(all_order_effects(people, collection.comparisons, placed_grades(records, collection.scale)))


def judge_effect(
    collection: object,
    judge: str,
    *,
    judgments: object = None,
    scale: str | None = None,
    measure: str | Measure = "CG",
    about: About | str | Sequence[str] = THESE,
    log: str | None = None,
    own: Collection | None = None,
    files: FolderFiles | None = None,
) -> effects.JudgeEffect:
    """Show the ranking with and without a person's judgments, before they are set aside or taken back.

    `audiosim set-aside` sets a person aside in the log of a campaign. For judgments in files, `set_aside = ["NAME"]` in
    collection.toml does the same.

    judge      name of a person who judged, in any case
    judgments  as for `judges`, as is scale
    measure, about  measure and subject of both rankings
    log        address of the database with the campaign
    own        the collection without that campaign; None if there is none
    files      files of the collection, with the judgments of people whom collection.toml sets aside

    Example: `audiosim judge-effect demo simulated --judgments sqlite:///demo/campaign.db`
    """
    collection, measure, pool = to_rank(collection, measure, scale, judgments)
    aside = _with_those_aside(collection, files, judge)
    everything = aside if log is None else judgments_in(log, own or collection, back=(judge,))
    name = Ledger(collection.scale, everything, collection.comparisons).name(judge)
    expected, estimator = expected_scores(measure, pool), estimator_of(pool, JOINT)
    return effects.judge_effect(expected, estimator, everything, name, about=as_about(about))


@dataclass(frozen=True)
class Turned(Result):
    """A person set aside, or taken back.

    judge  name
    aside  True if set aside
    line   number of the log's line that says so
    """

    judge: str
    aside: bool
    line: int

    def __repr__(self) -> str:
        return f"{self.judge} {'is set aside' if self.aside else 'counts again'}: line {self.line} of the log."


def set_aside(collection: Collection, judge: str, *, reason: str = "", log: str | None = None) -> Turned:
    """Set a person aside in the log of a campaign: their judgments, past and future, do not count.

    `audiosim judge-effect` shows the ranking without them first; `audiosim take-back` makes their judgments count
    again.

    judge   name of a person who judged, in any case
    reason  reason to record in the log
    log     address of the database with the campaign

    Example: `audiosim set-aside demo simulated --judgments sqlite:///demo/campaign.db --reason "did not listen"`
    """
    return _turned("set_aside", collection, judge, reason, log)


def take_back(collection: Collection, judge: str, *, reason: str = "", log: str | None = None) -> Turned:
    """Take back a person who was set aside in the log of a campaign: their judgments count again.

    judge   name of a person set aside, in any case
    reason  reason to record in the log
    log     address of the database with the campaign

    Example: `audiosim take-back demo simulated --judgments sqlite:///demo/campaign.db`
    """
    return _turned("take_back", collection, judge, reason, log)


def _turned(kind: str, collection: Collection, judge: str, reason: str, log: str | None) -> Turned:
    if log is None:
        names = f"set_aside = {json.dumps([judge], ensure_ascii=False)}"
        said = "expected the database of a campaign; for judgments in files, collection.toml says it"
        raise ArgumentError("judgments", f"{said}: {names}")
    record = turn_aside(log, collection, kind, judge, reason=reason)
    return Turned(record.event.judge, kind == "set_aside", record.number)


def _with_those_aside(collection: Collection, files: FolderFiles | None, name: str) -> Sequence[Judgment]:
    """The judgments of a collection, with those of one person even if collection.toml sets them aside."""
    if name in {one.assessor for one in collection.judgments} or files is None or "judgments" not in files.tables:
        return collection.judgments
    others = set(read_settings(files.settings).set_aside) - {name} if files.settings else set()
    return [one for one in read_judgments(files.tables["judgments"], collection.scale)[1] if one.assessor not in others]
