"""Metrics for operators, in the text format of Prometheus: requests, predictions, campaigns, the process itself."""

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from audiosim.campaign import Standing
from service.limits import Gate
from service.observed import Seen
from service.served import Served

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
KEPT = 1024
ROUTE = ("route",)


@dataclass(frozen=True, slots=True)
class CampaignProgress:
    """Progress of the judging of a collection.

    judgments     made, over all assessors
    judged        pairs of the pool with at least one
    pool          pairs
    confidence    in the ranking when that was last computed; None where it never was
    """

    collection: str
    judgments: int
    judged: int
    pool: int
    confidence: float | None


class Progresses:
    """Progress of the judging of each collection, without computing anything: a scrape must not wait."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._confidence: dict[str, float] = {}

    def __call__(self) -> list[CampaignProgress]:
        return [self._progress(name, one.campaign.standing) for name, one in self._served.collections.items()]

    def _progress(self, name: str, standing: Standing) -> CampaignProgress:
        selection = standing.selection
        # The ranking of a state of the judgments is computed when it is first asked for, and kept.
        if "ranking" in vars(selection):
            self._confidence[name] = selection.confidence
        judged, pool = selection.judged, len(selection.pool.pairs)
        return CampaignProgress(name, standing.judgments, judged, pool, self._confidence.get(name))


class Metrics:
    """Counts what an application does; `text` is what a scrape gets.

    gate      of the predictions
    progress  of each collection, as it is known without computing anything
    """

    def __init__(self, gate: Gate, progress: Callable[[], Iterable[CampaignProgress]]) -> None:
        self._registry = registry = CollectorRegistry()
        whole = ("route", "method", "status")
        requests = Counter("audiosim_requests", "Requests answered", whole, registry=registry)
        seconds = Histogram("audiosim_request_seconds", "Time to answer", ROUTE, registry=registry, buckets=BOUNDS_S)
        self._request, self._time = lru_cache(KEPT)(requests.labels), lru_cache(KEPT)(seconds.labels)
        self._rows = Counter(
            "audiosim_predicted_rows", "Pairs and rows of features predicted", ROUTE, registry=registry
        )
        self._errors = Counter("audiosim_errors", "Requests that failed in the service", ROUTE, registry=registry)
        self._in_flight = Gauge("audiosim_requests_in_flight", "Requests being answered", registry=registry)
        at_work = Gauge("audiosim_predictions_at_work", "Predictions being computed", registry=registry)
        at_work.set_function(lambda: gate.at_work)
        waiting = Gauge("audiosim_predictions_waiting", "Predictions in the queue", registry=registry)
        waiting.set_function(lambda: gate.waiting)
        build = {"version": version("audiosim"), "python": platform.python_version()}
        Info("audiosim_build", "What is running", registry=registry).info(build)
        ProcessCollector(registry=registry)
        registry.register(_Campaigns(progress))

    def started(self) -> None:
        """A request came in."""
        self._in_flight.inc()

    def finished(self, seen: Seen) -> None:
        """A request was answered."""
        self._in_flight.dec()
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
    """The progress of each collection, read when a scrape asks."""

    def __init__(self, progress: Callable[[], Iterable[CampaignProgress]]) -> None:
        self._progress = progress

    def describe(self) -> list[Metric]:
        """Nothing: so registering reads no progress."""
        return []

    def collect(self) -> Iterator[Metric]:
        rows = list(self._progress())
        yield _gauge("audiosim_judgments", "Judgments made", {row.collection: row.judgments for row in rows})
        yield _gauge("audiosim_pool_pairs", "Pairs in the pool", {row.collection: row.pool for row in rows})
        shares = {row.collection: row.judged / row.pool for row in rows if row.pool}
        yield _gauge("audiosim_judged_share", "Share of the pool that is judged", shares)
        known = {row.collection: row.confidence for row in rows if row.confidence is not None}
        yield _gauge("audiosim_confidence", "Confidence in the ranking when it was last asked for", known)


def _gauge(name: str, documentation: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, documentation, labels=("collection",))
    for collection, value in values.items():
        family.add_metric([collection], value)
    return family
