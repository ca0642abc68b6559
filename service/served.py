"""What is served: collections and models; pools, estimators and predictions are made once and kept."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from threading import Lock

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.collection import Collection
from audiosim.corpus.model import Pair
from audiosim.corpus.pool import Pool, build_pool
from audiosim.errors import InputError
from audiosim.plugins import make_estimator
from audiosim.relevance.estimators import Prediction, default_model
from audiosim.relevance.published import Model, load_model, model_names
from service.predicted import State

KEPT = 8


class NotServedError(InputError):
    """An address names a collection or a model that is not served here."""


class Predictor:
    """An estimator for one pool, and what it predicts from the judgments of the collection.

    Any number of threads may use one: it never changes after it is made, but for what it remembers.
    """

    def __init__(self, collection: Collection, pool: Pool, model: str) -> None:
        self.pool = pool
        self._estimator = make_estimator(pool, model)
        self._version: str | None = getattr(self._estimator, "version", None)
        # The batches of one large pool arrive one after the other with the same judgments.
        self._recent = lru_cache(maxsize=2)(self._predict)
        self.own = self._state(pool.spread(collection.grades()), len(collection.judgments))

    @property
    def name(self) -> str:
        """The name of the estimator."""
        return self._estimator.name

    def given(self, grades: Mapping[Pair, float]) -> State:
        """The state in which exactly these judgments were made; those of pairs outside the pool are left out."""
        return self._state(self.pool.spread(grades), len(grades))

    def _state(self, grades: Array, judgments: int) -> State:
        return State(self.pool, self.name, self._version, judgments, grades, self._recent(grades.tobytes()))

    def _predict(self, grades: bytes) -> Prediction:
        return self._estimator.predict(np.frombuffer(grades).copy())


class ServedCollection:
    """A collection, the model that predicts it, and a predictor for each model and cutoff asked for.

    collection  as loaded
    model       as in `--model`; None for the default of the collection's scale
    """

    def __init__(self, collection: Collection, model: str | None = None) -> None:
        self.collection = collection
        self._model = default_model(collection.scale) if model is None else model
        self._making = Lock()
        self._pool = lru_cache(maxsize=KEPT)(self._build_pool)
        self._predictors = lru_cache(maxsize=KEPT)(self._make_predictor)
        self._first = self._make_predictor(self._model, collection.cutoff)

    def predictor(self, model: str | None = None, cutoff: int | None = None) -> Predictor:
        """The predictor of a model and a cutoff, those of the collection where none is given.

        model  a published model, with or without its scale, `uniform`, or the collection's own
        """
        name = self._model if model in {None, self._model, self._first.name} else _published(str(model))
        cutoff = self.collection.cutoff if cutoff is None else cutoff
        if (name, cutoff) == (self._model, self.collection.cutoff):
            return self._first
        with self._making:
            return self._predictors(name, cutoff)

    def _build_pool(self, cutoff: int) -> Pool:
        return build_pool(self.collection, cutoff)

    def _make_predictor(self, model: str, cutoff: int) -> Predictor:
        return Predictor(self.collection, self._pool(cutoff), model)


def _published(name: str) -> str:
    """The name itself, if it is one that a caller may pick: never a file, never an address."""
    known = sorted({"uniform", *(model.rpartition("-")[0] for model in model_names())})
    if name not in known and name not in model_names():
        raise NotServedError(f"unknown model {name!r}, expected one of {', '.join(known)}")
    return name


class Served:
    """All that a service serves.

    collections  by identifier
    models       by name: the published ones, and those of the collections' model files
    """

    def __init__(self, collections: Sequence[Collection], models: Mapping[str, str]) -> None:
        names = [collection.identifier for collection in collections]
        _check_names(names, models)
        self.collections = {c.identifier: ServedCollection(c, models.get(c.identifier)) for c in collections}
        files = [name for name in models.values() if name.endswith(".json")]
        self.models = {model.name: model for model in map(load_model, [*model_names(), *files])}

    def collection(self, name: str) -> ServedCollection:
        """The collection of a name."""
        if name not in self.collections:
            raise NotServedError(f"unknown collection {name!r}, expected one of {', '.join(self.collections)}")
        return self.collections[name]

    def model(self, name: str) -> Model:
        """The model of a name, with its scale."""
        if name not in self.models:
            raise NotServedError(f"unknown model {name!r}, expected one of {', '.join(self.models)}")
        return self.models[name]


def _check_names(names: Sequence[str], models: Mapping[str, str]) -> None:
    if not names:
        raise InputError("there is no collection to serve")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two collections are called {name}; a collection is served under its folder's name")
    for name in models:
        if name not in names:
            raise InputError(f"a model is given for collection {name!r}, which is not among {', '.join(names)}")
