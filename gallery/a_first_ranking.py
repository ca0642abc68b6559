"""
How do the systems rank before anybody has judged anything?
===========================================================

Ten systems, 24 queries, no judgment. The intervals are wide, and that is the honest answer.
"""

import audiosim
from audiosim.package_files import folder

collection = audiosim.Collection.load(folder("fixtures") / "demo")
ranking = audiosim.estimate(collection)
chart = ranking.plot()
ranking
