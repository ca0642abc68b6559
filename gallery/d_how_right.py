"""
Would the campaign have been right?
===================================

If the truth is known, a campaign can be replayed: the stated confidence after each judgment, beside the truth.
"""

import audiosim
from audiosim.package_files import folder

demo = folder("fixtures") / "demo"
judged = audiosim.Collection.load(demo, judgments=demo / "truth.qrels")
played = audiosim.simulate(judged, stopping_rule="judgments=120", batch=5)
chart = played.plot()
print(played)
