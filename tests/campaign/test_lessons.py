"""Lessons of a campaign's model are stored beside its log, and reused when the campaign is opened again."""

import json
import os
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sql

from audiosim import Collection
from audiosim.campaign import Campaign, DatabaseStore, MemoryStore, database
from audiosim.campaign import store as memory_store
from audiosim.campaign.learning import Lesson, lesson_key
from audiosim.campaign.tables import LESSONS
from audiosim.collection.pool import build_pool
from audiosim.collection.values import Judgment
from audiosim.joint.estimators import make_estimator
from audiosim.joint.model import JointEstimator

FEW_NOTES = 20
DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "demo"


@pytest.fixture(scope="module")
def demo():
    return Collection.load(DEMO)


@pytest.fixture(scope="module")
def judged(demo):
    """The demo with sixty judgments from before its log, by the rank of each pair."""
    pool = build_pool(demo, demo.cutoff)
    return "".join(
        f"{query} 0 {document} {(7 * place) % 101}\n" for place, (query, document) in enumerate(pool.pairs[:60])
    )


@pytest.fixture
def collection(judged, tmp_path):
    (tmp_path / "own.qrels").write_text(judged, encoding="utf-8")
    return Collection.load(DEMO, tmp_path / "own.qrels")


class Counted(JointEstimator):
    """An estimator that records the number of judgments of each lesson that was learned, not reused."""

    def __init__(self, collection):
        pool = build_pool(collection, 5)
        super().__init__(pool, make_estimator(pool, "joint")._models)
        self.lessons = []

    def relearned(self, grades):
        self.lessons.append(int(np.isfinite(grades).sum()))
        return super().relearned(grades)


@pytest.mark.slow
def test_a_campaign_that_is_opened_again_says_the_same_and_learns_nothing(collection, tmp_path):
    url, said, estimator = f"sqlite:///{tmp_path / 'campaign.db'}", [], Counted(collection)
    for _ in range(2):
        with closing(DatabaseStore(url, "demo")) as store:
            selection = Campaign(collection, estimator, "CG@5", store).selection
            said.append(
                (selection.belief.expectation.tolist(), selection.belief.variance.tolist(), selection.confidence)
            )
    assert estimator.lessons == [50]
    assert said[0] == said[1]  # to the last bit


@pytest.mark.slow
def test_what_was_learned_in_the_middle_of_a_log_is_taken_up_too(demo, tmp_path):
    estimator, url = Counted(demo), f"sqlite:///{tmp_path / 'campaign.db'}"
    with closing(DatabaseStore(url, "demo")) as store:
        campaign = Campaign(demo, estimator, "CG@5", store)
        for place in range(26):
            (pair,) = campaign.ask(1, "ann")
            campaign.tell(Judgment(*pair, float(place), "ann"))
        before = campaign.selection.belief.expectation
    with closing(DatabaseStore(url, "demo")) as store:
        after = Campaign(demo, estimator, "CG@5", store).selection.belief.expectation
    np.testing.assert_allclose(after, before, rtol=1e-9)  # sums are in another order
    assert estimator.lessons == [25]


def lesson_of(collection):
    pool = build_pool(collection, 5)
    grades = np.full(len(pool.pairs), np.nan)
    grades[:30] = np.arange(30.0)
    return Lesson(0, make_estimator(pool, "joint"), grades)


def test_a_lesson_rests_on_the_grades_the_documents_and_the_model(demo, tmp_path):
    lesson = lesson_of(demo)
    other = lesson.grades.copy()
    other[0] = np.nextafter(other[0], 1)
    renamed = {name: replace(one, genre="jazz") for name, one in list(demo.documents.items())[:1]}
    changed = replace(demo, documents={**demo.documents, **renamed})
    keys = [
        lesson_key(one)
        for one in (
            lesson,
            replace(lesson, grades=other),
            lesson_of(changed),
            Lesson(0, lesson.estimator, lesson.grades),
        )
    ]
    assert keys[0] == keys[3]
    assert len(set(keys)) == 3


@pytest.mark.slow
def test_another_process_finds_the_same_lesson(demo, tmp_path):
    code = """
import sys
sys.path.insert(0, sys.argv[1])
import test_lessons
print(test_lessons.lesson_key(test_lessons.lesson_of(test_lessons.Collection.load(test_lessons.DEMO))))
"""
    found = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent)],
        env={**os.environ, "PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == lesson_key(lesson_of(demo))


@pytest.mark.slow
def test_a_note_that_cannot_be_read_or_written_is_done_without(collection, tmp_path):
    path, estimator = tmp_path / "campaign.db", Counted(collection)
    DatabaseStore(f"sqlite:///{path}", "demo").close()
    with closing(DatabaseStore(f"sqlite:///file:{path}?mode=ro&uri=true", "demo")) as store:
        Campaign(collection, estimator, "CG@5", store)
    with closing(DatabaseStore(f"sqlite:///{path}", "demo")) as store:
        engine = sql.create_engine(f"sqlite:///{path}")
        with engine.begin() as connection:
            LESSONS.drop(connection)
        engine.dispose()
        Campaign(collection, estimator, "CG@5", store)
    assert estimator.lessons == [50, 50]


@pytest.mark.parametrize("kind", ["memory", "database"])
def test_notes_of_long_ago_go(kind, tmp_path, monkeypatch):
    for module in (memory_store, database):
        monkeypatch.setattr(module, "MOST_NOTES", FEW_NOTES)
    store = MemoryStore() if kind == "memory" else DatabaseStore(f"sqlite:///{tmp_path / 'notes.db'}", "demo")
    for number in range(FEW_NOTES + 5):
        store.write_note(f"key {number}", json.dumps(number))
    store.write_note("key 24", "again")
    kept = [number for number in range(FEW_NOTES + 5) if store.note(f"key {number}") is not None]
    assert len(kept) == FEW_NOTES
    assert store.note(f"key {FEW_NOTES + 4}") == "again"
    if kind == "database":
        store.close()
