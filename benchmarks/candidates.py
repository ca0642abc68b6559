"""Seconds until a campaign states .95 with several candidates on a page, beside those of single grades.

Six simulated people judge a part of a collection that is judged in full. What is true are its grades; a person adds a
severity, a way of hearing each query, and noise, as people did in `benchmarks/listeners.py`. They answer in turn, one
page each. A grade takes the time of two clips, a page that of its query and its candidates: a query is heard once.
Beside it the judgments, for whoever pays by the judgment.
0 candidates are single grades in batches of 20 of as few queries as possible, as the page asks for them; 1 are single
grades one at a time.

    python benchmarks/candidates.py [FOLDER] [--parts 6] [--queries 30] [--candidates 0,1,3,5,8]
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from audiosim import Collection
from audiosim.arrays import Array
from audiosim.campaign import Campaign, CampaignSettings
from audiosim.campaign.seconds_taken import GRADE, USUAL_S
from audiosim.corpus.model import Judgment
from audiosim.simulation import draw_parts
from audiosim.simulation.replay import agreement_with_truth, true_scores

USUAL = Path(__file__).parents[2] / "shared" / "data" / "mirex2011"
PEOPLE = 6
SEVERITY, HEARING, NOISE = 0.10, 0.06, 0.17  # of the scale: judge, judge x query, the rest
CLIP_S = USUAL_S[GRADE] / 2
UNTIL = 0.95
BATCH = 20
EVERY = 10  # judgments between two looks at the confidence


def said(true: Array, query: Array, rng: np.random.Generator) -> Array:
    """(p, n) what each of these people would say of each pair, of grades on [0, 1]."""
    felt = true + SEVERITY * rng.standard_normal((PEOPLE, 1))
    felt = felt + HEARING * rng.standard_normal((PEOPLE, query.max() + 1))[:, query]
    return np.asarray(np.clip(felt + NOISE * rng.standard_normal((PEOPLE, len(true))), 0, 1))


def played(part: Collection, candidates: int, seed: int) -> tuple[float, int, float]:
    """Seconds and judgments until .95 is stated, and the accuracy then; the seed draws what people say.

    candidates  0: single grades, of which each person is handed BATCH at a time, of as few queries as possible
    """
    campaign = Campaign(
        replace(part, judgments=()),
        "joint",
        "CG@5",
        settings=CampaignSettings(candidates=max(1, candidates), seed=seed),
    )
    pool = campaign.selection.pool
    true = pool.spread(part.grades())
    grades = said(true / pool.scale.maximum, pool.query, np.random.default_rng(seed)) * pool.scale.maximum
    scores, seconds, count, turn = true_scores(campaign.selection, true), 0.0, 0, 0
    looked = 0
    while True:
        page = campaign.ask(candidates or BATCH, f"person {turn % PEOPLE}", by_query=True)
        if not page:
            break
        seconds += CLIP_S * (1 + len(page) if candidates else 2 * len(page))
        for pair in page:
            grade = float(np.rint(grades[turn % PEOPLE, pool.positions[pair]]))
            campaign.tell(Judgment(*pair, grade, f"person {turn % PEOPLE}"))
        count, turn = count + len(page), turn + 1
        if count - looked >= EVERY:
            looked = count
            if (campaign.selection.ranking.confidence or 0.0) >= UNTIL:
                break
    return seconds, count, agreement_with_truth(campaign.selection.ranking, scores)[0]


def main() -> None:
    """Print a row for each number of candidates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=USUAL)
    parser.add_argument("--parts", type=int, default=6)
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--candidates", default="0,1,3,5,8", help="the first is what the others are shares of")
    arguments = parser.parse_args()
    collection = Collection.load(arguments.folder)
    rng = np.random.default_rng(1)
    drawn = draw_parts(collection, arguments.parts, rng, queries=arguments.queries, held_out="queries")
    parts = [one.of(collection) for one in drawn]
    numbers = [int(one) for one in arguments.candidates.split(",")]
    found = np.array([[played(part, number, seed) for number in numbers] for seed, part in enumerate(parts)])
    print("candidates   seconds  of single grades'   judgments  of single grades'   accuracy")
    for number, rows in zip(numbers, np.moveaxis(found, 1, 0), strict=True):
        shares = rows[:, :2] / found[:, 0, :2]
        (seconds, count, right), (less, fewer) = rows.mean(axis=0), shares.mean(axis=0)
        errors = shares.std(axis=0, ddof=1) / np.sqrt(len(shares))
        print(
            f"{number:10}  {seconds:8.0f}   {less:7.2f} +- {errors[0]:.2f}   {count:10.0f}    "
            f"{fewer:7.2f} +- {errors[1]:.2f}   {right:9.3f}"
        )


if __name__ == "__main__":
    main()
