"""
How many of fifteen users will be satisfied?
============================================

The published mapping turns scores into the probability that a user is satisfied; the number of satisfied users
follows a binomial distribution.
"""

import numpy as np

import audiosim
from audiosim.package_files import folder
from audiosim.results.plots import Line, draw_curves

demo = folder("fixtures") / "demo"
judged = audiosim.Collection.load(demo, judgments=demo / "truth.qrels")
rows = audiosim.evaluate(judged, "CG@5", users=15).rows()
users = np.arange(16)
lines = [Line(row["system"], users, row["users_probabilities"]) for row in (rows[0], rows[5], rows[-1])]
chart = draw_curves(lines, "satisfied users of 15", "probability")
