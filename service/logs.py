"""The log: one line per request, to be read by a person or, as JSON, by a program; no tokens, no bodies."""

import logging
import sys
import time
import traceback
from datetime import UTC, datetime
from typing import Literal, TextIO

import msgspec

from service.observed import Seen

Form = Literal["text", "json"]


def start_logging(form: Form) -> None:
    """Log to stderr from here on."""
    handler = logging.StreamHandler(sys.stderr)
    text = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JsonLines() if form == "json" else text)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


class RequestLog:
    """Says of every request what was asked and answered.

    Writes to the stream itself: by way of `logging` a line takes a tenth of the time of a short request.
    """

    def __init__(self, form: Form, stream: TextIO) -> None:
        self._line = json_line if form == "json" else text_line
        self._stream = stream

    def __call__(self, seen: Seen) -> None:
        self._stream.write(self._line(seen, time.time()))
        self._stream.flush()


def text_line(seen: Seen, moment: float) -> str:
    """A request as a person reads it, in the form of the other lines."""
    at = datetime.fromtimestamp(moment).isoformat(" ", "milliseconds").replace(".", ",")
    role = f" {seen.role}" if seen.role else ""
    return (
        f"{at} {_level(seen).upper()} service: request {seen.request_id}: {seen.method} {seen.route} {seen.status} "
        f"in {seen.seconds * 1000:.1f} ms, {seen.bytes} bytes to {seen.remote}{role}\n"
    )


def json_line(seen: Seen, moment: float) -> str:
    """A request as a program reads it."""
    fields = {"time": _utc(moment), "level": _level(seen), **msgspec.to_builtins(seen)}
    fields["ms"] = round(1000 * fields.pop("seconds"), 3)
    return msgspec.json.encode(fields).decode() + "\n"


class JsonLines(logging.Formatter):
    """Every other record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": _utc(record.created),
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
