"""Choices of a campaign's model: lines of its log, so that every program that opens it uses the same model."""

from collections.abc import Callable, Iterable

from audiosim.campaign.event import MODEL, Clock, Event, Record, turn_event
from audiosim.campaign.ledger import Ledger
from audiosim.campaign.log import Log


class ModelChoices:
    """The choices of a campaign's model.

    A campaign keeps the estimator with which it was opened; the service reopens it after a choice.

    tell  function that adds an event to the campaign's log
    """

    def __init__(self, tell: Callable[[Event], Record], log: Log, ledger: Ledger, clock: Clock) -> None:
        self._tell, self._log, self._ledger, self._clock = tell, log, ledger, clock

    def choose(self, model: str, version: str = "", by: str = "", reason: str = "", key: str = "") -> Record:
        """Record that the campaign has another model from here on.

        model    name of the model; empty for the campaign's usual one
        version  version of the model, if known
        """
        return self._tell(turn_event(MODEL, self._clock(), by, reason, key, model=model, version=version))

    @property
    def line(self) -> int:
        """Number of the line with the last choice; 0: none."""
        return self._ledger.model

    @property
    def last(self) -> Record | None:
        """The line with the last choice, or None."""
        with self._log.state:
            return self._ledger.record(self.line) if self.line else None


def last_choice(records: Iterable[Record]) -> tuple[int, str]:
    """Number of the last line of a log that chose a model, and the model's name; 0 and empty without any."""
    chosen = [(record.number, str(record.event.details["model"])) for record in records if record.event.kind == MODEL]
    return chosen[-1] if chosen else (0, "")
