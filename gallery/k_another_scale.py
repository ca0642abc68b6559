"""
What if people had graded on four levels instead of a hundred?
===============================================================

Fine judgments can be converted to any coarser scale. The ranking hardly changes, but it is less certain.
"""

import altair

import audiosim
from audiosim.package_files import folder

demo = folder("fixtures") / "demo"
judged = audiosim.Collection.load(demo, judgments=demo / "truth.qrels")
charts = []
for scale in (None, "graded-4", "binary-40"):
    found = audiosim.evaluate(judged, "CG@5" if scale != "binary-40" else "P@5", scale=scale)
    title = f"{scale or 'fine'}: {found.significant} pairs differ"
    charts.append(found.plot().properties(title=title, width=190))
chart = altair.hconcat(*charts)
