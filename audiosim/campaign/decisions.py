"""Decisions of an organiser during a campaign, as lines of its log: disputed pairs, the model, texts.

- A disputed pair is handed to one person for one more opinion: a lease of a millisecond with the reason ADJUDICATION,
  which programs without adjudications read as a lease that has ended.
- The last line that chose a model names the model.
- A changed text is the same in every program: a line has the new texts of the task under the names of WORDS, or the new
  `prompt` of a `query`. The scale cannot be changed: existing grades keep their meaning.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, NamedTuple

import msgspec

from audiosim.campaign.event import ADJUDICATION, JUDGING, MODEL, WORDS, Clock, Event, Record, turn_event
from audiosim.campaign.log import Log
from audiosim.campaign.queue import Queue
from audiosim.campaign.rules import check_open, lease_of
from audiosim.campaign.state import Ledger
from audiosim.collection.collection import Collection
from audiosim.collection.kinds import PROMPT, prompt_cell
from audiosim.collection.pool import Pool
from audiosim.collection.task import AssessorTask, TaskTable, checked_table, task_lines
from audiosim.collection.values import Document, Pair, queries_of
from audiosim.errors import ClosedError, InputError
from audiosim.text import did_you_mean

ASKED_S = 0.001  # the shortest lease that a log can hold


class Adjudication(NamedTuple):
    """Pair that an organiser gave to a person to judge.

    number  number of the log line with the first request
    status  waiting; judged: their judgment counts; cannot: they cannot judge it; set aside: none of their answers count
    grade   grade of their judgment; None without one
    """

    number: int
    time: str
    pair: Pair
    assessor: str
    status: Literal["waiting", "judged", "cannot", "set aside"]
    grade: float | None


@dataclass(frozen=True, eq=False)
class Adjudications:
    """The adjudications of a campaign.

    _write  writes events to the campaign's log and counts them
    """

    _write: Callable[[Callable[[], list[Event]]], list[Record]]
    _log: Log
    _ledger: Ledger
    _pool: Pool
    _queue: Queue
    _clock: Clock

    def ask(self, pair: Pair, assessor: str) -> Record:
        """Put a pair first in a person's queue; if it is waiting there already, return the line of that request."""
        records = self._write(lambda: self._asked(pair, assessor))
        if records:
            return records[0]
        with self._log.state:
            return self._ledger.record(self._ledger.adjudications[assessor][pair])._replace(replayed=True)

    def all(self) -> list[Adjudication]:
        """All adjudications, in the order of the requests."""
        with self._log.state:
            asked = self._ledger.adjudications
            return [self._adjudication(pair, name, number) for name in asked for pair, number in asked[name].items()]

    def _asked(self, pair: Pair, assessor: str) -> list[Event]:
        ledger, now = self._ledger, self._clock()
        self._pool.locate([pair])
        what = f"document {pair.document} for query {pair.query}"
        if assessor in ledger.aside:
            raise InputError(f"{assessor} is set aside: expected a person whose judgments count")
        if assessor in ledger.assessors(pair):
            raise InputError(f"{assessor} has judged {what} already: expected a person who has not")
        if assessor in ledger.cannot.get(pair, {}):
            raise InputError(f"{assessor} cannot judge {what}: expected somebody else")
        if not self._queue.answerable(ledger, assessor)[self._pool.positions[pair]]:
            raise InputError(f"{what} is no longer handed out: too many people cannot judge it, or it cannot be played")
        check_open(ledger)
        if pair in ledger.adjudications.get(assessor, {}):
            return []
        return [lease_of(ledger, pair, assessor, now, self._lasting(pair, assessor, now), ADJUDICATION)]

    def _lasting(self, pair: Pair, assessor: str, now: datetime) -> float:
        """Duration of the requesting lease, in seconds: the time left if the person already has the pair."""
        lease = self._ledger.lease(pair, now)
        left = 0.0 if lease is None or lease.assessor != assessor else (lease.until - now).total_seconds()
        return max(left, ASKED_S)

    def _adjudication(self, pair: Pair, assessor: str, number: int) -> Adjudication:
        grade = self._ledger.said(pair).get(assessor)
        time = self._ledger.record(number).event.time
        if assessor in self._ledger.aside:
            return Adjudication(number, time, pair, assessor, "set aside", None)
        if assessor in self._ledger.cannot.get(pair, {}):
            return Adjudication(number, time, pair, assessor, "cannot", None)
        return Adjudication(number, time, pair, assessor, "waiting" if grade is None else "judged", grade)


# Choices of a campaign's model, and changes of its texts: every program that opens the log has them.


