"""Files written by a release of audiosim, kept to test that every later version reads them.

    python tests/released/make.py tests/released/0.1.0

Run it once, from a checkout of the release. An index of three recordings of the demo, two models trained on its truth,
and a backup of a campaign on it. Databases are made by tests/campaign/older/make.py.
"""

import os
import sys
from contextlib import closing
from pathlib import Path

import audiosim
from audiosim.campaign import Campaign, DatabaseStore
from audiosim.campaign.archive import backup
from audiosim.collection.collection import Collection
from audiosim.collection.values import Judgment
from audiosim.ordinal.model import save_model

DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "demo"


def judge(url: str) -> None:
    """Make a campaign of six judgments by two people; one judgment is withdrawn."""
    collection = Collection.load(DEMO)
    with closing(DatabaseStore(url, collection.identifier)) as store:
        campaign = Campaign(collection, "uniform", "CG@5", store)
        for number in range(6):
            name = ("ann", "ben")[number % 2]
            (pair,) = campaign.ask(1, name)
            campaign.tell(Judgment(pair.query, pair.document, 10.0 * number + 5, name))
        campaign.undo("ann")


def main() -> None:
    """Write the files into a new folder."""
    folder = Path(sys.argv[1]).absolute()
    folder.mkdir()
    os.chdir(DEMO)  # an index keeps paths as given
    audiosim.extract([Path("sounds", f"d00{number}.ogg") for number in (1, 2, 3)], into=folder / "sounds.index")
    judged = Collection.load(DEMO, "truth.qrels")
    for features in ("output", "joint"):
        trained = audiosim.train(judged, features)
        save_model(trained.model, folder / f"{features}.json")
    url = f"sqlite:///{folder / 'campaign.db'}"
    judge(url)
    backup(url, folder / "campaign.jsonl")
    (folder / "campaign.db").unlink()


if __name__ == "__main__":
    main()
