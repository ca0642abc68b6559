"""A printed number beside the number computed here."""

from dataclasses import dataclass
from typing import Any

THESIS = "Urbano (2013)"
NO_DATA = "The data are not in the folder."


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """A printed number beside the number computed here.

    source    publication and place of the number
    quantity  its description
    printed   the number in print
    computed  the number from the data; None if the data are missing
    digits    number of printed decimals
    cause     reason why public data cannot give it exactly; empty if they can
    """

    source: str
    quantity: str
    printed: float
    computed: float | None
    digits: int
    cause: str = ""

    @property
    def agrees(self) -> bool:
        """True if the computed number, rounded to the printed decimals, equals the printed one."""
        return self.computed is not None and round(self.computed, self.digits) == round(self.printed, self.digits)

    @property
    def reason(self) -> str:
        """Cause of a difference between the computed and the printed number; empty if they agree."""
        if self.agrees:
            return ""
        return NO_DATA if self.computed is None else self.cause

    def to_dict(self) -> dict[str, Any]:
        """The row as plain values, ready for JSON."""
        return {
            "source": self.source,
            "quantity": self.quantity,
            "printed": self.printed,
            "computed": self.computed,
            "agrees": self.agrees,
            "reason": self.reason,
        }
