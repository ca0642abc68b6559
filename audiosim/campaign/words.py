"""Texts changed by an organiser during a campaign: lines of its log, so that every program shows the same texts.

A line has the new texts of the task under the names of WORDS, or the new `prompt` of a `query`. The scale cannot be
changed: existing grades keep their meaning.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import msgspec

from audiosim.campaign.event import WORDS, Clock, Event, Record, turn_event
from audiosim.campaign.ledger import Ledger
from audiosim.campaign.log import Log
from audiosim.corpus.collection import Collection
from audiosim.corpus.model import Document, queries_of
from audiosim.corpus.prompts import PROMPT, prompt_cell
from audiosim.corpus.task_file import AssessorTask, TaskTable, checked_table, task_lines
from audiosim.errors import ClosedError, InputError
from audiosim.messages import did_you_mean

TASK_TEXTS = ("question", "instructions", "consent", "language")
TITLE, LANGUAGES, QUERY = "title", "languages", "query"
CHANGEABLE = (TITLE, *TASK_TEXTS, LANGUAGES)
LONGEST_TITLE = 200


class Rewording:
    """The changes of a campaign's texts.

    The campaign itself shows no texts: the service applies them to its collection, see `reworded`.

    tell  function that adds an event to the campaign's log
    """

    def __init__(self, tell: Callable[[Event], Record], log: Log, ledger: Ledger, clock: Clock) -> None:
        self._tell, self._log, self._ledger, self._clock = tell, log, ledger, clock

    def change(self, texts: Mapping[str, str], by: str = "", reason: str = "", key: str = "") -> Record:
        """Record that these texts apply from here on; see `reworded` for their names."""
        return self._tell(turn_event(WORDS, self._clock(), by, reason, key, **texts))

    def sent(self, by: str, key: str) -> bool:
        """True if the log has a line with this key."""
        with self._log.state:
            return self._ledger.earlier(by, key) is not None

    @property
    def line(self) -> int:
        """Number of the line with the last change; 0: none."""
        return self._ledger.worded

    @property
    def last(self) -> Record | None:
        """The line with the last change, or None."""
        with self._log.state:
            return self._ledger.record(self.line) if self.line else None


def texts_of(collection: Collection) -> dict[str, str]:
    """The changeable texts of a collection, by name; languages separated by commas."""
    table = TaskTable() if collection.assessor_task is None else collection.assessor_task.table
    said = {name: str(getattr(table, name)) for name in TASK_TEXTS}
    return {TITLE: collection.name, **said, LANGUAGES: ", ".join(table.languages)}


def reworded(collection: Collection, texts: Mapping[str, str]) -> Collection:
    """The collection with other texts.

    texts  texts of the task, by name in CHANGEABLE; or the `prompt` of a `query`
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


def check_new(collection: Collection, changed: Collection) -> None:
    """Raise an error if the new texts equal the present ones."""
    task, other = collection.assessor_task, changed.assessor_task
    tables = [TaskTable() if one is None else one.table for one in (task, other)]
    if collection.name == changed.name and tables[0] == tables[1] and collection.documents == changed.documents:
        raise ClosedError("these are the present texts: nothing was changed")


def _with_task(collection: Collection, texts: Mapping[str, str]) -> Collection:
    task = collection.assessor_task
    said: dict[str, object] = {name: texts[name] for name in TASK_TEXTS if name in texts}
    if LANGUAGES in texts:
        said[LANGUAGES] = tuple(filter(None, (one.strip() for one in texts[LANGUAGES].split(","))))
    table = checked_table(msgspec.structs.replace(TaskTable() if task is None else task.table, **said))
    return replace(collection, assessor_task=AssessorTask(table, "\n".join(task_lines(table))))


def _with_prompt(collection: Collection, query: str, text: str) -> Collection:
    known = queries_of(collection.runs)
    if query not in known:
        raise InputError(f"unknown query {query!r:.80}{did_you_mean(query, list(known))}")
    name = collection.query_document(query)
    document = collection.documents.get(name, Document(name))
    documents = {**collection.documents, name: replace(document, more={**document.more, PROMPT: prompt_cell(text)})}
    return replace(collection, documents=documents)
