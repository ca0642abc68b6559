"""Traces reach a collector by OTLP; a slow, broken or absent collector stops nothing."""

import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from audiosim.errors import InputError
from service.telemetry import Telemetry

trace_service = pytest.importorskip(
    "opentelemetry.proto.collector.trace.v1.trace_service_pb2", reason="opentelemetry: audiosim[telemetry]"
)

SMALL = "/v1/collections/small"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"  # the example of W3C Trace Context


@contextmanager
def receiver(delay_s=0.0, status=200):
    """A collector on this machine: its address and the received spans."""
    spans, done = [], threading.Event()

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            done.wait(delay_s)
            if self.headers.get("Content-Encoding") == "gzip":
                import gzip

                body = gzip.decompress(body)
            asked = trace_service.ExportTraceServiceRequest.FromString(body)
            for resource in asked.resource_spans:
                about = {one.key: one.value.string_value for one in resource.resource.attributes}
                spans.extend((about, span) for scope in resource.scope_spans for span in scope.spans)
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", spans
    finally:
        done.set()
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.slow
def test_each_request_is_a_span_below_the_callers(commanded, folders, tmp_path, wait_until):
    with (
        receiver() as (url, spans),
        commanded(folders[:1], tmp_path / "log", "--collector", url) as server,
        server.client() as client,
    ):
        client.get("/health/ready")
        asked = client.get(f"{SMALL}/campaign", headers={"traceparent": PARENT, "X-Request-ID": "mine-1"})
        assert asked.status_code == 200
        assert client.get("/v1/collections/none").status_code == 404
        wait_until(lambda: len(spans) == 2)
    (about, span), (_, missing) = spans
    assert about["service.name"] == "audiosim"
    assert span.name == "GET /v1/collections/{collection}/campaign"
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == tuple(PARENT.split("-")[1:3])
    said = {one.key: one.value.string_value or one.value.int_value for one in span.attributes}
    assert (said["http.route"], said["http.response.status_code"]) == ("/v1/collections/{collection}/campaign", 200)
    assert said["audiosim.request_id"] == "mine-1"
    assert span.end_time_unix_nano > span.start_time_unix_nano
    assert missing.parent_span_id == b""


@pytest.mark.slow
@pytest.mark.parametrize("collector", ["absent", "slow", "broken"])
def test_a_collector_that_does_not_answer_stops_nothing(commanded, folders, tmp_path, collector):
    with receiver(600.0 if collector == "slow" else 0.0, 500 if collector == "broken" else 200) as (url, _):
        url = "http://127.0.0.1:9" if collector == "absent" else url
        with commanded(folders[:1], tmp_path / "log", "--collector", url) as server, server.client() as client:
            for _ in range(50):
                assert client.get(f"{SMALL}/status").status_code == 200
            assert server.says("traces cannot be delivered, and are dropped")
            assert client.get("/health/ready").status_code == 200
            assert server.log.read_text(encoding="utf-8").count("cannot be delivered") == 1
            assert server.stop() == 0  # before the collector answers, after ten minutes


@pytest.mark.slow
def test_neither_it_nor_what_is_dear_is_imported_while_it_is_off(tmp_path):
    """scipy.stats alone would delay a start by a second."""
    dear = "('opentelemetry.sdk', 'scipy.stats', 'scipy.optimize', 'httpx', 'pandas', 'matplotlib')"
    code = f"import sys, service.app; print([name for name in sys.modules if name.startswith({dear})])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == "[]"


def test_an_address_that_is_none_is_refused():
    with pytest.raises(
        InputError, match="a collector is an address such as http://localhost:4318, got 'localhost:4318'"
    ):
        Telemetry("localhost:4318")


@pytest.mark.slow
def test_without_its_extra_a_collector_is_refused_in_one_line(tmp_path):
    code = (
        "import sys; sys.modules['opentelemetry.sdk'] = None; from service.telemetry import Telemetry; "
        "Telemetry('http://localhost:4318')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stderr.strip().endswith("audiosim[telemetry] installs it")
