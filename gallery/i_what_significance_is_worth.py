"""
Does a significant difference hold on other queries?
====================================================

Every pair of systems is tested on a random half of the queries, and compared again on the other half.
"""

import audiosim
from audiosim.package_files import folder

demo = folder("fixtures") / "demo"
judged = audiosim.Collection.load(demo, judgments=demo / "truth.qrels")
halves = audiosim.split_half_study(judged, test="t", trials=60)
chart = halves.plot()
halves
