"""Backups of campaign logs as JSON Lines: written, verified and restored by their hash chains.

Each campaign has a header line with the number and the digest of its last event, then its events, each with its digest.
The last line of the file counts all events, so that a truncated file is recognised.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from audiosim.campaign.anonymous_log import anonymous_event, draw_names
from audiosim.campaign.chain import FIRST, link
from audiosim.campaign.database import DatabaseStore
from audiosim.campaign.event import Event
from audiosim.campaign.schema import campaigns_in, check_upgraded
from audiosim.errors import FormatError, InputError

FORMAT = "audiosim-log/1"
FIELDS = tuple(Event.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class Archived:
    """The log of one campaign in brief: its collection, number of events, and digest of the last one."""

    collection: str
    events: int
    digest: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values of the fields."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Logged:
    """The complete log of one campaign.

    about, rules  further fields of its database row, as stored
    """

    archived: Archived
    about: str
    rules: str
    events: tuple[Event, ...]


def back_up(url: str, path: str | Path, without: Iterable[str] = ()) -> list[Archived]:
    """Write the logs of all campaigns of a database to a file, while it serves; return their summaries.

    The file is written completely or not at all. It contains no tokens.

    without  people whom the file is not to name; see `anonymous_log`
    """
    target = Path(path)
    if target.exists():
        raise InputError(f"{target} exists already; a backup never replaces a file")
    partial = target.with_name(f"{target.name}.partial")
    logs = _anonymous_logs(read_database(url), without)
    # A file under its final name is complete: a kill or a full disk leaves a `.partial`, never a short backup.
    with partial.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(line, ensure_ascii=False)}\n" for line in _lines(logs))
    partial.rename(target)
    return [log.archived for log in logs]


def verify(source: str) -> list[Archived]:
    """The campaigns of a database, by its URL, or of a backup; an error if any line was altered."""
    logs = read_database(source) if "://" in source else read_file(source)
    return [log.archived for log in logs]


def restore(path: str | Path, url: str) -> list[Archived]:
    """Write the logs of a backup to a database that has none of these campaigns, then read and compare them."""
    logs = read_file(path)
    check_upgraded(url)
    for log in logs:
        with closing(DatabaseStore(url, log.archived.collection)) as store:
            # One transaction per campaign, and only onto an empty log: otherwise both chains would break.
            if store.append_all(log.events, 0) is None:
                raise InputError(f"the database holds a campaign of {log.archived.collection} already")
            store.describe(log.about, log.rules)
    # Read back from the database, not from what was written: digests also cover what the driver and the disk did.
    found = {log.archived.collection: log.archived for log in read_database(url)}
    for log in logs:
        if found.get(log.archived.collection) != log.archived:
            raise InputError(
                f"the campaign of {log.archived.collection} differs from the backup: another process wrote to it"
            )
    return [log.archived for log in logs]


def read_database(url: str) -> list[Logged]:
    """The logs of all campaigns of a database, each verified."""
    found = []
    for name, about, rules in campaigns_in(url):
        with closing(DatabaseStore(url, name, reading=True)) as store:
            events = tuple(event for _, event in store.read())
            found.append(Logged(Archived(name, len(events), store.head.digest), about, rules, events))
    return found


def read_file(path: str | Path) -> list[Logged]:
    """The logs in a backup, each verified."""
    path = Path(path)
    rows = _rows(path)
    head = next(rows, (1, {}))[1]
    if head.get("format") != FORMAT:
        raise FormatError(path, 1, f"expected a backup of format {FORMAT}")
    logs = [_read_one(path, rows) for _ in range(int(head.get("campaigns", 0)))]
    number, end = next(rows, (0, {}))
    if end != {"end": sum(log.archived.events for log in logs)} or next(rows, None) is not None:
        raise FormatError(path, max(number, 1), "expected the end of the backup here: it was cut off, or added to")
    return logs


def _read_one(path: Path, rows: Iterator[tuple[int, Mapping[str, Any]]]) -> Logged:
    line, head = next(rows, (1, {}))
    if set(head) != {"collection", "events", "digest", "about", "rules"}:
        raise FormatError(path, line, "expected a campaign after this line: the backup was cut off")
    events, digest = [], FIRST
    for number in range(1, head["events"] + 1):
        line, row = next(rows, (line, {}))
        if set(row) != {"number", "digest", *FIELDS}:
            raise FormatError(path, line, f"expected event {number} of {head['collection']}: the backup was cut off")
        event = Event(**{name: row[name] for name in FIELDS})
        digest = link(digest, number, event)
        if row["number"] != number or row["digest"] != digest:
            raise FormatError(path, line, f"event {number} of {head['collection']} was altered after it was written")
        events.append(event)
    if digest != head["digest"]:
        raise FormatError(path, line, f"the log of {head['collection']} does not end as its campaign says")
    return Logged(Archived(head["collection"], len(events), digest), head["about"], head["rules"], tuple(events))


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    with path.open(encoding="utf-8") as file:
        for number, text in enumerate(file, start=1):
            try:
                row = json.loads(text)
            except ValueError:
                raise FormatError(
                    path, number, "not JSON: the backup was cut off, or the file is not a backup"
                ) from None
            if not isinstance(row, dict):
                raise FormatError(path, number, "expected an object")
            yield number, row


def _anonymous_logs(logs: Sequence[Logged], without: Iterable[str]) -> list[Logged]:
    """Logs that do not name these people, each with its new digest; without people as they are."""
    drawn = draw_names([log.events for log in logs], without)
    if not drawn:
        return list(logs)
    found = []
    for log in logs:
        events, digest = tuple(anonymous_event(event, drawn) for event in log.events), FIRST
        for number, event in enumerate(events, start=1):
            digest = link(digest, number, event)
        found.append(replace(log, archived=replace(log.archived, digest=digest), events=events))
    return found


def _lines(logs: Iterable[Logged]) -> Iterator[Mapping[str, Any]]:
    logs = list(logs)
    yield {"format": FORMAT, "campaigns": len(logs)}
    for log in logs:
        yield log.archived.to_dict() | {"about": log.about, "rules": log.rules}
        digest = FIRST
        for number, event in enumerate(log.events, start=1):
            digest = link(digest, number, event)
            yield {"number": number, **asdict(event), "digest": digest}
    yield {"end": sum(log.archived.events for log in logs)}
