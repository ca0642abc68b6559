"""Draw one ranking about two groups of people: docs/listeners.png, the picture of docs/listeners.md.

    python docs/draw_listeners.py

Two people judge 200 pairs of the demo each. Their grades are those of fixtures/demo/truth.qrels, moved by each person's
severity and by noise, by as much as people differ in other collections.
"""

from dataclasses import replace
from pathlib import Path

import altair
import numpy as np

import audiosim

DOCS = Path(__file__).resolve().parent
DEMO = DOCS.parent / "fixtures" / "demo"
PAIRS, SEVERITY, NOISE = 200, 9, 16  # of each person; on a scale of 100


def main() -> None:
    """Draw the grades of two people, and draw the rankings about them and about others."""
    judged, rng = audiosim.Collection.load(DEMO, judgments=DEMO / "truth.qrels"), np.random.default_rng(7)
    said, levels = [], np.array(judged.scale.levels)
    for name in ("ann", "bob"):
        severity = rng.normal(0, SEVERITY)
        for place in rng.permutation(len(judged.judgments))[:PAIRS]:
            one = judged.judgments[place]
            grade = levels[np.abs(levels - (one.grade + severity + rng.normal(0, NOISE))).argmin()]
            said.append(replace(one, grade=float(grade), assessor=name))
    frames = []
    for about, whom in (("panel", "the two who judged"), ("listeners", "listeners at large")):
        ranking = audiosim.estimate(replace(judged, judgments=tuple(said)), about=about)
        title = f"{whom}: confidence {ranking.confidence:.2f}"
        frames.append(ranking.plot().properties(title=title, width=340))
    altair.hconcat(*frames).resolve_scale(x="shared").save(DOCS / "listeners.png", scale_factor=1.5)


if __name__ == "__main__":
    main()
