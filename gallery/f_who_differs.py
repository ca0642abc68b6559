"""
Which systems differ, by MIREX's own test?
==========================================

Friedman's test of all systems, then Tukey's honestly significant differences of their mean ranks.
"""

import audiosim
from audiosim.package_files import folder
from audiosim.results.plots import draw_intervals

demo = folder("fixtures") / "demo"
judged = audiosim.Collection.load(demo, judgments=demo / "truth.qrels")
found = audiosim.evaluate(judged, "nDCG@5", test="friedman")
print(found.to_dict()["friedman"])

# %%
# The fifteen pairs that are farthest apart; an interval without 0 is a difference.
rows = sorted(found.pair_rows(), key=lambda row: -abs(row["difference"]))[:15]
names = [f"{row['a']} – {row['b']}" for row in rows]
low, middle, high = ([row[key] for row in rows] for key in ("low", "difference", "high"))
chart = draw_intervals(names, low, middle, high, "mean ranks apart", beside=0)
