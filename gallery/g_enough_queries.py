"""
Are the queries enough?
=======================

A generalizability study: the ranking is stable with fewer queries than the scores themselves.
"""

import audiosim
from audiosim.package_files import folder

demo = folder("fixtures") / "demo"
judged = audiosim.Collection.load(demo, judgments=demo / "truth.qrels")
study = audiosim.reliability(judged, "CG@5")
study.plot().axhline(0.95, color="0.4", linestyle="--")
study
