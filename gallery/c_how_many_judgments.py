"""
How many judgments would my campaign need?
==========================================

Campaigns are simulated up to the goal with grades drawn from the model, before anybody listens.
"""

import audiosim
from audiosim.package_files import folder

collection = audiosim.Collection.load(folder("fixtures") / "demo")
effort = audiosim.plan(collection, "mout", stopping_rule="confidence=0.9", campaigns=10, listeners=6)
chart = effort.plot()
effort
