"""Traces for OpenTelemetry: a span for each request, sent to a collector in the background.

Nothing waits for the collector: if it is slow or unreachable, spans are dropped, and this is logged once.
"""

import logging
import os
import threading
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

import audiosim
from audiosim.errors import InputError

LOG = logging.getLogger("service")
SEND_S = 3.0  # limit for a collector to take a batch, even when the service stops
EVERY_MS = 1000
MOST_WAITING = 2048  # spans; more are dropped
UNTRACED = ("/health/", "/metrics")  # requested every few seconds, and not worth tracing
PARENTS = (b"traceparent", b"tracestate")  # of W3C Trace Context


class Telemetry:
    """Export of spans to a collector, by OTLP over HTTP; OTEL_* variables set attributes and sampling.

    url  of the collector, such as http://localhost:4318
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"a collector is an address such as http://localhost:4318, got {url!r:.80}")
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError as error:
            raise InputError(f"cannot send traces: {error}; audiosim[telemetry] installs it") from None
        about = {
            "service.name": os.environ.get("OTEL_SERVICE_NAME", "audiosim"),
            "service.version": audiosim.__version__,
        }
        sent = _reporting(OTLPSpanExporter(f"{url.rstrip('/')}/v1/traces", timeout=SEND_S), url)
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # it repeats the same messages
        self._provider = TracerProvider(resource=Resource.create(about))
        self._provider.add_span_processor(
            BatchSpanProcessor(sent, MOST_WAITING, EVERY_MS, export_timeout_millis=1000 * SEND_S)
        )

    def traced(self, app: ASGIApp) -> ASGIApp:
        """The application with a span for each request."""
        return Traced(app, self._provider.get_tracer("audiosim", audiosim.__version__))

    def stop(self) -> None:
        """Send the remaining spans, if that takes only a moment."""
        last = threading.Thread(target=self._provider.shutdown, daemon=True)
        last.start()
        last.join(SEND_S)


class Traced:
    """An application with a span for each request, as a child of the caller's span if there is one."""

    def __init__(self, app: ASGIApp, tracer: Any) -> None:
        from opentelemetry.trace import SpanKind, StatusCode
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._app, self._tracer = app, tracer
        self._server, self._error = SpanKind.SERVER, StatusCode.ERROR
        self._parent = TraceContextTextMapPropagator().extract

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(UNTRACED):
            await self._app(scope, receive, send)
            return
        carried = {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in PARENTS}
        method, status = scope["method"], 499

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with self._tracer.start_as_current_span(method, self._parent(carried), self._server) as span:
            span.set_attributes(
                {"http.request.method": method, "url.path": scope["path"], "url.scheme": scope["scheme"]}
            )
            try:
                await self._app(scope, receive, watched)
            finally:
                route = getattr(scope.get("route"), "path_format", None)
                if route is not None:
                    span.update_name(f"{method} {route}")
                    span.set_attribute("http.route", route)
                request_id = scope.get("state", {}).get("request_id", "")
                span.set_attributes({"http.response.status_code": status, "audiosim.request_id": request_id})
                if status >= 500:
                    span.set_status(self._error)


def _reporting(exporter: Any, url: str) -> Any:
    """An exporter that logs when spans are no longer delivered, and when they are again."""
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

    class Reporting(SpanExporter):
        """The exporter, with its failures in the log."""

        delivered = True

        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            result: SpanExportResult = exporter.export(spans)
            delivered = result is SpanExportResult.SUCCESS
            if delivered is not self.delivered:
                said = "traces are delivered again" if delivered else "traces cannot be delivered, and are dropped"
                LOG.warning("collector %s: %s", url, said)
            self.delivered = delivered
            return result

        def shutdown(self) -> None:
            exporter.shutdown()

    return Reporting()
