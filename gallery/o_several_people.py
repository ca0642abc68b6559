"""
What do six people's judgments say about everybody else?
========================================================

Six simulated people share a campaign, a query at a time: some are stricter than others, one is careless. Scores
for those six are more certain than scores for listeners in general, and the careless person's judgments count less.
"""

from dataclasses import replace

import numpy as np

import audiosim
from audiosim.campaign import Campaign, CampaignSettings
from audiosim.collection.values import Judgment
from audiosim.package_files import folder

demo = folder("fixtures") / "demo"
truth = audiosim.Collection.load(demo, judgments=demo / "truth.qrels").grades()
collection = replace(audiosim.Collection.load(demo), judgments=())
rng = np.random.default_rng(4)
people = {name: (rng.normal(0, 10), 12) for name in ("ann", "bob", "cleo", "dan", "eve")} | {"careless": (0, 45)}
campaign = Campaign(collection, settings=CampaignSettings(batch=20))
for _ in range(4):
    for name, (severity, noise) in people.items():
        for pair in campaign.ask(10, name, by_query=True):
            grade = np.clip(round(truth[pair] + severity + rng.normal(0, noise)), 0, 100)
            campaign.tell(Judgment(*pair, float(grade), name))
ranking = campaign.ranking
for whom, stated in (("these six people", ranking), ("listeners at large", ranking.at_large)):
    width = np.mean([row["high"] - row["low"] for row in stated.rows()])
    print(f"About {whom}: confidence {stated.confidence:.3f}, intervals of scores {width:.3f} wide")

# %%
# Severity of each, relative to listeners in general; ``worth`` counts judgments of a person with usual noise.
found = audiosim.judges(replace(collection, judgments=campaign.judgments()), leave_one_out=0)
chart = found.plot()
for row in found.to_dict():
    print(
        f"{row['judge']}: noise {row['noise']:.2f} of the scale, {row['judgments']} judgments worth {row['worth']:.0f}"
    )
