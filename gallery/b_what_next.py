"""
Which pair is worth a listener's next minute?
=============================================

The default rule draws pairs in proportion to the doubt that their judgment is expected to take away.
"""

import audiosim
from audiosim.package_files import folder

collection = audiosim.Collection.load(folder("fixtures") / "demo")
asked = audiosim.next_pairs(collection, count=15)
asked.plot()
asked
