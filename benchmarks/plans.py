"""Do plans hold? Predictions at several moments of a campaign, compared with the judgments that the replay then needed.

    python benchmarks/plans.py FOLDER --parts 4 [--only mirex2011]

FOLDER has campaigns recorded by benchmarks/campaigns.py; predictions are kept in its plans.json and not repeated. The
error of replays is learned, for each kind, from all others: the least of OFFS with which 80 % intervals hold 80 %.
"""

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from campaigns import BATCH, HOME, Played, at_home, away, begin
from figures import Figures
from threadpoolctl import threadpool_limits
from verdicts import campaigns, stopped, with_caution

from audiosim.ranking.stopping import CAUTION, ORDER, Assurance
from audiosim.simulation.remaining import ENOUGH, OFF, drawn_grades, interval_of, played
from audiosim.simulation.trials import selections

TARGETS = (0.9, 0.95)
MOMENTS = (0, 50, 100, 200)
DRAWN = ENOUGH  # campaigns continued for each prediction
OFFS = tuple(np.arange(0, 1.55, 0.05).round(2).tolist())
HELD = 0.8
Row = Mapping[str, Any]


def plans_of(name: str, number: int, one: Played, models: dict[str, Any]) -> Iterable[Row]:
    """A row for each moment and each goal met only later: predicted counts, and the count needed."""
    needed = {target: stopped(one, target, with_caution(CAUTION)) for target in TARGETS}
    open_at = {at: [target for target, stop in needed.items() if stop is not None and stop[0] > at] for at in MOMENTS}
    if not open_at[0]:
        return
    part, model = at_home(number) if name == HOME else away(name, number, models)
    start, grades = begin(part, model, number)
    rng = np.random.default_rng(number)
    for state in selections(start, grades):
        targets = open_at.get(state.judged, [])
        if targets:
            counts = np.array([_played(replace(state, batch=BATCH).in_thought, targets, rng) for _ in range(DRAWN)])
            for target, of in zip(targets, counts.T.tolist(), strict=True):
                more = int(needed[target][0]) - state.judged
                yield {"kind": name, "number": number, "at": state.judged, "goal": target, "counts": of, "needed": more}
        if state.judged >= MOMENTS[-1]:
            return


def _played(now, targets: Sequence[float], rng: np.random.Generator) -> list[int]:
    """Judgments until each of rising goals, in one continued campaign."""
    grades, counts, total = drawn_grades(now.belief, rng), [], 0
    for target in targets:
        now, count, _ = played(now, grades, Assurance(ORDER, target), lambda: True)
        total += count
        counts.append(total)
    return counts


def held(rows: Sequence[Row], off: float) -> float:
    """Share of the intervals that contained the count needed, with equal weights for all kinds."""
    kinds = {row["kind"] for row in rows}
    return float(np.mean([np.mean([inside(row, off) for row in rows if row["kind"] == kind]) for kind in kinds]))


def inside(row: Row, off: float) -> bool:
    """True if the interval of a prediction contains the count needed."""
    low, high = interval_of(row["counts"], off)
    return low <= row["needed"] <= high


def learned_off(rows: Sequence[Row]) -> float:
    """The least of OFFS with which a share HELD of the intervals holds."""
    return next((off for off in OFFS if held(rows, off) >= HELD), OFFS[-1])


def report(rows: Sequence[Row], figures: Figures) -> None:
    """Coverage by kind, with the spread in use and with the one learned from the other kinds."""
    table = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = [row for row in rows if row["kind"] == kind]
        others = [row for row in rows if row["kind"] not in {kind, HOME}]
        logs = [np.log((row["needed"] + 1) / (np.median(row["counts"]) + 1)) for row in own]
        off = learned_off(others)
        cells = [np.mean(logs), np.std(logs), 100 * held(own, 0.0), 100 * held(own, OFF), off, 100 * held(own, off)]
        table.append([kind, len({row["number"] for row in own}), len(own), *map(float, cells)])
    columns = ["", "campaigns", "plans", "mean log of needed over predicted", "its sd", "% held as campaigns vary"]
    figures.table("plans", [*columns, f"% held with {OFF:g}", "learned on others", "% held with that"], table)
    at = []
    for moment in MOMENTS:
        for target in TARGETS:
            own = [row for row in rows if (row["at"], row["goal"]) == (moment, target)]
            if own:
                at.append([f"{moment} judged, goal {target:g}", len(own), 100 * held(own, OFF)])
    figures.table("plans by moment", ["", "plans", "% held"], at)
    home, away_ = ([row for row in rows if (row["kind"] == HOME) is is_home] for is_home in (True, False))
    for said, own in (("halves of mirex2011", home), ("other kinds", away_)):
        if own:
            figures.add(f"80 % intervals that held what was needed, {said}", 100 * held(own, OFF), "%")


def main() -> None:
    """Make missing predictions; print and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--parts", type=int, default=4, help="campaigns of each kind")
    parser.add_argument("--only", default="", help="kinds, with commas")
    options = parser.parse_args()
    path, models = options.folder / "plans.json", {}
    done = {tuple(key): rows for key, rows in json.loads(path.read_text())} if path.exists() else {}
    found = campaigns(options.folder)
    with threadpool_limits(1):
        for number in range(options.parts):
            for name, some in found.items():
                chosen = not name.startswith("unlike") and (not options.only or name in options.only.split(","))
                if chosen and number < len(some) and (name, number) not in done:
                    done[name, number] = list(plans_of(name, number, some[number], models))
                    path.write_text(json.dumps(list(done.items())))
                    print(
                        name,
                        number,
                        [(one["at"], one["goal"], one["counts"], one["needed"]) for one in done[name, number]],
                        flush=True,
                    )
    with Figures("plans") as figures:
        report([row for rows in done.values() for row in rows], figures)


if __name__ == "__main__":
    main()
