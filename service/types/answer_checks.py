"""Checks of answers from an untrusted service: of their size, their duration, and the validity of predictions."""

import socket
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from threading import Event, Timer
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import msgspec
import numpy as np

from audiosim.collection.values import Pair, Scale
from audiosim.errors import InputError, ServiceError
from audiosim.joint.posterior import Kinds, of_words
from audiosim.service.types.predictions import PredictionsOut, ProblemOut
from audiosim.stats.arrays import Integers

if TYPE_CHECKING:
    import httpx

MOST_BYTES = 2**28  # of one answer, unpacked
LONGEST_S = 600.0  # limit for one answer
BEGINNING_S = 90.0  # limit for its head
PATIENCE_S, SLOWEST = 20.0, 20_000  # time allowed for an answer: so many seconds, plus one per so many bytes
LONGEST_PAUSE_S = 10.0
LONGEST_WORDS = 10_000  # characters of the evidence of a pair
SUMMING = 1e-6  # tolerance for the sum of a row of probabilities
CLOSE = 1e-6  # tolerance for an expectation, as a share of the highest grade


def read_answer(
    response: "httpx.Response", url: str, most_bytes: int = MOST_BYTES, longest_s: float = LONGEST_S
) -> bytes:
    """Body of a streamed answer; ServiceError if it is too long or too slow."""
    chunks, taken, start = [], 0, time.monotonic()
    for chunk in response.iter_bytes():
        taken += len(chunk)
        if taken > most_bytes:
            raise ServiceError(f"{url} sends more than the {most_bytes:,} bytes that an answer may have")
        spent = time.monotonic() - start
        if spent > longest_s:
            raise _too_slow(url, longest_s)
        if spent > PATIENCE_S + taken / SLOWEST:
            raise ServiceError(f"{url} sends {taken / spent:,.0f} bytes a second, expected {SLOWEST:,} at least")
        chunks.append(chunk)
    return b"".join(chunks)


