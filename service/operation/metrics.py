"""Metrics for operators, in the text format of Prometheus: requests, predictions, campaigns, the process itself."""

import platform
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector
from prometheus_client.exposition import generate_latest

from audiosim.campaign import CampaignState
from audiosim.service.entrance.limits import Gate
from audiosim.service.operation.observation import Seen

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
