"""Stored lessons: results of learning saved beside the log, so that reopening it does not repeat the learning.

The key of a lesson is the digest of everything it depends on: the estimator's previous state, to the last bit, the
grades, and the learning code. If any of these differs, the lesson is learned again.
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
from audiosim.corpus.model import Judgment, Pair
from audiosim.corpus.pool import Pool
from audiosim.errors import StoreError
from audiosim.measures.measure import Measure
from audiosim.relevance.estimators import RelevanceEstimator
from audiosim.relevance.relearning import Resuming, comparing, learned_from
from audiosim.selection import Selection

LEARNING = ("audiosim.relevance", "audiosim.stats")  # packages with code that affects the result


@runtime_checkable
class Notebook(Protocol):
    """A store for notes, by key, beside a log."""

    def note(self, key: str) -> str | None:
        """The note with a key, or None."""
        ...

    def write_note(self, key: str, text: str) -> None:
        """Store a note; old ones may be dropped."""
        ...


class Lessons:
    """Lessons of a campaign, looked up beside its log before they are learned.

    The notes only save time: without access to them everything works the same.
    """

    def __init__(self, store: object) -> None:
        self._notes = store if isinstance(store, Notebook) else None

    def after(self, pool: Pool, estimator: RelevanceEstimator, judgments: Iterable[Judgment]) -> RelevanceEstimator:
        """The estimator after learning from judgments made before the log began, in their order."""
        first = learned_from(pool, tuple(judgments))
        return self.learned(Lesson(0, estimator, pool.spread(first))) if first else estimator

    def learned(self, lesson: Lesson) -> RelevanceEstimator:
        """The estimator after a lesson: from the note, or learned now, which may take seconds, and noted."""
        found = self.recall(lesson)
        if found is None:
            found = lesson.learned()
            self.keep(lesson, found)
        return found

    def recall(self, lesson: Lesson) -> RelevanceEstimator | None:
        """The estimator after a lesson, from its note, or None."""
        if self._notes is None or not isinstance(lesson.estimator, Resuming):
            return None
        with suppress(StoreError):
            text = self._notes.note(lesson_key(lesson))
            if text is None:
                return None
            estimator = comparing(lesson.estimator, lesson.comparisons)
            return estimator.resumed(lesson.grades, json.loads(text)) if isinstance(estimator, Resuming) else None
        return None

    def keep(self, lesson: Lesson, learned: RelevanceEstimator) -> None:
        """Store the result of a lesson."""
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
    """The count before the first line of a log; it determines when the estimator learns.

    own   the collection's own judgments
    held  number of these about pairs of the pool
    count_long  runs slow counts
    """
    rest = settings.batch, settings.selection_rule, settings.seed, dict[Pair, float](), False, settings.distribution
    first = Selection.start(pool, measure, lessons.after(pool, estimator, own), own, *rest, settings.about)
    return Count(first, estimator, held, lessons, settings.learn_later, count_long)


def lesson_key(lesson: Lesson) -> str:
    """SHA-256 of everything a lesson depends on, hexadecimal."""
    assert isinstance(lesson.estimator, Resuming)
    digest = hashlib.sha256(_program().encode())
    _take_in(digest, lesson.estimator.basis)
    _take_in(digest, lesson.grades)
    if lesson.comparisons:
        _take_in(digest, lesson.comparisons)
    return digest.hexdigest()


def _take_in(digest: Any, value: Any) -> None:
    """Feed a value, its type and its structure to a digest; an unknown type is an error."""
    # Type and length go in first, so that no two structures feed the same bytes.
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
    """Digest of the learning code and of the versions of its dependencies."""
    # Other versions may round differently, and a replayed campaign must equal the original to the last bit.
    digest = hashlib.sha256(f"{audiosim.__version__} {np.__version__} {scipy.__version__}".encode())
    for package in LEARNING:
        with resources.as_file(resources.files(package)) as folder:
            for file in sorted(folder.rglob("*.py")):
                digest.update(file.read_bytes())
    return digest.hexdigest()
