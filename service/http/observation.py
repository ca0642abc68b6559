"""Observation of every request: gives it an identifier and its answer the common headers, and reports its outcome."""

import logging
import platform
import re
import sys
import time
import traceback
import uuid
from asyncio import CancelledError
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from threading import RLock
from typing import Literal, TextIO

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector
from prometheus_client.exposition import generate_latest
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from audiosim.campaign import CampaignState
from audiosim.service.http.limits import Gate
from audiosim.service.http.problems import RETRY_AFTER_S, refusal

LOG = logging.getLogger("service")
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
NO_ROUTE = "none"
REQUEST_ID = "X-Request-ID"
STOPPING = "the service was stopped before this was done; ask again once it is back"
GIVEN_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
# Pages may not run inline scripts, be framed, load from elsewhere, or be embedded elsewhere.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "media-src 'self' blob:; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
SECURITY = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]


@dataclass(frozen=True, slots=True)
class Seen:
    """One request and its answer.

    method  "other" for an unknown one
    route   template, such as /v1/models/{model}; "none" if no route matched
    status  of the answer; 499 if the client disconnected first
    bytes   of the answer's body
    rows    rows predicted
    remote  address of the client
    role    of the client's token, if tokens are used
    """

    request_id: str
    method: str
    route: str
    status: int
    seconds: float
    bytes: int
    rows: int
    remote: str
    role: str | None


class Observed:
    """Gives every request an identifier, or keeps the client's own if valid, and returns it with the answer.

    Every answer also gets the security headers for browsers, unless it has its own. An unexpected exception is a bug:
    it is logged under the identifier and answered with 500.

    finished   called after each request
    in_flight  context held while a request is answered
    """

    def __init__(
        self,
        app: ASGIApp,
        finished: Sequence[Callable[[Seen], object]] = (),
        in_flight: AbstractContextManager[object] | None = None,
    ) -> None:
        self._app, self._finished, self._in_flight = app, finished, in_flight or nullcontext()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = given if GIVEN_ID.fullmatch(given) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        own = [*SECURITY, (REQUEST_ID.lower().encode(), request_id.encode())]
        status, size, start = 499, 0, time.perf_counter()
        head = scope["method"] == "HEAD"  # answered as GET, without the body
        asked: Scope = {**scope, "method": "GET"} if head else scope

        async def watched(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message.get("headers", ())]
                message["headers"] = [*headers, *(one for one in own if one[0] not in {name for name, _ in headers})]
            elif head:
                return
            else:
                size += len(message.get("body", b""))
            await send(message)
            if head:  # at once, because a stream of changes has no end of its own
                await send({"type": "http.response.body"})

        try:
            with self._in_flight:
                await self._app(asked, receive, watched)
        except ClientDisconnect:
            LOG.info("request %s: the client went away", request_id)
        except CancelledError:  # the server was told to stop, and has waited for as long as it may
            LOG.info("request %s: cut off because the service stops", request_id)
            if status == 499:
                cut = refusal(scope, 503, STOPPING, {"Retry-After": str(RETRY_AFTER_S)})
                await cut(asked, receive, watched)
        except Exception:
            LOG.exception("request %s: %s %r failed", request_id, scope["method"], scope["path"])
            if status == 499:  # nothing is sent yet
                bug = refusal(scope, 500, "this is a bug in the service; its log has more under the request id")
                await bug(asked, receive, watched)
        finally:
            state, client = asked["state"], asked.get("client")
            seen = Seen(
                request_id=request_id,
                method=scope["method"] if scope["method"] in METHODS else "other",
                route=getattr(asked.get("route"), "path_format", NO_ROUTE),
                status=status,
                seconds=time.perf_counter() - start,
                bytes=size,
                rows=state.get("rows", 0),
                remote=client[0] if client else "",
                role=state.get("role"),
            )
            for tell in self._finished:
                tell(seen)


# The log: one line per request, as text or JSON, without tokens or bodies.


Form = Literal["text", "json"]
TURN = RLock()  # held while a line is stamped and written, so that lines are in order of time