class Decisions:
    """Decisions of one kind that organisers made: lines of the campaign's log.

    The campaign itself does not apply them: the service reopens it with the chosen model, and shows the new texts of
    its collection, see `reworded`.

    kind  of these lines: model or words
    tell  function that adds an event to the log
    """

    def __init__(self, kind: str, tell: Callable[[Event], Record], log: Log, ledger: Ledger, clock: Clock) -> None:
        self._kind, self._tell, self._log, self._ledger, self._clock = kind, tell, log, ledger, clock

    def make(self, about: Mapping[str, str], by: str = "", reason: str = "", key: str = "") -> Record:
        """Record a decision that holds from here on.

        about  `model`, empty for the campaign's usual one, and `version`; or texts by name, see `reworded`
        """
        return self._tell(turn_event(self._kind, self._clock(), by, reason, key, **about))

    def made(self, by: str, key: str) -> bool:
        """True if the log has a line with this key."""
        with self._log.state:
            return self._ledger.earlier(by, key) is not None

    @property
    def line(self) -> int:
        """Number of the line with the last decision; 0: none."""
        return self._ledger.decided.get(self._kind, 0)

    @property
    def last(self) -> Record | None:
        """The line with the last decision, or None."""
        with self._log.state:
            return self._ledger.record(self.line) if self.line else None


def last_choice(records: Iterable[Record]) -> tuple[int, str]:
    """Number of the last line of a log that chose a model, and the model's name; 0 and empty without any."""
    chosen = [(record.number, str(record.event.details["model"])) for record in records if record.event.kind == MODEL]
    return chosen[-1] if chosen else (0, "")


TASK_TEXTS = ("question", "instructions", "consent", "language")
TITLE, LANGUAGES, QUERY = "title", "languages", "query"
LONGEST_TITLE = 200


def texts_of(collection: Collection) -> dict[str, str]:
    """The changeable texts of a collection, by name; languages separated by commas."""
    table = TaskTable() if collection.assessor_task is None else collection.assessor_task.table
    said = {name: str(getattr(table, name)) for name in TASK_TEXTS}
    said["question"] = table.question or collection.task
    return {TITLE: collection.name, **said, LANGUAGES: ", ".join(table.languages)}


def reworded(collection: Collection, texts: Mapping[str, str]) -> Collection:
    """The collection with other texts.

    texts  texts of the task, by name: the title, a text of the task or its languages; or the `prompt` of a `query`
    """
    if QUERY in texts:
        return _with_prompt(collection, texts[QUERY], texts.get(PROMPT, ""))
    given = {name: text.strip() for name, text in texts.items()}
    if (title := given.pop(TITLE, None)) is not None:
        if not title or not title.isprintable() or len(title) > LONGEST_TITLE:
            raise InputError(f"expected a title of 1 to {LONGEST_TITLE} printable characters, got {title!r:.80}")
        collection = replace(collection, name=title)
    return _with_task(collection, given) if given else collection


def reworded_by(collection: Collection, records: Iterable[Record]) -> tuple[Collection, int]:
    """The collection with the current texts after the lines of a log, and the number of the last line about texts.

    The prompt of a query is left out if no run answers the query any more.
    """
    line = 0
    for number, event, _ in records:
        if event.kind == WORDS:
            texts = {name: str(text) for name, text in event.details.items() if name != "reason"}
            if texts.get(QUERY) is None or texts[QUERY] in queries_of(collection.runs):
                collection = reworded(collection, texts)
            line = number
    return collection, line


def earlier_questions(collection: Collection, records: Iterable[Record]) -> list[str]:
    """Questions, other than the last, with which the grades in a log were asked for; empty for the usual one.

    collection  as it was before its log
    """
    asked, now = list[str](), texts_of(collection)["question"]
    for _, event, _ in records:
        if event.kind == WORDS:
            now = str(event.details.get("question", now)).strip()
        elif event.kind in JUDGING:
            asked.append(now)
    return [one for one in dict.fromkeys(asked) if one != now]


def check_new(collection: Collection, changed: Collection) -> None:
    """Raise an error if the new texts equal the present ones."""
    if texts_of(collection) == texts_of(changed) and collection.documents == changed.documents:
        raise ClosedError("these are the present texts: nothing was changed")


def _with_task(collection: Collection, texts: Mapping[str, str]) -> Collection:
    before = TaskTable() if collection.assessor_task is None else collection.assessor_task.table
    said: dict[str, object] = {name: texts[name] for name in TASK_TEXTS if name in texts}
    if LANGUAGES in texts:
        said[LANGUAGES] = tuple(filter(None, (one.strip() for one in texts[LANGUAGES].split(","))))
    table = checked_table(msgspec.structs.replace(before, **said))
    about = "" if "question" in texts and not before.question else collection.task  # it was the question until now
    return replace(collection, assessor_task=AssessorTask(table, "\n".join(task_lines(table))), task=about)


def _with_prompt(collection: Collection, query: str, text: str) -> Collection:
    known = queries_of(collection.runs)
    if query not in known:
        raise InputError(f"unknown query {query!r:.80}{did_you_mean(query, list(known))}")
    name = collection.query_document(query)
    document = collection.documents.get(name, Document(name))
    documents = {**collection.documents, name: replace(document, more={**document.more, PROMPT: prompt_cell(text)})}
    return replace(collection, documents=documents)
