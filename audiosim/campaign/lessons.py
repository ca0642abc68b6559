"""Lessons that were learned are noted beside the log: whoever opens it again goes on with them.

A lesson is found by the digest of all that it rests on: what the estimator holds before, to the last bit, the grades,
and the program that learns. Where any of it is another, it is learned again.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import resources
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy
from scipy import sparse

import audiosim
from audiosim.campaign.settings import CampaignSettings
from audiosim.campaign.state import Count
from audiosim.campaign.stretch import Counter, Lesson, Stretch
from audiosim.corpus.grades import mean_grades
from audiosim.corpus.model import Judgment, Pair
from audiosim.corpus.pool import Pool
from audiosim.errors import StoreError
from audiosim.measures.measure import Measure
from audiosim.relevance.estimators import RelevanceEstimator
from audiosim.relevance.relearning import Resuming, learned_from
from audiosim.selection import Selection

LEARNING = ("audiosim.relevance", "audiosim.stats")  # whose code decides what is learned


@runtime_checkable
class Notebook(Protocol):
    """A place for notes, by key, beside a log."""

    def note(self, key: str) -> str | None:
        """The note of a key; None where there is none."""
        ...

    def write_note(self, key: str, text: str) -> None:
        """Keep a note; old ones may go."""
        ...


class Lessons:
    """Lessons of a campaign, looked up beside its log before they are learned.

    Nothing depends on the notes but time: where they cannot be read or written, all goes on without them.
    """

    def __init__(self, store: object) -> None:
        self._notes = store if isinstance(store, Notebook) else None

    def after(self, pool: Pool, estimator: RelevanceEstimator, judgments: Iterable[Judgment]) -> RelevanceEstimator:
        """The estimator that has learned from judgments made before the log began, in their order."""
        first = learned_from(pool, mean_grades(judgments))
        return self.learned(Lesson(0, estimator, pool.spread(first))) if first else estimator

    def learned(self, lesson: Lesson) -> RelevanceEstimator:
        """The estimator that has learned: as noted, else now; this may take seconds, and is then noted."""
        found = self.recall(lesson)
        if found is None:
            found = lesson.learned()
            self.keep(lesson, found)
        return found

    def recall(self, lesson: Lesson) -> RelevanceEstimator | None:
        """The estimator that has learned, as noted; None where nothing is."""
        if self._notes is None or not isinstance(lesson.estimator, Resuming):
            return None
        with suppress(StoreError):
            text = self._notes.note(lesson_key(lesson))
            return None if text is None else lesson.estimator.resumed(lesson.grades, json.loads(text))
        return None

    def keep(self, lesson: Lesson, learned: RelevanceEstimator) -> None:
        """Note what was learned."""
        if self._notes is None or not isinstance(lesson.estimator, Resuming) or not isinstance(learned, Resuming):
            return
        with suppress(StoreError):
            self._notes.write_note(lesson_key(lesson), json.dumps(learned.learned))


def begin_count(
    lessons: Lessons,
    pool: Pool,
    estimator: RelevanceEstimator,
    measure: Measure,
    settings: CampaignSettings,
    own: Sequence[Judgment],
    held: int,
    count_long: Counter = Stretch.counted,
) -> Count:
    """The count before the first line of a log, which says when the estimator learns.

    own   judgments that the collection came with
    held  how many of them are of pairs of the pool
    count_long  counts what takes long
    """
    rest = settings.batch, settings.rule, settings.seed, dict[Pair, float](), False, settings.distribution
    first = Selection.start(pool, measure, lessons.after(pool, estimator, own), own, *rest, settings.about)
    return Count(first, estimator, held, lessons, settings.learn_later, count_long)


def lesson_key(lesson: Lesson) -> str:
    """SHA-256 of all that a lesson rests on, hexadecimal."""
    assert isinstance(lesson.estimator, Resuming)
    digest = hashlib.sha256(_program().encode())
    _take_in(digest, lesson.estimator.basis)
    _take_in(digest, lesson.grades)
    return digest.hexdigest()


def _take_in(digest: Any, value: Any) -> None:
    """Feed a value, its type and its structure to a digest; one of which nothing is known is an error."""
    digest.update(f"{type(value).__name__}:".encode())
    if is_dataclass(value):
        for field in fields(value):
            _take_in(digest, getattr(value, field.name))
    elif isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).data)
    elif isinstance(value, sparse.csr_array):
        _take_in(digest, (value.shape, value.indptr, value.indices, value.data))
    elif isinstance(value, Mapping):
        _take_in(digest, tuple(value.items()))
    elif isinstance(value, tuple | list):
        digest.update(f"{len(value)}".encode())
        for one in value:
            _take_in(digest, one)
    elif value is None or isinstance(value, str | float | int | np.generic):
        digest.update(repr(value).encode())
    else:
        raise TypeError(f"no digest of a {type(value).__name__}")


@cache
def _program() -> str:
    """Digest of the code that learns, and the versions of what it rests on."""
    digest = hashlib.sha256(f"{audiosim.__version__} {np.__version__} {scipy.__version__}".encode())
    for package in LEARNING:
        for file in sorted(resources.files(package).iterdir(), key=lambda one: one.name):
            if file.name.endswith(".py"):
                digest.update(file.read_bytes())
    return digest.hexdigest()
