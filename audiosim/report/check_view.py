"""Terminal view of the check of a collection."""

from rich.console import Group, RenderableType
from rich.text import Text

from audiosim.collection_check import CollectionCheck, DocumentFacts
from audiosim.report.screen import PlainTable


def check_view(found: CollectionCheck) -> RenderableType:
    """Summary in a few lines, a row per system, and a line for each likely mistake."""
    facts = {
        "Scale": f"{found.scale.name}, {found.scale}",
        "Cutoff": str(found.cutoff),
        "Queries": f"{found.queries:,}",
        "Judged": f"{found.judged:,} of {found.pool:,} retrieved pairs ({_percent(found.judged / max(found.pool, 1))})",
        **({"Compared": f"{found.comparisons:,} answers about two documents of a query"} if found.comparisons else {}),
        "Documents": _documents(found.documents),
        "Sound": _sound(found.documents),
    }
    width = max(map(len, facts)) + 2
    head = [Text(f"{name:{width}}{value}") for name, value in facts.items()]
    table = PlainTable(("System", "left"), "Queries", "Results", "Alone", "Judged", ("Same as", "left"))
    for one in found.runs:
        cells = (f"{one.queries:,}", f"{one.depth:,}", _percent(one.alone), _percent(one.judged), one.same_as or "")
        table.add_row(one.system, *cells)
    notes = [Text(f"note: {sentence}") for sentence in found.notes]
    wrong = [Text(f"wrong? {sentence}", style="bold") for sentence in found.problems]
    below = wrong or [Text("Nothing looks wrong.")]
    return Group(Text(found.collection, style="bold"), *head, Text(), table, Text(), *notes, *below)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"


def _documents(facts: DocumentFacts) -> str:
    known = f"{facts.described:,} in documents.tsv, artist of {facts.artist:,}, genre of {facts.genre:,}"
    return f"{facts.documents:,} within the cutoff, queries included: {known}"


def _sound(facts: DocumentFacts) -> str:
    index = "no index" if facts.indexed is None else f"{facts.indexed:,} of {facts.documents:,} in the index"
    return f"{facts.files:,} files found, {facts.missing:,} missing; {index}"
