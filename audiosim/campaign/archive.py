"""Backups of campaign logs as JSON Lines: written, verified and restored by their hash chains.

Each campaign has a header line with the number and the digest of its last event, then its events, each with its digest.
The models that services keep beside the campaigns follow, each in a line with its digest. The last line of the file
counts all events, so that a truncated file is recognised.

Some people may be left unnamed: their answers stand under random names, and their own words are removed. A line keeps
its number, so that references to it remain correct. From the first changed line on, all digests differ: it is another
log, for another database. Keys of lines by or about these people become hashes, because clients choose keys. Texts by
other people are kept, whatever they contain: `texts_naming` finds those with a name.
"""

import hashlib
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from msgspec import structs

from audiosim.campaign.database import DatabaseStore
from audiosim.campaign.engine import make_private, open_engine, reporting
from audiosim.campaign.event import ASIDE, MODEL, QUESTIONNAIRE, WORDS, Event, Plain
from audiosim.campaign.schema import TIMEOUT_S, campaigns_in, check_upgraded, locked, opened
from audiosim.campaign.store import FIRST, link
from audiosim.campaign.tables import KeptModel, has_kept_models, keep_model_row, kept_content, kept_models
from audiosim.errors import FormatError, InputError
from audiosim.results.value import Result, Row, Value, listed
from audiosim.tables.text import check_output_file
from audiosim.text import NOTES, counted, reason

DRAWN, DRAWN_BYTES = "anonymous-", 8
SECRET = secrets.token_bytes(32)  # keeps hashes from being compared with those of guessed keys
NEEDED = ("answer", "document_b", "moment", "why")  # details required by the kind of event
NOT_KEPT = "not kept"


def draw_names(logs: Sequence[Iterable[Event]], without: Iterable[str]) -> dict[str, str]:
    """A drawn name for each person, the same in all logs; an error if a person is in no log."""
    known = {name for events in logs for event in events for name in (event.assessor, event.judge)}
    drawn = {}
    for name in without:
        if not name or name not in known:
            raise InputError(f"no log names {name!r:.80}: expected a person who has judged")
        drawn[name] = f"{DRAWN}{secrets.token_hex(DRAWN_BYTES)}"
    return drawn


def anonymous_event(event: Event, drawn: Mapping[str, str]) -> Event:
    """An event without these people's names, and without texts by or about them; numbers and grades stay.

    drawn  names that replace theirs
    """
    if event.assessor not in drawn and event.judge not in drawn:
        return event
    assessor = drawn.get(event.assessor, event.assessor)
    key = event.key and hashlib.blake2b(event.key.encode(), key=SECRET, digest_size=16).hexdigest()
    if event.kind in ASIDE:
        return replace(event, assessor=assessor, key=key, details={"judge": drawn.get(event.judge, event.judge)})
    return replace(event, assessor=assessor, key=key, details=_without_words(event))


def texts_naming(logs: Iterable[Iterable[Event]], name: str) -> int:
    """Number of lines with a text or key that contains a name, in any case of its letters."""
    sought = name.casefold()
    return sum(any(sought in text.casefold() for text in _texts(event)) for events in logs for event in events)


def _texts(event: Event) -> list[str]:
    if event.assessor.startswith(DRAWN) or event.judge.startswith(DRAWN):
        return []  # random letters and hashes carry no information
    return [event.key, *event.details, *(value for value in event.details.values() if isinstance(value, str))]


def _without_words(event: Event) -> dict[str, Plain]:
    if event.kind == QUESTIONNAIRE:
        return {"moment": event.details["moment"]}
    if event.kind == WORDS:  # texts of the collection, whoever wrote them
        return {name: text for name, text in event.details.items() if name != "reason"}
    if event.kind == MODEL:
        return {"model": event.details["model"]}
    kept = {name: value for name, value in event.details.items() if name in NEEDED or not isinstance(value, str)}
    return kept | ({"reason": NOT_KEPT} if event.kind == "cannot" else {})


FORMAT, WITH_MODELS = "audiosim-log/1", "audiosim-log/2"  # programs without kept models refuse a file that has some


@dataclass(frozen=True, slots=True)
class Archived(Value):
    """The log of one campaign in brief: its collection, number of events, and digest of the last one."""

    collection: str
    events: int
    digest: str


@dataclass(frozen=True)
class Archives(Result):
    """The campaigns of a database or a backup, in brief."""

    _index: ClassVar = ("collection",)
    _columns: ClassVar = ("collection", "events", "digest")

    campaigns: tuple[Archived, ...]

    def __repr__(self) -> str:
        names = listed([one.collection for one in self.campaigns])
        return f"{counted(len(self.campaigns), 'campaign')}: {names}" if names else "there are no campaigns"

    def rows(self) -> list[Row]:
        """One row per campaign: its collection, number of events, and digest of the last one."""
        return [one.to_dict() for one in self.campaigns]


