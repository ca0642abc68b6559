"""The command that replays campaigns with known judgments: once, once per rule, or on many random parts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import typer

from audiosim.cli import options, repetition
from audiosim.cli.flattened import flattened
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.joint.estimators import JOINT, estimator_of, make_estimator
from audiosim.measures.measure import Measure, as_measure
from audiosim.ordinal.model import Model
from audiosim.ranking import SELECTION_RULES, Selection, StoppingRule, default_selection_rule
from audiosim.ranking.about import About, DifferenceDistribution, Ideal
from audiosim.ranking.rules import AffectedDifferences, DrawnByDoubt
from audiosim.ranking.stopping import as_stopping_rule, first_of, parse_stopping_rule
from audiosim.ranking.verbs import start_loop
from audiosim.report.rank import replay_view
from audiosim.report.simulate import comparison_view
from audiosim.results.progress import progress
from audiosim.simulation.replay import Replay, replay
from audiosim.simulation.trials import Trial, draw_parts

StoppingRuleTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--stopping-rule",
        metavar="RULE",
        help="When to stop, instead of --target: every=0.95, difference(size=0.02)=0.95, users(share=0.05)=0.95, "
        "success(share=0.5)=0.95, error=0.05, error(corrected=no)=0.05 or judgments=200; may be repeated: the first "
        "one met counts, or with --at each separately.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class AskingOptions:
    """Options for asking for judgments."""

    selection_rule: options.SelectionRuleName = None
    batch: Annotated[int, typer.Option(help="Number of judgments between two updates of the predictions.", min=1)] = 20
    by_query: options.ByQuery = False


@dataclass(frozen=True, slots=True)
class StatementOptions:
    """Options for statements about a ranking."""

    ideal: options.IdealName = "ordered"
    distribution: options.DistributionName = "t"
    about: options.AboutWords = None
    seed: options.Seed = 0


@flattened
def simulate(
    folder: options.CollectionFolder,
    model: options.ModelName = None,
    measure: options.MeasureName = "CG",
    target: Annotated[float, typer.Option(help="Mean confidence at which judging stops.", min=0.5, max=1)] = 0.95,
    stopping_rule: StoppingRuleTexts = None,
    *,
    asking: AskingOptions,
    compare: Annotated[
        bool, typer.Option("--compare", help="Replay with every selection rule and compare their costs.")
    ] = False,
    parts: repetition.RepetitionOptions,
    statements: StatementOptions,
    complete: options.Complete = False,
    reading: options.CollectionOptions,
    form: options.As = options.Format.table,
) -> None:
    """Replay a campaign against known judgments: when it would have stopped, and how accurate it would have been.

    Every pair of the pool must be judged; --complete leaves out systems and queries that are not. --repeat compares the
    stated confidence with the true accuracy on many random parts of the collection: before judging and at the stop, or
    at the moments of --at. The parts depend only on --seed, on their number and sizes, and on --held-out, so two models
    or two rules are compared on the same parts.

    Examples: `audiosim simulate my-demo --judgments my-demo/truth.qrels --model mjud --target 0.95 --batch 1`

    `audiosim simulate my-demo --judgments my-demo/truth.qrels --repeat 20 --selection-rule doubts`

    `audiosim simulate my-demo --judgments my-demo/truth.qrels --repeat 20 --learn judgment --at 0,50,100`

    `audiosim simulate my-demo --judgments my-demo/truth.qrels --compare --stopping-rule judgments=100`
    """
    parts.check(model, compare)
    stopping_rules, learner = (
        _stopping_rules(target, stopping_rule),
        None if parts.learn is None else repetition.learner(parts.learn),
    )
    moments, collection = parts.moments, reading.load(folder)
    what = as_measure(measure, collection.cutoff)
    options.say_measures(collection, [what])
    if complete:
        collection = options.only_complete(collection, what.cutoff)
    name = repetition.LEARNED if learner else model or JOINT
    rule, seed = asking.selection_rule or _default_rule(collection, name, learner), statements.seed
    game = _Game(
        name, what, rule, asking.batch, statements.ideal, seed,
        statements.distribution, options.about_of(statements.about),
    )  # fmt: skip
    if parts.repeats is not None:
        protocol = parts.held_out or ("queries" if learner or moments else "teams")
        drawn = draw_parts(collection, parts.repeats, np.random.default_rng(seed), parts.queries, parts.teams, protocol)
        said = {"measure": str(game.measure), "model": name, "learn": parts.learn, "rule": rule}
        trial = Trial(collection, game.start, learner, asking.by_query)
        many = repetition.Batch(trial, drawn, parts.jobs, said, parts.scheduler)
        if moments is None:
            many.to_stop(first_of(stopping_rules), form)
        else:
            many.at(moments, stopping_rules, parts.near, form, parts.report)
    elif compare:
        _compare(game, collection, stopping_rules, form)
    else:
        with progress("judging") as show:
            once = game.play(collection, stopping_rules, asking.by_query, show).to_dict()
        options.print_result(form, once, once["curve"], lambda: replay_view(once))


def _default_rule(collection: Collection, model: str, learner: repetition.Learner | None) -> str:
    if learner is None:
        pool = build_pool(collection)
        return default_selection_rule(make_estimator(pool, model).predict(np.full(len(pool.pairs), np.nan)))
    return DrawnByDoubt.name if learner.plan.joint else AffectedDifferences.name


@dataclass(frozen=True, slots=True)
class _Game:
    """Settings of a simulated campaign that are the same in every repetition."""

    model: str
    measure: Measure
    selection_rule: str
    batch: int
    ideal: Ideal
    seed: int
    distribution: DifferenceDistribution
    about: About

    def start(self, part: Collection, learned: Model | None = None) -> Selection:
        """Start of a campaign on a part, with the model learned for it or the named one."""
        pool = build_pool(part, self.measure.cutoff)
        estimator = make_estimator(pool, self.model) if learned is None else estimator_of(pool, learned)
        return start_loop(
            pool, estimator, self.measure, ideal=self.ideal, batch=self.batch, selection_rule=self.selection_rule,
            seed=self.seed, distribution=self.distribution, about=self.about,
        )  # fmt: skip

    def play(
        self,
        collection: Collection,
        stopping_rules: Sequence[StoppingRule],
        by_query: bool,
        show: Callable[[int, int], None],
    ) -> Replay:
        start = self.start(collection)
        truth = start.pool.spread(collection.grades())
        return replay(start, truth, first_of(stopping_rules), lambda moment: show(moment.judged, len(truth)), by_query)


def _compare(game: _Game, collection: Collection, stopping_rules: Sequence[StoppingRule], form: options.Format) -> None:
    with progress("judging") as show:
        rows = [
            _summary(
                replace(game, selection_rule=rule).play(collection, stopping_rules, by_query, show), rule, by_query
            )
            for rule, by_query in _every_rule(game.selection_rule)
        ]
    options.print_result(form, rows, rows, lambda: comparison_view(rows, str(first_of(stopping_rules))))


def _stopping_rules(target: float, stop: list[str] | None) -> list[StoppingRule]:
    return [parse_stopping_rule(text) for text in stop or []] or [as_stopping_rule(target)]


def _every_rule(rule: str) -> list[tuple[str, bool]]:
    """Each rule, and the chosen one also with batches by query."""
    return [*((name, False) for name in dict.fromkeys([*SELECTION_RULES, rule])), (rule, True)]


def _summary(played: Replay, rule: str, by_query: bool) -> dict[str, object]:
    result = played.to_dict()
    keys = ("judged", "pool", "confidence", "accuracy", "tau", "rho", "rmse_differences", "error", "turns")
    return {"rule": rule, "by_query": by_query} | {key: result[key] for key in keys}
