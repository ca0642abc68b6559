"""Additions of `simulate --repeat`: its options, the models it trains, and its output."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer

from audiosim.cli.options import Format, check_scheduler, print_result
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.errors import InputError
from audiosim.ordinal.model import Model, source_of
from audiosim.ranking import StoppingRule
from audiosim.report.simulate import flat, followed_view, repeats_view
from audiosim.results.progress import progress
from audiosim.results.value import need
from audiosim.simulation.trials import NEAR, HeldOutKind, Part, Trial, follow, repeat
from audiosim.tables.text import check_output_file, write_text
from audiosim.training.plan import Plan, is_joint, parse_terms
from audiosim.training.train import train

LEARNED = "learned"

Repeated = Annotated[
    int | None,
    typer.Option(
        "--repeat",
        help="Simulate this many campaigns, each on a random part of the collection. Equal --seed and sizes give "
        "equal parts.",
        min=1,
    ),
]
Learn = Annotated[
    str | None,
    typer.Option(
        "--learn",
        metavar="LIST",
        help="With --repeat: play each part with a model trained on the rest of the collection, with these features, "
        "as for `train --features`.",
    ),
]
Held = Annotated[
    HeldOutKind | None,
    typer.Option(
        "--held-out",
        help="With --repeat: data hidden from a learned model. queries: a part has some queries, the rest the "
        "others. teams: a part has some queries and teams, the rest the other queries of the other teams. Default: "
        "queries with --learn or --at, else teams.",
    ),
]
Queries = Annotated[int | None, typer.Option(help="Queries in each part. Default: half.", min=1)]
Teams = Annotated[
    int | None,
    typer.Option(help="Teams in each part. Default: three quarters, or all if queries are held out.", min=1),
]
At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="LIST",
        help="With --repeat: compare statements with the truth at these numbers of judgments, such as 0,100,200. "
        "Stopping rules are noted when met, and judging continues to the last number.",
    ),
]
Near = Annotated[float, typer.Option(help="With --at: call a difference clear if it truly exceeds this.", min=0)]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="REPORT.html",
        help="With --repeat and --at: also write the results as a page with plots.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option("-j", "--jobs", help="Worker processes. Default: one per core.", min=1),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="With --repeat: play on a Dask cluster, such as tcp://10.0.0.1:8786, instead of processes "
        "here. Needs audiosim\\[scale].",
    ),
]


@dataclass(frozen=True, slots=True)
class RepetitionOptions:
    """Options for playing random parts of a collection."""

    repeats: Repeated = None
    learn: Learn = None
    held_out: Held = None
    queries: Queries = None
    teams: Teams = None
    at: At = None
    near: Near = NEAR
    report: Report = None
    jobs: Jobs = None
    scheduler: Scheduler = None

    @property
    def moments(self) -> tuple[int, ...] | None:
        """Numbers of judgments at which statements are compared with the truth."""
        return None if self.at is None else parse_moments(self.at)

    def check(self, model: str | None, compare: bool) -> None:
        """Refuse meaningless combinations of options, and a page that could not be written, before hours of play."""
        if compare and self.repeats is not None:
            raise InputError("--compare and --repeat cannot be combined; repeat one rule after the other")
        of_parts = {
            "--learn": self.learn, "--held-out": self.held_out, "--at": self.at, "--scheduler": self.scheduler
        }  # fmt: skip
        given = [name for name, value in of_parts.items() if value is not None]
        if given and self.repeats is None:
            raise InputError(f"{given[0]} needs --repeat: it is about parts of the collection")
        if self.learn is not None and model is not None:
            problem = "each part is played with the model learned for it"
            raise InputError(f"--learn and --model cannot be combined: {problem}")
        check_scheduler(self.scheduler, self.jobs)
        if self.report is not None:
            _check_report(self.report, self.repeats, self.at)


def _check_report(report: Path, parts: int | None, at: str | None) -> None:
    need("plots", "--report")
    if parts is None or at is None:
        raise InputError("--report needs --repeat and --at: it compares stated with true confidence at these moments")
    check_output_file(report)


def parse_moments(text: str) -> tuple[int, ...]:
    """The numbers of a list such as 0,100,200."""
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError:
        raise InputError(f"expected numbers of judgments such as 0,100,200, got {text!r}") from None


@dataclass(frozen=True)
class Learner:
    """Trains on the rest of a collection, as `train` does without validation."""

    plan: Plan

    def __call__(self, rest: Collection) -> Model:
        return train([rest], self.plan).model


def learner(features: str) -> Learner:
    """The learner of a list of features such as judgment."""
    return Learner(Plan(parse_terms(features), LEARNED, folds=0, joint=is_joint(features)))


@dataclass(frozen=True, slots=True)
class Batch:
    """Parts to play, the number of processes, and the settings they share."""

    trial: Trial
    parts: Sequence[Part]
    jobs: int | None
    said: Mapping[str, Any]
    scheduler: str | None = None

    def to_stop(self, stopping_rule: StoppingRule, form: Format) -> None:
        """Play each part until the stopping rule is met; print the accuracy."""
        with progress("repeating") as show:
            found = repeat(self.trial, self.parts, stopping_rule, self._jobs, show, self.scheduler)
        result = {**self.said, "goal": str(stopping_rule), **found.to_dict()}
        bins = [{"moment": moment} | row for moment in ("start", "end") for row in result[moment]["bins"]]
        print_result(form, result, bins, lambda: repeats_view(result))

    def at(
        self,
        moments: Sequence[int],
        stopping_rules: Sequence[StoppingRule],
        near: float,
        form: Format,
        report: Path | None = None,
    ) -> None:
        """Play each part to the last of some moments; print the accuracy at each moment and at each stop.

        report  file for the same as a page
        """
        with progress("repeating") as show:
            found = follow(self.trial, self.parts, moments, stopping_rules, near, self._jobs, show, self.scheduler)
        result = {**self.said, **found.to_dict()}
        if report is not None:
            self._write(report, result)
        print_result(form, result, [flat(row) for row in result["curve"]], lambda: followed_view(result))

    def _write(self, report: Path, result: Mapping[str, Any]) -> None:
        from audiosim.report.rendering import origin_of
        from audiosim.report.simulate import followed_page

        collection = self.trial.collection
        pool = build_pool(collection)
        origin = origin_of(date.today(), source_of(pool, pool.spread(collection.grades())))
        write_text(report, followed_page(collection.name, result, origin).splitlines())

    @property
    def _jobs(self) -> int:
        return self.jobs or os.cpu_count() or 1
