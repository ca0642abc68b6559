"""Metrics for operators, in the text format of Prometheus: requests, predictions, campaigns, the process itself."""

import platform
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from audiosim.campaign import CampaignState
from service.limits import Gate
from service.observed import Seen

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
KEPT = 1024
ROUTE = ("route",)


class Metrics:
    """Counts what an application does; `text` is what a scrape gets.

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
        registry.register(_Campaigns(states))

    def finished(self, seen: Seen) -> None:
        """A request was answered."""
        self._request(seen.route, seen.method, str(seen.status)).inc()
        self._time(seen.route).observe(seen.seconds)
        if seen.rows:
            self._rows.labels(seen.route).inc(seen.rows)
        if seen.status >= 500:
            self._errors.labels(seen.route).inc()

    def text(self) -> bytes:
        """All figures now."""
        return generate_latest(self._registry)


class _Campaigns(Collector):
    """Progress of the judging of each collection, read when a scrape asks; nothing is computed, as it must not wait."""

    def __init__(self, states: Callable[[], Mapping[str, CampaignState]]) -> None:
        self._states = states
        self._confidence: dict[str, float] = {}

    def describe(self) -> list[Metric]:
        """Nothing: so registering reads no progress."""
        return []

    def collect(self) -> Iterator[Metric]:
        now = self._states()
        # The ranking of a state of the judgments is computed when it is first asked for, and kept.
        known = {name: one.selection.confidence for name, one in now.items() if "ranking" in vars(one.selection)}
        self._confidence |= known
        pools = {name: len(one.selection.pool.pairs) for name, one in now.items()}
        shares = {name: now[name].selection.judged / pool for name, pool in pools.items() if pool}
        for name, documentation, values in (
            ("judgments", "Judgments made", {name: one.judgments for name, one in now.items()}),
            ("pool_pairs", "Pairs in the pool", pools),
            ("judged_share", "Share of the pool that is judged", shares),
            ("confidence", "Confidence in the ranking when it was last asked for", self._confidence),
        ):
            family = GaugeMetricFamily(f"audiosim_{name}", documentation, labels=("collection",))
            for collection, value in values.items():
                family.add_metric([collection], value)
            yield family
