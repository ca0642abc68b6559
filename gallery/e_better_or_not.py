"""
Is my new version better than the old one?
==========================================

One verdict on two systems, with the interval of their difference, from a third of the judgments.
"""

from dataclasses import replace

import audiosim
from audiosim.package_files import folder

demo = folder("fixtures") / "demo"
judged = audiosim.Collection.load(demo, judgments=demo / "truth.qrels")
some = replace(judged, judgments=judged.judgments[::3])
verdict = audiosim.compare(some, "fusion-nohubs", "fusion")
chart = verdict.plot()
print(verdict)
