"""A typed client of the service, and `remote`, the estimator that asks a service what it would predict."""

import time
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import msgspec
import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.model import Pair
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError, ServiceError
from audiosim.relevance.estimators import Prediction
from service.wire import CollectionOut, FeaturesIn, ModelOut, PredictionsIn, PredictionsOut, ProblemOut

if TYPE_CHECKING:
    import httpx

PAUSES_S = (0.1, 0.3, 0.9)
BATCH = 10_000
COLLECTIONS = "/v1/collections"

Answer = TypeVar("Answer")


class Client:
    """A service at an address; its connection is kept open until `close`, or the end of a `with`.

    Everything it asks may be asked twice, so it asks again where a connection fails. Raises InputError
    where the service refuses what it was asked, ServiceError where it is not there or answers nonsense.

    url        root of the service, such as http://127.0.0.1:8000
    timeout_s  how long to wait for an answer
    """

    def __init__(self, url: str, timeout_s: float = 60.0) -> None:
        import httpx

        self.url = url.rstrip("/")
        try:
            self._http = httpx.Client(base_url=self.url, timeout=timeout_s)
        except httpx.InvalidURL as error:
            raise InputError(f"not an address: {url}: {error}") from None
        self._finish = weakref.finalize(self, self._http.close)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection."""
        self._finish()

    def models(self) -> list[ModelOut]:
        """The models that are served."""
        return self._get("/v1/models", list[ModelOut])

    def model(self, name: str) -> ModelOut:
        """One model, such as "mout-fine"."""
        return self._get(f"/v1/models/{quote(name, safe='')}", ModelOut)

    def collections(self) -> list[CollectionOut]:
        """The collections that are served."""
        return self._get(COLLECTIONS, list[CollectionOut])

    def collection(self, name: str, model: str | None = None, cutoff: int | None = None) -> CollectionOut:
        """One collection, as a model and a cutoff see it; its own where none is given."""
        return self._get(f"{COLLECTIONS}/{quote(name, safe='')}", CollectionOut, _query(model, cutoff))

    def predict(
        self,
        collection: str,
        pairs: Sequence[tuple[str, str]],
        *,
        grades: Mapping[Pair, float] | None = None,
        probabilities: bool = False,
        model: str | None = None,
        cutoff: int | None = None,
    ) -> PredictionsOut:
        """What is predicted of pairs of a collection, row by row.

        pairs          query and document of each
        grades         predict as if exactly these judgments had been made; None for those of the service
        probabilities  whether to answer with those of the levels too
        model, cutoff  the collection's where none is given
        """
        asked = PredictionsIn.from_domain(pairs, grades, probabilities)
        path = f"{COLLECTIONS}/{quote(collection, safe='')}/predictions"
        return self._ask("POST", path, PredictionsOut, _query(model, cutoff), msgspec.json.encode(asked))

    def predict_features(
        self, model: str, features: Mapping[str, Sequence[float | None]], *, probabilities: bool = False
    ) -> PredictionsOut:
        """What a model such as "mout-fine" predicts from rows of features, in columns by name; None is unknown."""
        asked = FeaturesIn.from_domain(features, probabilities)
        path = f"/v1/models/{quote(model, safe='')}/predictions"
        return self._ask("POST", path, PredictionsOut, {}, msgspec.json.encode(asked))

    def _get(self, path: str, kind: type[Answer], query: Mapping[str, str] | None = None) -> Answer:
        return self._ask("GET", path, kind, query or {}, None)

    def _ask(
        self, method: str, path: str, kind: type[Answer], query: Mapping[str, str], content: bytes | None
    ) -> Answer:
        headers = {"content-type": "application/json"} if content is not None else {}
        response = self._send(method, path, params=query, content=content, headers=headers)
        if response.status_code != 200:
            raise _refusal(self.url, response)
        try:
            return msgspec.json.decode(response.content, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ServiceError(f"{self.url} does not answer as audiosim does: {error}") from None

    def _send(self, method: str, path: str, **what: Any) -> "httpx.Response":
        import httpx

        for pause_s in (*PAUSES_S, None):
            try:
                return self._http.request(method, path, **what)
            except (httpx.TimeoutException, httpx.UnsupportedProtocol) as error:
                raise ServiceError(f"{self.url} cannot be asked: {error}") from None
            except httpx.TransportError as error:
                if pause_s is None:
                    raise ServiceError(f"{self.url} cannot be reached: {error}") from None
                time.sleep(pause_s)
        raise AssertionError("the last try returns or raises")


def _query(model: str | None, cutoff: int | None) -> dict[str, str]:
    query = {"model": model, "cutoff": None if cutoff is None else str(cutoff)}
    return {name: value for name, value in query.items() if value is not None}


def _refusal(url: str, response: "httpx.Response") -> InputError | ServiceError:
    try:
        detail = msgspec.json.decode(response.content, type=ProblemOut).detail
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ServiceError(f"{url} does not answer as audiosim does: status {response.status_code}")
    if response.status_code < 500:
        return InputError(f"{url} refuses: {detail}")
    return ServiceError(f"{url} failed with status {response.status_code}: {detail}")


class RemoteEstimator:
    """The estimator of a service, for a pool that it has too.

    The judgments stay with the caller: each prediction sends them along, and changes nothing there.

    collection, model  their names there; None for the model that the service would use
    batch              number of pairs to ask for at once
    """

    def __init__(
        self, pool: Pool, client: Client, collection: str, model: str | None = None, batch: int = BATCH
    ) -> None:
        self._pool, self._client, self._collection, self._model = pool, client, collection, model
        self._batch = batch
        there = client.collection(collection, model, pool.cutoff)
        if there.pool_hash != pool.content_hash:
            raise InputError(
                f"collection {collection} at {client.url} is not the {pool.collection} here: "
                f"its top {there.cutoff} has {there.pool} pairs of {len(there.systems)} systems, pool hash "
                f"{there.pool_hash[:12]}; here {len(pool.pairs)} of {len(pool.systems)}, {pool.content_hash[:12]}"
            )
        self._there = there.model

    @property
    def name(self) -> str:
        return f"remote:{self._there.name}"

    @property
    def version(self) -> str | None:
        """The version of the service's model."""
        return self._there.version

    def predict(self, grades: Array) -> Prediction:
        pairs, told = self._pool.pairs, _told(self._pool, grades)
        starts = range(0, len(pairs), self._batch)
        answers = [self._ask(pairs[start : start + self._batch], told) for start in starts]
        names = [name for answer in answers for name in answer.models]
        codes = {name: code for code, name in enumerate(dict.fromkeys(names))}
        return Prediction(
            levels=np.array(answers[0].levels),
            probabilities=np.concatenate([np.array(answer.probabilities) for answer in answers]),
            models=tuple(str(name) for name in codes),
            model=np.array([codes[name] for name in names]),
        )

    def _ask(self, pairs: Sequence[Pair], told: Mapping[Pair, float]) -> PredictionsOut:
        answer = self._client.predict(
            self._collection, pairs, grades=told, probabilities=True, model=self._model, cutoff=self._pool.cutoff
        )
        if answer.model != self._there:
            raise ServiceError(f"{self._client.url} changed its model for {self._collection} while it was asked")
        if len(answer.probabilities or []) != len(pairs) or len(answer.models) != len(pairs) or None in answer.models:
            raise ServiceError(f"{self._client.url} does not answer for every pair that it was asked for")
        return answer