class Deadline:
    """Connections of a client, closed when an answer takes too long.

    httpx limits only the time between two pieces of an answer, so a head that arrives byte by byte would never end.

    longest_s, most_bytes  of one answer
    """

    def __init__(self, http: "httpx.Client", url: str, longest_s: float, most_bytes: int) -> None:
        self._http, self._url, self._longest_s, self._most_bytes = http, url, longest_s, most_bytes
        self._sockets: WeakSet[socket.socket] = WeakSet()

    def ask(self, method: str, path: str, **what: Any) -> "tuple[httpx.Response, bytes]":
        """Send a request; return the answer and its body."""
        import httpx

        late = Event()
        timers = [Timer(limit, self._cut, [late]) for limit in (self._longest_s, min(self._longest_s, BEGINNING_S))]
        for timer in timers:
            timer.daemon = True
            timer.start()
        try:
            with self._http.stream(method, path, extensions={"trace": self._note}, **what) as response:
                timers[1].cancel()
                body = read_answer(response, self._url, self._most_bytes, self._longest_s)
        except httpx.TransportError:
            if not late.is_set():
                raise
        finally:
            for timer in timers:
                timer.cancel()
        if late.is_set():  # even if the truncated body looks complete
            raise _too_slow(self._url, self._longest_s)
        return response, body

    def _note(self, event: str, info: dict[str, Any]) -> None:
        """Remember a new connection, as reported by httpx to the `trace` extension of a request."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._sockets.add(info["return_value"].get_extra_info("socket"))

    def _cut(self, late: Event) -> None:
        late.set()
        for one in list(self._sockets):
            with suppress(OSError):  # already closed
                one.shutdown(socket.SHUT_RDWR)


def _too_slow(url: str, longest_s: float) -> ServiceError:
    return ServiceError(f"{url} takes more than the {longest_s:g} s that an answer may take")


def check_predictions(answer: PredictionsOut, pairs: Sequence[Pair], scale: Scale, url: str) -> None:
    """Raise a ServiceError if an answer cannot be valid for these pairs.

    Levels must rise within the scale; each row of probabilities must be 0 or more and sum to 1; expectations must lie
    within the levels, and a variance must be at most that of the two end levels.
    """
    levels = np.array(answer.levels or [], dtype=float)
    _check_lengths(answer, len(pairs), url)
    if not len(levels) or np.any(np.diff(levels) <= 0) or levels[0] < scale.levels[0] or levels[-1] > scale.maximum:
        raise ServiceError(f"{url} gives the levels {levels.tolist()}, expected rising ones within the scale {scale}")
    _check_probabilities(answer, pairs, len(levels), url)
    most = (levels[-1] - levels[0]) ** 2 / 4
    for pair, status, mean, variance in zip(pairs, answer.status, answer.expectation, answer.variance, strict=True):
        close, spread = CLOSE * scale.maximum, CLOSE * scale.maximum**2
        right = mean is not None and variance is not None and levels[0] - close <= mean <= levels[-1] + close
        if status == "predicted" and not (right and 0 <= (variance or 0) <= most + spread):
            raise ServiceError(
                f"{url} gives {_named(pair)} expectation {mean} and variance {variance}, "
                f"expected {levels[0]:g} to {levels[-1]:g} and 0 to {most:g}"
            )


def _check_lengths(answer: PredictionsOut, n: int, url: str) -> None:
    columns = ("expectation", "variance", "status", "models", "probabilities")
    lengths = {name: len(getattr(answer, name) or ()) for name in columns}
    if set(lengths.values()) != {n} or None in answer.models or len(answer.evidence or answer.models) != n:
        raise ServiceError(f"{url} lacks answers for some of the requested pairs")
    check_evidence(set(answer.evidence or ()) - {None}, url)


def spoken_in(answers: Sequence[PredictionsOut]) -> tuple[tuple[Kinds, ...], Integers | None]:
    """Evidence used, and its index for each row of some answers; none if an answer does not give it."""
    said = [words for answer in answers for words in answer.evidence or [None] * len(answer.models)]
    if None in said:
        return (), None
    words, spoke = np.unique([text or "" for text in said], return_inverse=True)
    return tuple(map(of_words, words.tolist())), spoke


def check_evidence(words: Iterable[str | None], url: str) -> None:
    """Raise a ServiceError unless evidence is named by short printable texts."""
    for text in words:
        if text is None or len(text) > LONGEST_WORDS or not text.isprintable():
            raise ServiceError(
                f"{url} names evidence {text!r:.80}, expected up to {LONGEST_WORDS} printable characters"
            )


def _check_probabilities(answer: PredictionsOut, pairs: Sequence[Pair], levels: int, url: str) -> None:
    rows = [row for row in answer.probabilities or [] if row is not None and len(row) == levels]
    if len(rows) < len(pairs):
        raise ServiceError(f"{url} must give {levels} probabilities for each of {len(pairs)} pairs, one for each level")
    probabilities = np.array(rows, dtype=float).reshape(len(pairs), levels)
    right = np.all(probabilities >= 0, axis=1) & (np.abs(probabilities.sum(axis=1) - 1) <= SUMMING)
    if not np.all(right):
        place = int(np.argmin(right))
        row = probabilities[place]
        raise ServiceError(
            f"{url} gives {_named(pairs[place])} probabilities of least {row.min():g} and sum {row.sum():g}, "
            f"expected 0 or more and sum 1"
        )


def _named(pair: Pair) -> str:
    return f"document {pair.document} for query {pair.query}"


def refused_body(url: str, status: int, body: bytes) -> InputError | ServiceError:
    """Error for an answer with an unexpected status."""
    try:
        detail = msgspec.json.decode(body, type=ProblemOut).detail
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ServiceError(f"{url} does not answer as audiosim does: status {status}")
    if status < 500:
        return InputError(f"{url} refuses: {detail}")
    return ServiceError(f"{url} failed with status {status}: {detail}")


def pause_of(response: "httpx.Response", pause_s: float) -> float:
    """Time to wait before retrying a busy service: as long as its answer says, within a limit."""
    said = response.headers.get("retry-after", "")
    return min(LONGEST_PAUSE_S, max(pause_s, float(said))) if said.isdecimal() else pause_s
