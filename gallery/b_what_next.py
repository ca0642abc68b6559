"""
Which pair is worth a listener's next minute?
=============================================

The default rule draws pairs in proportion to the uncertainty that a judgment is expected to remove.
"""

import audiosim
from audiosim.package_files import folder

collection = audiosim.Collection.load(folder("fixtures") / "demo")
asked = audiosim.next_pairs(collection, count=15)
chart = asked.plot()
asked
