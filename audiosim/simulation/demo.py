"""The whole workflow on the shipped collection: sound, index, predictions, a campaign, a ranking."""

import shutil
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audiosim import package_files
from audiosim.campaign import Campaign, CampaignSettings, DatabaseStore
from audiosim.campaign.event import ANSWERS
from audiosim.collection.collection import Collection
from audiosim.collection.values import Judgment
from audiosim.collection.written import write_judgments_csv, write_run
from audiosim.errors import InputError
from audiosim.ranking.ranking import Ranking
from audiosim.results.value import listed
from audiosim.simulation.replay import ReplayMoment, agreement_with_truth, moment, true_scores
from audiosim.sound.index import AudioIndex, extract
from audiosim.sound.neighbours import nearest_run
from audiosim.stats.arrays import Array

MARK = ".audiosim-demo"
SYSTEM = "audiosim-nearest"
BATCH = 10
LOG = "campaign.db"
SIMULATED = "simulated"  # name of the listener who judges in the demo
FILES = {
    "sounds": "the sound files",
    "sounds.index": "a Gaussian of MFCC frames for each of them, from `audiosim extract`",
    "runs": f"results of each system; {SYSTEM} is `audiosim neighbours`",
    LOG: "the log of the judging campaign",
    "judgments.csv": "the judgments it made",
    "truth.qrels": "all judgments, as the simulated listener would make them",
    "report.html": "the ranking as a page with plots",
}


@dataclass(frozen=True, eq=False)
class DemoResult:
    """Result of the demo.

    ranking  ranking of the systems at the end of judging
    curve    confidence and accuracy after each judgment
    tau      Kendall's correlation of the ranking with the true one
    batch    judgments asked for at a time
    seconds  duration of the demo
    files    files written: (path, description)
    """

    ranking: Ranking
    curve: tuple[ReplayMoment, ...]
    tau: float
    batch: int
    seconds: float
    files: tuple[tuple[Path, str], ...]

    def rows(self) -> list[dict[str, Any]]:
        """One row per system, as of the ranking."""
        return self.ranking.rows()

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, ready for JSON."""
        return self.ranking.to_dict() | {
            "accuracy": self.curve[-1].accuracy,
            "tau": self.tau,
            "curve": [{"judged": m.judged, "confidence": m.confidence, "accuracy": m.accuracy} for m in self.curve],
            "seconds": self.seconds,
            "files": {str(path): meaning for path, meaning in self.files},
        }


def run_demo(folder: Path, target: float, say: Callable[[str], None]) -> DemoResult:
    """Run the whole workflow in a folder, starting from the sound files.

    folder  made if it is not there; an earlier demo is replaced, unless people judged in it; anything else is refused
    target  confidence at which judging stops
    say     called with each step
    """
    start = time.monotonic()
    collection = prepare_demo(folder, say)
    log = DatabaseStore(f"sqlite:///{folder / LOG}", collection.identifier)
    campaign = Campaign(collection, None, f"CG@{collection.cutoff}", log, CampaignSettings(BATCH))
    pool = campaign.selection.pool
    say(f"{len(pool.systems)} systems answer {len(pool.queries)} queries: {len(pool.pairs)} pairs, none judged yet")
    truth = pool.spread(Collection.load(folder, folder / "truth.qrels").grades())
    curve, tau = _judge(campaign, truth, target)
    write_judgments_csv(folder / "judgments.csv", campaign.judgments())
    log.close()
    files = tuple((folder / name, meaning) for name, meaning in FILES.items())
    return DemoResult(campaign.ranking, curve, tau, BATCH, time.monotonic() - start, files)


def prepare_demo(folder: Path, say: Callable[[str], None]) -> Collection:
    """The demo's collection in a folder, with its sound described and a baseline system added; nothing judged."""
    _copy_fixture(folder)
    _add_baseline(folder, _describe_sound(folder, say))
    return Collection.load(folder)


def _copy_fixture(folder: Path) -> None:
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise InputError(f"{folder} is not empty and holds no earlier demo; name a new folder")
    if people := sorted(_people_who_judged(folder)):
        raise InputError(f"{folder / LOG} has answers of {listed(people)}, expected a new folder, or this one deleted")
    if folder.exists():
        shutil.rmtree(folder)
    shutil.copytree(package_files.folder("fixtures") / "demo", folder)
    (folder / MARK).write_text("made by `audiosim demo`, which replaces this folder\n", encoding="utf-8")


def _people_who_judged(folder: Path) -> set[str]:
    if not (folder / LOG).exists():
        return set()
    given = (*ANSWERS, "repeat", "comparison")  # not leases: who only looked has lost nothing
    with closing(DatabaseStore(f"sqlite:///{folder / LOG}", folder.resolve().name, reading=True)) as log:
        who = {event.assessor or "somebody" for _, event in log.read() if event.kind in given}
    return who - {SIMULATED}


def _describe_sound(folder: Path, say: Callable[[str], None]) -> AudioIndex:
    start = time.monotonic()
    index = extract(folder / "documents.tsv", n_jobs=-1, into=folder / "sounds.index")
    if index.failed:
        raise InputError(f"{index.failed[0].path}: {index.failed[0].error}")
    say(f"{len(index.ids)} sound files described in {time.monotonic() - start:.1f} s")
    return index


def _add_baseline(folder: Path, index: AudioIndex) -> None:
    """Add one more system, with a run computed here from the index."""
    collection = Collection.load(folder)
    artists = {identifier: collection.artist(identifier) for identifier in index.ids}
    run = nearest_run(index, SYSTEM, collection.query_documents, collection.cutoff, artists)
    write_run(folder / "runs" / f"{SYSTEM}.trec", [run])


def _judge(campaign: Campaign, truth: Array, target: float) -> tuple[tuple[ReplayMoment, ...], float]:
    """Judge pairs until the target is reached; return confidence and accuracy at each moment, and tau."""
    pool = campaign.selection.pool
    scores = true_scores(campaign.selection, truth)
    curve = [moment(campaign.selection, scores)]
    while not campaign.selection.reached(target):
        for pair in campaign.ask(BATCH):
            campaign.tell(Judgment(*pair, grade=truth[pool.positions[pair]], assessor=SIMULATED))
            curve.append(moment(campaign.selection, scores))
    return tuple(curve), agreement_with_truth(campaign.ranking, scores)[1]
