"""`remote`: the estimator that gets predictions from a service."""

from collections.abc import Mapping, Sequence
from copy import copy

import numpy as np

from audiosim.collection.pool import Pool
from audiosim.collection.values import Pair
from audiosim.errors import InputError, ServiceError
from audiosim.joint.estimators import RelevanceEstimator
from audiosim.joint.posterior import Belief
from audiosim.results.value import cached_property
from audiosim.service.client import BATCH, Client
from audiosim.service.transport import parse_address
from audiosim.service.types.answer_checks import check_predictions, spoken_in
from audiosim.service.types.predictions import PredictionsOut
from audiosim.service.types.prior_file import decode_prior, reserve_of
from audiosim.stats.arrays import Array


class RemoteEstimator:
    """The estimator of a service, for a pool that it also has.

    The judgments stay with the caller, and change nothing at the service. For a model with correlated gains, the prior
    is fetched once and after each lesson, and conditioned here; results are exactly equal. Any other model is sent the
    judgments with each prediction, and answers with level probabilities.

    collection, model  their names at the service; None for the service's own choice of model
    batch              number of pairs per request
    """

    def __init__(
        self, pool: Pool, client: Client, collection: str, model: str | None = None, batch: int = BATCH
    ) -> None:
        self._pool, self._client, self._collection, self._model = pool, client, collection, model
        self._batch = batch
        if beyond := int(np.sum(~pool.found)):
            raise InputError(f"{client.url} predicts only pairs of a pool; no system retrieved {beyond} of these")
        there = client.collection(collection, model, pool.cutoff)
        if there.pool_hash != pool.content_hash:
            raise InputError(
                f"collection {collection} at {client.url} is not the {pool.collection} here: "
                f"its top {there.cutoff} has {there.pool} pairs of {len(there.systems)} systems, pool hash "
                f"{there.pool_hash[:12]}; here {len(pool.pairs)} of {len(pool.systems)}, {pool.content_hash[:12]}"
            )
        self._there, self._correlated = there.model, there.correlated
        self._learned: dict[Pair, float] | None = None
        self._first = self  # also for the copies that learn

    @property
    def name(self) -> str:
        return f"remote:{self._there.name}"

    @property
    def version(self) -> str | None:
        """The version of the service's model."""
        return self._there.version

    @cached_property
    def _start(self) -> Belief:
        """The belief before any judgment."""
        nothing, maximum = np.full(len(self._pool.pairs), np.nan), self._pool.scale.maximum
        body = self._client.prior(self._collection, self._learned, model=self._model, cutoff=self._pool.cutoff)
        return decode_prior(body, nothing, maximum, self._client.url)

    def relearned(self, grades: Array) -> "RemoteEstimator":
        """The estimator after learning from these judgments (n,) at the service, if its gains are correlated."""
        if not self._correlated:
            return self
        other = copy(self)
        for known in ("_start", "_reserve"):
            vars(other).pop(known, None)
        other._learned = self._pool.judged(grades)
        return other

    @cached_property
    def _reserve(self) -> RelevanceEstimator | None:
        return reserve_of(self._pool, self._there.name, self._learned)

    def in_reserve(self) -> RelevanceEstimator | None:
        """Local replacement of the same model, used if this estimator fails its check; see `Reserved`."""
        return self._reserve

    def unlearned(self) -> "RemoteEstimator":
        """The estimator before any judgment."""
        return self._first

    def predict(self, grades: Array) -> Belief:
        if self._correlated:
            return self._start.revise(grades)
        pairs, progress = self._pool.pairs, self._pool.judged(grades)
        starts = range(0, len(pairs), self._batch)
        answers = [self._ask(pairs[start : start + self._batch], progress) for start in starts]
        if any(answer.levels != answers[0].levels for answer in answers):
            raise ServiceError(f"{self._client.url} gives other levels in one answer than in another")
        names = [name for answer in answers for name in answer.models]
        codes = {name: code for code, name in enumerate(dict.fromkeys(names))}
        evidence, spoke = spoken_in(answers)
        return Belief.independent(
            levels=np.array(answers[0].levels),
            probabilities=np.concatenate([np.array(answer.probabilities) for answer in answers]),
            grades=grades,
            maximum=self._pool.scale.maximum,
            models=tuple(str(name) for name in codes),
            model=np.array([codes[name] for name in names]),
            evidence=evidence,
            spoke=spoke,
        )

    def _ask(self, pairs: Sequence[Pair], progress: Mapping[Pair, float]) -> PredictionsOut:
        answer = self._client.predict(
            self._collection, pairs, grades=progress, probabilities=True, model=self._model, cutoff=self._pool.cutoff
        )
        if answer.model != self._there:
            raise ServiceError(f"{self._client.url} changed its model for {self._collection} while it was asked")
        check_predictions(answer, pairs, self._pool.scale, self._client.url)
        return answer


def remote(pool: Pool, text: str) -> RemoteEstimator:
    """The estimator of a service for a pool.

    text  the service's root, such as http://127.0.0.1:8000, if the collection has the same name there; or the address
          of a collection, such as http://127.0.0.1:8000/v1/collections/mirex2011. ?model=NAME picks a model other than
          the service's choice
    """
    root, collection, model = parse_address(text)
    return RemoteEstimator(pool, Client(root), pool.collection if collection is None else collection, model)