@dataclass(frozen=True, eq=False)
class Logged:
    """The complete log of one campaign.

    about, rules  further fields of its database row, as stored
    """

    archived: Archived
    about: str
    rules: str
    events: tuple[Event, ...]


class ArchivedModel(NamedTuple):
    """A model that services keep beside their campaigns, and its file as text."""

    model: KeptModel
    content: str


class Archive(NamedTuple):
    """Contents of a backup: the logs and the kept models of a database."""

    logs: list[Logged]
    models: list[ArchivedModel]

    @property
    def campaigns(self) -> Archives:
        """The campaigns in brief."""
        return Archives(tuple(log.archived for log in self.logs))


def backup(db: str, output: str | Path, without: Sequence[str] = ()) -> Archives:
    """Back up all campaign logs and kept models of a database, even while a service uses it; tokens are left out.

    The file is written completely or not at all. A person to be left out gets a random name, and the texts that they
    wrote are removed. A note counts the lines by other people that still contain the name. To finish the removal, stop
    the services, restore the file into a new database, serve that one, and delete the old one with its backups.

    Example: `audiosim backup --db sqlite:///demo/campaign.db -o monday.jsonl`

    db       address of the database
    output   file to write; must not exist
    without  person to leave unnamed in the file; may be repeated
    """
    target = Path(output)
    if target.exists():
        raise InputError(f"{target} exists already; a backup never replaces a file, expected a new name")
    check_output_file(target)
    partial = target.with_name(f"{target.name}.partial")
    found = _anonymous(read_database(db), without)
    # A file under its final name is complete: a kill leaves a `.partial`, never a short backup.
    try:
        partial.unlink(missing_ok=True)  # one of a killed backup
        make_private(partial)
        with partial.open("w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(line, ensure_ascii=False)}\n" for line in _lines(found))
        partial.rename(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise InputError(f"{target}: cannot be written: {reason(error)}") from None
    for name in without:
        left = texts_naming([log.events for log in found.logs], name)
        what, verb = counted(left, "line") if left else "no line", "contain" if left > 1 else "contains"
        NOTES.info("%s of %s still %s %r", what, output, verb, name)
    return found.campaigns


def verify(source: str) -> Archives:
    """Check every line of a backup or a database against its hash chain.

    Example: `audiosim verify monday.jsonl`, `audiosim verify sqlite:///demo/campaign.db`

    source  a backup, or the address of a database
    """
    return (read_database(source) if "://" in source else read_file(source)).campaigns


def restore(backup: str | Path, db: str) -> Archives:
    """Restore the logs and kept models of a backup into a database that lacks these campaigns, and verify them.

    Example: `audiosim restore monday.jsonl --db sqlite:///restored.db`

    backup  a backup
    db      address of the database
    """
    kept = read_file(backup)
    check_upgraded(db)
    _restore_models(db, kept.models)  # first, so that no campaign exists without its model
    for log in kept.logs:
        with closing(DatabaseStore(db, log.archived.collection)) as store:
            # One transaction per campaign, and only onto an empty log: otherwise both chains would break.
            if store.append_all(log.events, 0) is None:
                raise InputError(f"the database holds a campaign of {log.archived.collection} already")
            store.describe(log.about, log.rules)
    # Read back from the database, so that the digests also cover errors of the driver and the disk.
    found = {one.collection: one for one in read_database(db).campaigns.campaigns}
    for one in kept.campaigns.campaigns:
        if found.get(one.collection) != one:
            raise InputError(f"the campaign of {one.collection} differs from the backup: another process wrote to it")
    return kept.campaigns


def _restore_models(url: str, models: Sequence[ArchivedModel]) -> None:
    """Keep the models of a backup in a database, all or none; existing ones are left unchanged."""
    if not models:
        return
    engine = open_engine(url, TIMEOUT_S)
    try:
        with reporting(engine), locked(engine) as connection:
            known = {one.name: one for one in kept_models(connection)} if has_kept_models(connection) else {}
            for model, content in models:
                there = known.get(model.name)
                if there is None:
                    keep_model_row(connection, model, content)
                elif there.version != model.version:
                    raise InputError(f"the database keeps another model called {model.name}: delete it there first")
    finally:
        engine.dispose()


def read_database(url: str) -> Archive:
    """The logs of all campaigns of a database, each verified, and its kept models."""
    found = []
    for name, about, rules in campaigns_in(url):
        with closing(DatabaseStore(url, name, reading=True)) as store:
            events = tuple(event for _, event in store.read())
            found.append(Logged(Archived(name, len(events), store.head.digest), about, rules, events))
    # Models are read last, to include any that was kept and chosen while the logs were read.
    with opened(url, reading=True) as engine, engine.connect() as connection:
        known = kept_models(connection) if has_kept_models(connection) else []
        return Archive(found, [ArchivedModel(one, kept_content(connection, one.name)) for one in known])


def read_file(path: str | Path) -> Archive:
    """The logs in a backup and its kept models, each verified."""
    path = Path(path)
    rows = _rows(path)
    head = next(rows, (1, {}))[1]
    if head.get("format") not in (FORMAT, WITH_MODELS):
        raise FormatError(path, 1, f"expected a backup of format {FORMAT} or {WITH_MODELS}")
    logs = [_read_one(path, rows) for _ in range(_count(path, 1, head.get("campaigns", 0)))]
    models = [_read_model(path, rows) for _ in range(_count(path, 1, head.get("models", 0)))]
    number, end = next(rows, (0, {}))
    if end != {"end": sum(log.archived.events for log in logs)} or next(rows, None) is not None:
        raise FormatError(path, max(number, 1), "expected the end of the backup here: it was cut off or extended")
    return Archive(logs, models)


def _read_one(path: Path, rows: Iterator[tuple[int, Mapping[str, Any]]]) -> Logged:
    line, head = next(rows, (1, {}))
    if set(head) != {"collection", "events", "digest", "about", "rules"}:
        raise FormatError(path, line, "expected a campaign after this line: the backup was cut off")
    events, digest = [], FIRST
    for number in range(1, _count(path, line, head["events"]) + 1):
        line, row = next(rows, (line, {}))
        if set(row) != {"number", "digest", *Event.__slots__}:
            raise FormatError(path, line, f"expected event {number} of {head['collection']}: the backup was cut off")
        event = Event(**{name: row[name] for name in Event.__slots__})
        digest = link(digest, number, event)
        if row["number"] != number or row["digest"] != digest:
            raise FormatError(path, line, f"event {number} of {head['collection']} was altered after it was written")
        events.append(event)
    if digest != head["digest"]:
        raise FormatError(path, line, f"the log of {head['collection']} does not end with the event in its header")
    return Logged(Archived(head["collection"], len(events), digest), head["about"], head["rules"], tuple(events))


def _count(path: Path, line: int, said: object) -> int:
    if type(said) is not int or said < 0:
        raise FormatError(path, line, f"expected a number of campaigns, models or events, found {said!r:.80}")
    return said


def _read_model(path: Path, rows: Iterator[tuple[int, Mapping[str, Any]]]) -> ArchivedModel:
    line, row = next(rows, (1, {}))
    if set(row) != {"model", "content", "digest"}:
        raise FormatError(path, line, "expected a kept model here: the backup was cut off")
    found = ArchivedModel(KeptModel(**row["model"]), row["content"])
    if row["digest"] != _digest(found):
        raise FormatError(path, line, f"the model {found.model.name} was altered after it was written")
    return found


def _digest(kept: ArchivedModel) -> str:
    return sha256(json.dumps([structs.asdict(kept.model), kept.content], sort_keys=True).encode()).hexdigest()


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    with path.open("rb") as file:
        for number, text in enumerate(file, start=1):
            try:
                row = json.loads(text)
            except (ValueError, RecursionError):
                raise FormatError(
                    path,
                    number,
                    "not JSON: the backup was cut off, or the file is not one that `audiosim backup` wrote",
                ) from None
            if not isinstance(row, dict):
                raise FormatError(path, number, "expected an object")
            yield number, row


def _anonymous(found: Archive, without: Iterable[str]) -> Archive:
    """Contents of a backup without these people's names, each log with its new digest; unchanged without people."""
    drawn = draw_names([log.events for log in found.logs], without)
    if not drawn:
        return found
    logs = []
    for log in found.logs:
        events, digest = tuple(anonymous_event(event, drawn) for event in log.events), FIRST
        for number, event in enumerate(events, start=1):
            digest = link(digest, number, event)
        logs.append(replace(log, archived=replace(log.archived, digest=digest), events=events))
    models = [ArchivedModel(replace(one, by=drawn.get(one.by, one.by)), content) for one, content in found.models]
    return Archive(logs, models)


def _lines(found: Archive) -> Iterator[Mapping[str, Any]]:
    logs, models = found
    kept = {"models": len(models)} if models else {}
    yield {"format": WITH_MODELS if models else FORMAT, "campaigns": len(logs)} | kept
    for log in logs:
        yield log.archived.to_dict() | {"about": log.about, "rules": log.rules}
        digest = FIRST
        for number, event in enumerate(log.events, start=1):
            digest = link(digest, number, event)
            yield {"number": number, **asdict(event), "digest": digest}
    for one in models:
        yield {"model": structs.asdict(one.model), "content": one.content, "digest": _digest(one)}
    yield {"end": sum(log.archived.events for log in logs)}
