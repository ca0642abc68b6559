"""
Do four listeners speak for ten others?
=======================================

Fourteen people judged separated sounds in SiSEC 2008 (MUSHRA). Four are drawn, and 100 of their judgments; the others'
mean stands for listeners in general. The intervals for listeners should contain it, those for the four need not.
Then the four judge once more, judgment by judgment: a campaign asks, and each gives their answer of 2008.
The data are not included in audiosim; without them, the script prints the folder where it expects them.
"""

from dataclasses import replace

import altair
import numpy as np

import audiosim
from audiosim.campaign import Campaign, CampaignSettings
from audiosim.package_files import folder
from audiosim.results.plots import Line, draw_curves, draw_intervals

data = folder("fixtures").resolve().parents[1] / "shared" / "data" / "listeners" / "sisec08"
if not data.is_dir():
    said = "not here: expected in ../shared/data/listeners/sisec08, beside the folder of audiosim"
else:
    whole = audiosim.Collection.load(data)
    names = sorted({one.assessor for one in whole.judgments})
    rng = np.random.default_rng(8)
    panel = set(rng.choice(names, 4, replace=False).tolist())
    theirs = [one for one in whole.judgments if one.assessor in panel]
    others = tuple(one for one in whole.judgments if one.assessor not in panel)
    chosen = tuple(theirs[place] for place in sorted(rng.choice(len(theirs), 100, replace=False).tolist()))
    some = replace(whole, judgments=chosen)
    truth = audiosim.estimate(replace(whole, judgments=others), measure="CG@10")
    actual = {row["system"]: row["expectation"] for row in truth.rows()}
    lines = []
    for about in ("panel", "listeners"):
        rows = audiosim.estimate(some, measure="CG@10", about=about).rows()
        held = sum(row["low"] <= actual[row["system"]] <= row["high"] for row in rows)
        lines.append(f"{about}: {held} of {len(rows)} intervals hold what the ten others said")
    low, middle, high = ([row[key] for row in rows] for key in ("low", "expectation", "high"))
    chart = draw_intervals([row["system"] for row in rows], low, middle, high, "CG@10, listeners at large")
    crosses = altair.Data(values=[{"name": name, "others": of} for name, of in actual.items()])
    chart += altair.Chart(crosses, mark="tick").encode(y=altair.Y("name:N", sort=None), x="others:Q")
    said = "; ".join(lines)
print(said)

# %%
# The campaign replayed: it asks each of the four in turn, also for second opinions, and gets their answers of 2008.
moments = []
if data.is_dir():
    answers = {(one.pair, one.assessor): one for one in theirs}
    settings = CampaignSettings(second_opinions=True, batch=5)
    campaign = Campaign(replace(whole, judgments=()), measure="CG@10", settings=settings)
    for number in range(1, 201):
        name = sorted(panel)[number % 4]
        for pair in campaign.ask(1, name):
            campaign.tell(answers[pair, name])
        if number % 20 == 0:
            ranking = campaign.ranking
            listeners = ranking.at_large
            means = [actual[row["system"]] for row in listeners.rows()]
            right = np.mean([above > below for place, above in enumerate(means) for below in means[place + 1 :]])
            held = np.mean([row["low"] <= actual[row["system"]] <= row["high"] for row in listeners.rows()])
            moments.append((number, ranking.confidence, listeners.confidence, right, held))
    judged, of_panel, at_large, right, held = np.array(moments).T
    curves = {"stated of the four": of_panel, "stated of listeners at large": at_large, "right by the others": right}
    chart = draw_curves([Line(name, judged, of) for name, of in curves.items()], "judgments", "pairs of systems")
    twice = sum(len(campaign.assessors_of(pair)) > 1 for pair in {one.pair for one in campaign.judgments()})
    print(
        f"{campaign.progress.judged} pairs judged, {twice} of them by several; {held.mean():.2f} of the intervals hold"
    )
