"""
Are the queries enough?
=======================

A generalizability study: the ranking is stable with fewer queries than the scores themselves.
"""

import altair

import audiosim
from audiosim.package_files import folder

demo = folder("fixtures") / "demo"
judged = audiosim.Collection.load(demo, judgments=demo / "truth.qrels")
study = audiosim.reliability(judged, "CG@5")
chart = study.plot() + altair.Chart().mark_rule(strokeDash=[4, 3]).encode(y=altair.datum(0.95))
study
