"""
How are scores distributed over queries?
========================================

Four distributions are fitted to half of the queries and compared with the scores on the others; the shortest bar fits
best.
"""

import numpy as np

import audiosim
from audiosim.package_files import folder

demo = folder("fixtures") / "demo"
judged = audiosim.Collection.load(demo, judgments=demo / "truth.qrels")
scores = audiosim.evaluate(judged, "CG@5").scores
fits = audiosim.fit_distributions(scores.values, np.random.default_rng(1), trials=100)
chart = fits.plot()
print(fits)
