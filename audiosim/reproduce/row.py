"""A printed number, and what comes out here."""

from dataclasses import dataclass
from typing import Any

THESIS = "Urbano (2013)"


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """A printed number and what comes out here.

    source    where it is printed
    quantity  what it is
    printed   the number
    computed  the same from the data; None where the data for it is not there
    digits    decimals that are printed
    """

    source: str
    quantity: str
    printed: float
    computed: float | None
    digits: int

    @property
    def agrees(self) -> bool:
        """True if the computed number, rounded to as many decimals, is the printed one."""
        return self.computed is not None and round(self.computed, self.digits) == round(self.printed, self.digits)

    def to_dict(self) -> dict[str, Any]:
        """The row as plain values, ready for JSON."""
        return {
            "source": self.source,
            "quantity": self.quantity,
            "printed": self.printed,
            "computed": self.computed,
            "agrees": self.agrees,
        }
