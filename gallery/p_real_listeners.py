"""
Do four listeners speak for ten others?
=======================================

Fourteen people judged separated sounds in SiSEC 2008 (MUSHRA). Four are drawn, and 100 of their judgments; the others'
mean is what listeners at large said. The intervals about listeners should hold it, those about the four need not.
The data do not come with audiosim; without them, this says where they are looked for.
"""

from dataclasses import replace

import numpy as np

import audiosim
from audiosim.drawing import draw_intervals
from audiosim.shipped import folder

data = folder("fixtures").resolve().parents[1] / "shared" / "data" / "listeners" / "sisec08"
if not data.is_dir():
    said = "not here: expected in ../shared/data/listeners/sisec08, beside the folder of audiosim"
else:
    whole = audiosim.Collection.load(data)
    names = sorted({one.assessor for one in whole.judgments})
    rng = np.random.default_rng(8)
    panel = set(rng.choice(names, 4, replace=False).tolist())
    theirs = [one for one in whole.judgments if one.assessor in panel]
    others = tuple(one for one in whole.judgments if one.assessor not in panel)
    chosen = tuple(theirs[place] for place in sorted(rng.choice(len(theirs), 100, replace=False).tolist()))
    some = replace(whole, judgments=chosen)
    truth = audiosim.estimate(replace(whole, judgments=others), measure="CG@10")
    actual = {row["system"]: row["expectation"] for row in truth.system_rows()}
    lines = []
    for about in ("panel", "listeners"):
        rows = audiosim.estimate(some, measure="CG@10", about=about).system_rows()
        held = sum(row["low"] <= actual[row["system"]] <= row["high"] for row in rows)
        lines.append(f"{about}: {held} of {len(rows)} intervals hold what the ten others said")
    low, middle, high = ([row[key] for row in rows] for key in ("low", "expectation", "high"))
    axes = draw_intervals([row["system"] for row in rows], low, middle, high, "CG@10, listeners at large")
    axes.plot([actual[row["system"]] for row in rows], range(len(rows)), "x", color="0.2", label="the ten others")
    axes.legend()
    said = "; ".join(lines)
print(said)
