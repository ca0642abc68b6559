"""The command that replays campaigns whose judgments are known: once, once for each rule, or on many random parts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import typer

from audiosim.cli.options import (
    As,
    ByQuery,
    CollectionFolder,
    Format,
    IdealName,
    JudgmentsFile,
    MeasureName,
    ModelName,
    RuleName,
    Seed,
    load_collection,
    print_result,
)
from audiosim.corpus.collection import Collection
from audiosim.corpus.pool import build_pool
from audiosim.errors import InputError
from audiosim.measures.expected import expected_scores
from audiosim.measures.measure import Measure
from audiosim.measures.ratio import Ideal
from audiosim.plugins import find_measure, find_rule, make_estimator
from audiosim.relevance.estimators import default_model
from audiosim.report.screen import progress
from audiosim.report.simulation import comparison_view, repeats_view
from audiosim.report.views import replay_view
from audiosim.selection import RULES, Selection, Stop, parse_stop
from audiosim.selection.stopping import AnyOf, Confidence
from audiosim.simulate import Replay, repeat, replay

Goals = Annotated[
    list[str] | None,
    typer.Option(
        "--stop",
        metavar="GOAL",
        help="When to stop, in place of --target: every=0.95, difference(size=0.02)=0.95, users(share=0.05)=0.95, "
        "error=0.05, error(corrected=no)=0.05 or judgments=200; give it again for whichever comes first.",
        show_default=False,
    ),
]


def simulate(
    folder: CollectionFolder,
    model: ModelName = None,
    measure: MeasureName = "CG@5",
    target: Annotated[float, typer.Option(help="Mean confidence at which judging stops.", min=0.5, max=1)] = 0.95,
    stop: Goals = None,
    rule: RuleName = "differences",
    batch: Annotated[int, typer.Option(help="Judgments between two predictions.", min=1)] = 20,
    by_query: ByQuery = False,
    compare: Annotated[bool, typer.Option("--compare", help="Play every rule, and show what each costs.")] = False,
    repeats: Annotated[
        int | None, typer.Option("--repeat", help="Play on so many random parts of the queries and teams.", min=1)
    ] = None,
    queries: Annotated[int | None, typer.Option(help="Queries in each part; half if not given.", min=1)] = None,
    teams: Annotated[int | None, typer.Option(help="Teams in each part; three quarters if not given.", min=1)] = None,
    ideal: IdealName = "ordered",
    seed: Seed = 0,
    judgments: JudgmentsFile = None,
    form: As = Format.table,
) -> None:
    """Replay a campaign against judgments that are known: how soon it would have stopped, and how right.

    Every pair of the pool must be judged. With --repeat the stated confidence is held against the true accuracy on
    many random parts of the collection, before anything is judged and at the stop.

    Examples: `audiosim simulate mirex2011 --model mjud --target 0.95 --batch 1`,
    `audiosim simulate mirex2011 --repeat 100 --rule doubts`,
    `audiosim simulate mirex2011 --compare --stop judgments=200`
    """
    if compare and repeats is not None:
        raise InputError("--compare and --repeat cannot be combined; repeat one rule after the other")
    collection = load_collection(folder, judgments)
    name = model or default_model(collection.scale)
    game = _Game(name, find_measure(measure), _goal(target, stop), batch, ideal, seed)
    if repeats is not None:
        _repeat(game, collection, rule, by_query, repeats, queries, teams, form)
    elif compare:
        with progress("judging") as show:
            rows = [_summary(game.play(collection, *each, show), *each) for each in _every_rule(rule)]
        print_result(form, rows, rows, lambda: comparison_view(rows, str(game.goal)))
    else:
        with progress("judging") as show:
            once = game.play(collection, rule, by_query, show).to_dict()
        print_result(form, once, once["curve"], lambda: replay_view(once))


@dataclass(frozen=True, slots=True)
class _Game:
    """What is the same however often and by whatever rule a campaign is played."""

    model: str
    measure: Measure
    goal: Stop
    batch: int
    ideal: Ideal
    seed: int

    def play(self, part: Collection, rule: str, by_query: bool, show: Callable[[int, int], None]) -> Replay:
        pool = build_pool(part, self.measure.cutoff)
        expected = expected_scores(self.measure, pool, self.ideal)
        chosen, estimator = find_rule(rule, expected, self.seed), make_estimator(pool, self.model)
        selection = Selection.start(pool, expected, estimator, batch=self.batch, rule=chosen, seed=self.seed)
        truth = pool.spread(part.grades())
        return replay(selection, truth, self.goal, lambda moment: show(moment.judged, len(truth)), by_query)


def _repeat(
    game: _Game,
    collection: Collection,
    rule: str,
    by_query: bool,
    repeats: int,
    queries: int | None,
    teams: int | None,
    form: Format,
) -> None:
    rng = np.random.default_rng(game.seed)
    with progress("repeating") as show:
        found = repeat(
            collection, lambda part: game.play(part, rule, by_query, _silent), repeats, rng, queries, teams, show
        )
    result = {"measure": str(game.measure), "model": game.model, "rule": rule, "goal": str(game.goal)} | found.to_dict()
    bins = [{"moment": moment} | row for moment in ("start", "end") for row in result[moment]["bins"]]
    print_result(form, result, bins, lambda: repeats_view(result))


def _goal(target: float, stop: list[str] | None) -> Stop:
    goals = [parse_stop(text) for text in stop or []]
    return AnyOf(tuple(goals)) if len(goals) > 1 else goals[0] if goals else Confidence(target)


def _every_rule(rule: str) -> list[tuple[str, bool]]:
    """Each rule, and the one chosen with its batches by query as well."""
    return [*((name, False) for name in dict.fromkeys([*RULES, rule])), (rule, True)]


def _summary(played: Replay, rule: str, by_query: bool) -> dict[str, object]:
    result = played.to_dict()
    keys = ("judged", "pool", "confidence", "accuracy", "tau", "error", "turns")
    return {"rule": rule, "by_query": by_query} | {key: result[key] for key in keys}


def _silent(done: int, total: int) -> None:
    """Nobody watches a single part."""
