"""A record in plain words, for readers without knowledge of measures or statistics."""

from audiosim.corpus.aspects import MEAN
from audiosim.messages import counted
from audiosim.record import Publication

USUAL = "How similar does the candidate sound to the query?"


def facts(record: Publication) -> dict[str, str]:
    """Answers to the first questions of a reader, by question."""
    collection, ranking = record.collection, record.ranking
    asked = _asked(record)
    found = {
        "What was compared": f"{counted(len(ranking.systems), 'system')}, on "
        f"{counted(ranking.queries, 'query', 'queries')}: {counted(ranking.pool, 'result')} in all.",
        "Who judged": _who(record),
        "What they were asked": " ".join(asked) if len(asked) < 2 else "; ".join(f"“{one}”" for one in asked) + ".",
        "How to read it": _reading(record),
    }
    if not record.complete:
        found["What is still unknown"] = (
            f"{ranking.pool - ranking.judged:,} of {ranking.pool:,} results have no grade yet. Their grades are "
            "predicted; the intervals show how far the predictions may be off."
        )
    if collection.aspect == MEAN and record.aspects:
        found["Several questions"] = (
            f"Each result was graded for {', '.join(record.aspects)}. The ranking is by their mean; the ranking "
            "by each follows below."
        )
    return found


def _asked(record: Publication) -> list[str]:
    collection = record.collection
    task = collection.assessor_task
    if task is not None and task.table.aspect:
        return [one.question for one in task.table.aspect]
    own = "" if task is None else task.table.question
    return [own or collection.task or USUAL]


def _who(record: Publication) -> str:
    judgments = record.judgments
    people = len({one.assessor for one in judgments if one.assessor})
    days = sorted({one.time[:10] for one in judgments if one.time})
    by = f"{counted(people, 'person', 'people')} gave " if people else ""
    when = "" if not days else f" on {days[0]}" if days[0] == days[-1] else f" from {days[0]} to {days[-1]}"
    said = f"{by}{counted(len(judgments), 'grade')}{when}"
    return f"{said[0].upper()}{said[1:]}." if judgments else "Nobody yet: all grades are predicted."


def _reading(record: Publication) -> str:
    low, high = (f"{level:g}" for level in (record.collection.scale.levels[0], record.collection.scale.levels[-1]))
    letters = (
        " Systems that share a letter cannot be told apart: their order may be chance." if _grouped(record) else ""
    )
    return (
        f"Grades go from {low} (worst) to {high} (best), and a system's score sums up the grades of its results. "
        "The line beside a score is its 95 % interval for queries of this kind; the shorter the line, the more certain "
        f"the score.{letters}"
    )


def _grouped(record: Publication) -> bool:
    return bool(record.verdicts.group_rows())
