"""
How many judgments does a machine save?
=======================================

GPT-4 graded all passages of a part of TREC 2019's deep learning track, at no cost. The campaign is replayed twice: with
people's judgments alone, and with the machine's grades as additional evidence. The data are not included in audiosim;
without them, the script prints the folder where it expects them. The usual worth of machines was learned on this
collection, too, so look only at the shape of the curves; the page on machines has figures without this overlap.
"""

from dataclasses import replace

import numpy as np

import audiosim
from audiosim.campaign import Campaign, CampaignSettings
from audiosim.collection.values import Judgment
from audiosim.package_files import folder
from audiosim.results.plots import Line, draw_curves

data = folder("fixtures").resolve().parents[1] / "shared" / "data"
machine = data / "judges" / "dl2019" / "umbrela-gpt4.tsv"
looks, people = range(0, 121, 20), None
if not machine.is_file():
    print("not here: expected judges/dl2019 and foreign/dl2019 in ../shared/data, beside the folder of audiosim")
else:
    whole = audiosim.Collection.load(data / "foreign" / "dl2019")
    grades = whole.grades()
    lines = [line.split("\t") for line in machine.read_text(encoding="utf-8").splitlines()[1:]]
    people = replace(whole, judgments=())
    beside = people.with_judge("gpt4", {(query, document): float(said) for query, document, said in lines})
    measure = f"CG@{whole.cutoff}"
    curves = []
    scores = audiosim.estimate(whole, measure=measure).scores.mean
    for name, collection in (("people alone", people), ("people and the machine", beside)):
        campaign, right = Campaign(collection, measure=measure, settings=CampaignSettings(batch=20)), []
        for judged in looks:
            while len(campaign.judgments()) < judged:
                for pair in campaign.ask(20, "ann"):
                    campaign.tell(Judgment(*pair, grades[pair], "ann"))
            mean, (first, second) = campaign.ranking.scores.mean, campaign.ranking.scores.pairs
            same = np.sign(mean[first] - mean[second]) == np.sign(scores[first] - scores[second])
            right.append(float(same.mean()))
        curves.append(Line(name, looks, right))
        print(f"{name}: {', '.join(f'{one:.2f}' for one in right)} right after {', '.join(map(str, looks))} judgments")
    chart = draw_curves(curves, "judgments by people", "share of pairs of systems in the right order")

# %%
# The machine according to the last campaign's judgments: its leniency, its accuracy, and the systems it favours.
if people is not None:
    judges = audiosim.judges(replace(beside, judgments=campaign.judgments()), measure=measure, leave_one_out=0)
    (row,) = (row for row in judges.to_dict() if row["judge"] == "gpt4")
    for key in ("severity", "agreement", "worth"):
        print(f"{key}: {row[key]:.2f} ({row[f'{key}_low']:.2f} to {row[f'{key}_high']:.2f})")
    print("teams surely favoured:", [team["team"] for team in row["teams"] if team["sure"]] or "none")
