"""Measures by name, ours and those of installed packages; apart from the other contents, which take longer to load."""

from audiosim.measures.measure import MEASURES, WRITTEN, Definition, Measure, parse_measure, with_cutoff
from audiosim.plugins.points import ExtensionPoint, an_instance

MEASURE_POINT = ExtensionPoint(
    "audiosim.measures", "measure", lambda: MEASURES, an_instance(Definition, "a Definition of a measure")
)


def find_measure(text: str, cutoff: int | None = None) -> Measure:
    """The measure named by a `--measure`, with its parameters: one of audiosim's, or an installed one.

    cutoff  that of a measure written without one; None: that is an error
    """
    text = with_cutoff(text, cutoff)
    written = WRITTEN.fullmatch(text)
    if written is None:
        return parse_measure(text)
    return parse_measure(text, {written["name"]: MEASURE_POINT.find(written["name"])})
