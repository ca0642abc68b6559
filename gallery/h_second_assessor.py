"""
Is a second assessor worth it?
==============================

Two assessors judged each query; the second is drawn here, 15 points off on average. More queries do more.
"""

from dataclasses import replace

import numpy as np

import audiosim
from audiosim.package_files import folder

demo = folder("fixtures") / "demo"
judged = audiosim.Collection.load(demo, judgments=demo / "truth.qrels")
rng = np.random.default_rng(1)
first = [replace(one, assessor="ann") for one in judged.judgments]
off = np.clip([one.grade + rng.normal(0, 19) for one in first], 0, 100).round()
second = [replace(one, assessor="bob", grade=float(grade)) for one, grade in zip(first, off, strict=True)]
study = audiosim.assessor_reliability(replace(judged, judgments=(*first, *second)))
chart = study.plot()
found = study.to_dict()
print(f"E rho squared is {found['generalizability']:.3f} with {found['queries']} queries of two assessors each;")
print(f"{found['queries_for_generalizability']} such queries would bring it to .95")
