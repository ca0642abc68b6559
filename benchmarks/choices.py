"""Cost at home of choices other than the usual ones: model, teams, rules for what to judge.

    python benchmarks/choices.py [--parts 12] [--only mjud,teams,rules]

MIREX 2011 with everything known about its documents. `joint` and `mjud` on random halves of the queries, with joint
learned on the other half; joint learned without the part's teams as well, on parts of six of the eleven teams; and each
rule for what to judge next, on the same halves.
"""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from calibration import DATA, learned
from figures import Figures
from threadpoolctl import threadpool_limits

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.joint.estimators import built_in, estimator_of
from audiosim.measures.measure import parse_measure
from audiosim.ordinal.model import Model, load_model
from audiosim.ranking import Selection, parse_stopping_rule
from audiosim.simulation import Trial, draw_parts, follow

AT = (0, 100, 200, 400)
STOP = "confidence=0.95"
RULES = ("drawn", "doubts", "differences")
TEAMS = 6  # teams in a part, if teams are held out
SEED = 1


@dataclass(frozen=True)
class Begin:
    """Start of a campaign, by a given model or else a published one.

    selection_rule  None: the model's usual one
    """

    published: str = ""
    selection_rule: str | None = None

    def __call__(self, part: Collection, own: Model | None) -> Selection:
        pool = build_pool(part)
        estimator = built_in(pool, self.published) if own is None else estimator_of(pool, own)
        return Selection.start(pool, parse_measure(f"CG@{pool.cutoff}"), estimator, selection_rule=self.selection_rule)


def played(collection: Collection, begin: Begin, parts: int, teams: int | None = None) -> dict[str, Any]:
    """Campaigns on random halves of the queries; with `teams`, on this many teams, the others being held out too."""
    learn: Callable[[Collection], Model] | None = None
    if not begin.published:
        learn = partial(learned, load_model("joint-fine").between)
    held_out = "queries" if teams is None else "teams"
    drawn = draw_parts(collection, parts, np.random.default_rng(SEED), teams=teams, held_out=held_out)
    trial = Trial(collection, begin, learn)
    return follow(trial, drawn, AT, [parse_stopping_rule(STOP)]).to_dict()


def tables(figures: Figures, title: str, found: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep the results: stated and true confidence, calibration error and intervals, and accuracy at the stop."""
    head = ["", *(f"{at} judged" for at in AT)]
    for what, cell in (("stated, true confidence", _confidence), ("95 % intervals of systems, differences", _held)):
        figures.table(f"{title}: {what}", head, [[name, *map(cell, of["curve"])] for name, of in found.items()])
    rows = [[name, f"{of['repeats']}", *_stopped(of["goals"][0])] for name, of in found.items()]
    columns = ["", "parts", "reached by", "right", "after so many judgments"]
    figures.table(f"{title}: judging that stops at a stated .95", columns, rows)


def _confidence(row: Mapping[str, Any]) -> str:
    error = row["excess_error"] or 0
    return f"{row['stated']:.3f}, {row['accuracy']:.3f}: {row['excess']:+.3f} ± {error:.3f}"


def _held(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{row['coverage'][kind] or np.nan:.2f}" for kind in ("systems", "differences"))


def _stopped(row: Mapping[str, Any]) -> list[str]:
    if not row["reached"]:
        return ["0", "", ""]
    error = f" ± {row['accuracy_error']:.3f}" if row["accuracy_error"] else ""
    return [f"{row['reached']}", f"{row['accuracy']:.3f}{error}", f"{row['judged']:.0f}"]


def main() -> None:
    """Print the figures, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=int, default=12)
    parser.add_argument("--only", default="mjud,teams,rules", help="which of mjud, teams, rules")
    options = parser.parse_args()
    collection = Collection.load(DATA / "mirex2011")
    asked: dict[str, Callable[[], dict[str, dict[str, Any]]]] = {
        "mjud": lambda: {"mjud": played(collection, Begin("mjud-fine"), options.parts)},
        "teams": lambda: {"teams held out too": played(collection, Begin(), options.parts, teams=TEAMS)},
        "rules": lambda: {rule: played(collection, Begin(selection_rule=rule), options.parts) for rule in RULES},
    }
    for part in options.only.split(","):
        with Figures("choices", part) as figures, threadpool_limits(1):
            tables(figures, part, asked[part]())


if __name__ == "__main__":
    main()
