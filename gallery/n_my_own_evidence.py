"""
What is my embedding worth?
===========================

A third of the pairs is judged, and the others are predicted. Vectors with information about the sound improve the
predictions; vectors without any do little harm.
"""

from dataclasses import replace

import numpy as np

import audiosim
from audiosim.package_files import folder
from audiosim.results.plots import draw_bars

demo = folder("fixtures") / "demo"
judged = audiosim.Collection.load(demo, judgments=demo / "truth.qrels")
truth = judged.grades()
collection = replace(judged, judgments=judged.judgments[::3])
rng = np.random.default_rng(4)

# An embedding of the settings of the recordings (tempo, register, reverb), and one of random numbers.
columns = ("tempo_bpm", "register_midi", "reverb", "brightness", "noise", "drums", "pad", "pluck")
made = {name: [float(one.more[column] or 0) for column in columns] for name, one in collection.documents.items()}
spread = np.std(list(made.values()), axis=0)
own = {name: np.array(values) / spread for name, values in made.items()}
useless = {name: rng.normal(size=8) for name in made}

errors = {}
for name, evidence in {"none": None, "how they were made": own, "random numbers": useless}.items():
    known = collection if evidence is None else collection.with_evidence("vectors", evidence)
    table = audiosim.predict(known).to_frame()
    off = [row.expectation - truth[pair] for pair, row in zip(table.index, table.itertuples(), strict=True)]
    errors[name] = float(np.sqrt(np.mean(np.square(off))))

chart = draw_bars(list(errors), list(errors.values()), "root mean squared error of predicted grades")
print(errors)