def start_logging(form: Form) -> None:
    """Log to stderr from now on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.lock = TURN
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


def request_log(form: Form, stream: TextIO) -> Callable[[Seen], None]:
    """Function that writes a line for every request and its answer.

    It writes to the stream directly, because a line through `logging` takes a tenth of the time of a short request.
    """
    line = _json_line if form == "json" else _text_line

    def write(seen: Seen) -> None:
        with TURN:
            stream.write(line(seen, time.time()))
            stream.flush()

    return write


def _text_line(seen: Seen, moment: float) -> str:
    at = datetime.fromtimestamp(moment).isoformat(" ", "milliseconds").replace(".", ",")
    role = f" {seen.role}" if seen.role else ""
    return (
        f"{at} {_level(seen).upper()} service: request {seen.request_id}: {seen.method} {seen.route} {seen.status} "
        f"in {seen.seconds * 1000:.1f} ms, {seen.bytes} bytes to {seen.remote}{role}\n"
    )


def _json_line(seen: Seen, moment: float) -> str:
    fields = {"time": _utc(moment), "level": _level(seen), **msgspec.to_builtins(seen)}
    fields["ms"] = round(1000 * fields.pop("seconds"), 3)
    return msgspec.json.encode(fields).decode() + "\n"


class TextLines(logging.Formatter):
    """Every other record as a line of text, with the time at which it is written."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        now = time.time()
        record.created, record.msecs = now, 1000 * (now % 1)
        return super().format(record)


class JsonLines(logging.Formatter):
    """Every other record as one line of JSON, with the time at which it is written."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": _utc(time.time()),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["traceback"] = "".join(traceback.format_exception(*record.exc_info))
        return msgspec.json.encode(fields).decode()


def _level(seen: Seen) -> str:
    return "error" if seen.status >= 500 else "info"


def _utc(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat()


# Metrics for operators, in the text format of Prometheus: requests, predictions, campaigns, the process itself.


MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
KEPT = 1024
ROUTE = ("route",)
PROGRESS = {
    "judgments": "Judgments made",
    "pool_pairs": "Pairs in the pool",
    "judged_share": "Share of the pool that is judged",
    "confidence": "Confidence in the ranking when it was last asked for",
}


class Metrics:
    """Counters of an application; `text` is what Prometheus reads.

    gate    of the predictions
    states  of each campaign, by collection
    """

    def __init__(self, gate: Gate, states: Callable[[], Mapping[str, CampaignState]]) -> None:
        self._registry = registry = CollectorRegistry()
        whole = ("route", "method", "status")
        requests = Counter("audiosim_requests", "Requests answered", whole, registry=registry)
        seconds = Histogram("audiosim_request_seconds", "Time to answer", ROUTE, registry=registry, buckets=BOUNDS_S)
        self._request, self._time = lru_cache(KEPT)(requests.labels), lru_cache(KEPT)(seconds.labels)
        self._rows = Counter(
            "audiosim_predicted_rows", "Pairs and rows of features predicted", ROUTE, registry=registry
        )
        self._errors = Counter("audiosim_errors", "Requests that failed in the service", ROUTE, registry=registry)
        in_flight = Gauge("audiosim_requests_in_flight", "Requests being answered", registry=registry)
        self.in_flight = in_flight.track_inprogress()
        at_work = Gauge("audiosim_predictions_at_work", "Predictions being computed", registry=registry)
        at_work.set_function(lambda: gate.at_work)
        waiting = Gauge("audiosim_predictions_waiting", "Predictions in the queue", registry=registry)
        waiting.set_function(lambda: gate.waiting)
        build = {"version": version("audiosim"), "python": platform.python_version()}
        Info("audiosim_build", "What is running", registry=registry).info(build)
        ProcessCollector(registry=registry)
        self._states = states
        self._progress = {
            name: Gauge(f"audiosim_{name}", said, ("collection",), registry=registry) for name, said in PROGRESS.items()
        }

    def finished(self, seen: Seen) -> None:
        """Count an answered request."""
        self._request(seen.route, seen.method, str(seen.status)).inc()
        self._time(seen.route).observe(seen.seconds)
        if seen.rows:
            self._rows.labels(seen.route).inc(seen.rows)
        if seen.status >= 500:
            self._errors.labels(seen.route).inc()

    def text(self) -> bytes:
        """All current figures; none is computed for this, because Prometheus should not wait."""
        for collection, one in self._states().items():
            pairs = len(one.selection.pool.pairs)
            known: dict[str, float] = {"judgments": one.judgments, "pool_pairs": pairs}
            if pairs:
                known["judged_share"] = one.selection.judged / pairs
            # A state's ranking is computed on first request, and cached.
            if "ranking" in vars(one.selection) and (confidence := one.selection.confidence) is not None:
                known["confidence"] = confidence
            for name, value in known.items():
                self._progress[name].labels(collection).set(value)
        return generate_latest(self._registry)