def _told(pool: Pool, grades: Array) -> dict[Pair, float]:
    judged = np.flatnonzero(~np.isnan(grades))
    return {pool.pairs[i]: grade for i, grade in zip(judged.tolist(), grades[judged].tolist(), strict=True)}


def remote(pool: Pool, text: str) -> RemoteEstimator:
    """The estimator that a service has for a pool.

    text  the service's root, such as http://127.0.0.1:8000, where the collection has the name it has here; or
          the address of a collection, such as http://127.0.0.1:8000/v1/collections/mirex2011; ?model=NAME picks
          another model than the service would
    """
    root, collection, model = _parse(text)
    return RemoteEstimator(pool, Client(root), pool.collection if collection is None else collection, model)


def _parse(text: str) -> tuple[str, str | None, str | None]:
    try:
        parts = urlsplit(text)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError:
        raise _not_an_address(text) from None
    prefix, collections, collection = parts.path.rstrip("/").partition(COLLECTIONS)
    named = collection[1:] if collections else None
    wrong_name = named is not None and (not named or "/" in named)
    if parts.scheme not in {"http", "https"} or not parts.netloc or wrong_name or set(query) - {"model"}:
        raise _not_an_address(text)
    root = f"{parts.scheme}://{parts.netloc}{prefix}"
    return root, None if named is None else unquote(named), query.get("model")


def _not_an_address(text: str) -> InputError:
    return InputError(
        f"remote needs the address of a service, such as http://127.0.0.1:8000, or of a collection there, "
        f"http://127.0.0.1:8000/v1/collections/NAME, either with ?model=NAME, got {text!r}"
    )
