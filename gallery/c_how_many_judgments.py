"""
How many judgments would my campaign need?
==========================================

Campaigns are played on to the goal with grades that the model draws: its own opinion, before anybody listens.
"""

import audiosim
from audiosim.package_files import folder

collection = audiosim.Collection.load(folder("fixtures") / "demo")
effort = audiosim.plan(collection, "mout", stopping_rule="confidence=0.9", campaigns=10, listeners=6)
effort.plot()
effort
