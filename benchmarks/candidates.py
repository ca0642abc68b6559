"""Seconds until a campaign states .95 with several candidates on a page, compared with single grades.

Six simulated people judge a part of a fully judged collection. Its grades are the truth; each person adds a severity, a
way of hearing each query, and noise, as people did in `benchmarks/listeners.py`. They answer in turn, one page each. A
grade takes the time of two clips, a page takes that of its query and its candidates: a query is heard once. The
judgments are counted too, for people who pay by the judgment. 0 candidates are single grades in batches of 20 of as few
queries as possible, as the page asks for them; 1 are single grades one at a time.

    python benchmarks/candidates.py [--of mirex2011|drawn|dl2019] [--parts 6] [--queries 30] [--candidates 0,1,3,5,8]

The seconds at equal cost are those of a page that takes as long as its candidates one by one, so that only its choice
of pairs and the person's one view of a query remain. `drawn` uses `simulation.synthetic_collection`: each part has its
own effects.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from figures import Figures
from threadpoolctl import threadpool_limits

from audiosim import Collection
from audiosim.campaign import Campaign, CampaignSettings
from audiosim.campaign.timing import GRADE, USUAL_S
from audiosim.collection.values import Judgment
from audiosim.simulation import draw_parts
from audiosim.simulation.collections import Design, synthetic_collection
from audiosim.simulation.replay import agreement_with_truth, true_scores
from audiosim.stats.arrays import Array

DATA = Path(__file__).parents[2] / "shared" / "data"
FOLDERS = {"mirex2011": DATA / "mirex2011", "dl2019": DATA / "foreign" / "dl2019"}
DRAWN = "drawn"
PEOPLE = 6
SEVERITY, HEARING, NOISE = 0.10, 0.06, 0.17  # of the scale: judge, judge x query, the rest
CLIP_S = USUAL_S[GRADE] / 2
UNTIL = 0.95
BATCH = 20
EVERY = 10  # judgments between two looks at the confidence


def said(true: Array, query: Array, rng: np.random.Generator) -> Array:
    """(p, n) answers of these people about each pair, from grades on [0, 1]."""
    felt = true + SEVERITY * rng.standard_normal((PEOPLE, 1))
    felt = felt + HEARING * rng.standard_normal((PEOPLE, query.max() + 1))[:, query]
    return np.asarray(np.clip(felt + NOISE * rng.standard_normal((PEOPLE, len(true))), 0, 1))


def played(part: Collection, candidates: int, seed: int) -> tuple[float, int, float]:
    """Seconds and judgments until .95 is stated, and the accuracy then; the seed is for people's answers.

    candidates  0: single grades; each person gets BATCH at a time, of as few queries as possible
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


def parts_of(name: str, count: int, queries: int) -> Iterator[Collection]:
    """Parts of a collection, or drawn collections."""
    if name == DRAWN:
        design = Design(queries=queries)
        yield from (synthetic_collection(np.random.default_rng(seed), design) for seed in range(count))
    else:
        collection = Collection.load(FOLDERS[name])
        drawn = draw_parts(collection, count, np.random.default_rng(1), queries=queries, held_out="queries")
        yield from (one.of(collection) for one in drawn)


def share(of: Array) -> str:
    """Mean over parts, with its standard error."""
    return f"{of.mean():.2f} ± {of.std(ddof=1) / np.sqrt(len(of)):.2f}"


def main() -> None:
    """Print a row for each number of candidates, and keep the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--of", choices=[*FOLDERS, DRAWN], default="mirex2011")
    parser.add_argument("--parts", type=int, default=6)
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--candidates", default="0,1,3,5,8", help="others are given as shares of the first")
    arguments = parser.parse_args()
    numbers = [int(one) for one in arguments.candidates.split(",")]
    found = []
    with Figures("candidates", arguments.of) as figures, threadpool_limits(1):
        for seed, part in enumerate(parts_of(arguments.of, arguments.parts, arguments.queries)):
            found.append([played(part, number, seed) for number in numbers])
            print(seed, found[-1], flush=True)
        every = np.array(found)
        shares = every[:, :, :2] / every[:, :1, :2]
        rows = [
            [str(number), *map(float, mean[:2]), share(of[:, 0]), share(of[:, 1]), round(float(mean[2]), 3)]
            for number, mean, of in zip(numbers, every.mean(axis=0), shares.swapaxes(0, 1), strict=True)
        ]
        head = ["candidates", "seconds", "judgments", "seconds of single grades'", "at equal cost", "accuracy then"]
        figures.table(f"pages of candidates, {arguments.of}", head, rows)


if __name__ == "__main__":
    main()
