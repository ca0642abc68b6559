"""
Would the campaign have been right?
===================================

Where the truth is known a campaign can be replayed: what is stated after each judgment, beside what is true.
"""

import audiosim
from audiosim.package_files import folder

demo = folder("fixtures") / "demo"
judged = audiosim.Collection.load(demo, judgments=demo / "truth.qrels")
played = audiosim.simulate(judged, stopping_rule="judgments=120", batch=5)
played.plot()
print(played)
