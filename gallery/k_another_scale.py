"""
What if people had graded on four levels instead of a hundred?
===============================================================

Fine judgments can be converted to any coarser scale. The ranking hardly changes, but it is less certain.
"""

import matplotlib.pyplot as plt

import audiosim
from audiosim.package_files import folder

demo = folder("fixtures") / "demo"
judged = audiosim.Collection.load(demo, judgments=demo / "truth.qrels")
figure, places = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for scale, axes in zip((None, "graded-4", "binary-40"), places, strict=True):
    found = audiosim.evaluate(judged, "CG@5" if scale != "binary-40" else "P@5", scale=scale)
    found.plot(axes).set_title(f"{scale or 'fine'}: {found.significant} pairs differ")
