"""Terminal views of the commands."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from shutil import which
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from audiosim.evaluation.check import CollectionCheck, DocumentFacts, EvidenceFacts
from audiosim.ranking.about import QUERIES_IN_WORDS, About
from audiosim.ranking.ranking import Ranking, basis_in_words, score_rows, spelled_confidence
from audiosim.ranking.two_systems import TwoSystems, more_judgments, sentence_again
from audiosim.ranking.verdicts import Verdicts
from audiosim.report.screen import Column, PlainTable, filled, interval, number, numbered, table_of, word
from audiosim.results.value import Result, plain
from audiosim.text import as_option, counted, few, spell_advice

if TYPE_CHECKING:
    from audiosim.campaign.history import RankingHistory
    from audiosim.report.sounds import Extraction
    from audiosim.simulation.demo import DemoResult
    from audiosim.simulation.plan import Effort
    from audiosim.sound.folder import MusicFolder
    from audiosim.sound.generated import GeneratedFolder
    from audiosim.sound.map import SoundMap
    from audiosim.sound.neighbours import NearestRecordings


# Terminal view of the check of a collection.


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
        **({"Evidence": "; ".join(map(_evidence, found.evidence))} if found.evidence else {}),
    }
    width = max(map(len, facts)) + 2
    head = [Text(f"{name:{width}}{value}") for name, value in facts.items()]
    table = PlainTable(("System", "left"), "Queries", "Results", "Unique", "Judged", ("Same as", "left"))
    for one in found.runs:
        cells = (f"{one.queries:,}", f"{one.depth:,}", _percent(one.alone), _percent(one.judged), one.same_as or "")
        table.add_row(one.system, *cells)
    means = Text(
        "Results: as many for the median query. Unique: share of them that no other system has for that query. "
        "Same as: an earlier system with the same results."
    )
    notes = [Text(f"note: {spell_advice(sentence, as_option)}") for sentence in found.notes]
    wrong = [Text(f"wrong? {sentence}", style="bold") for sentence in found.problems]
    below = wrong or [Text("Nothing looks wrong.")]
    return Group(Text(found.collection, style="bold"), *head, Text(), table, means, Text(), *notes, *below)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"


def _documents(facts: DocumentFacts) -> str:
    known = f"{facts.described:,} described, artist of {facts.artist:,}, genre of {facts.genre:,}"
    return f"{facts.documents:,} within the cutoff, queries included: {known}"


def _evidence(facts: EvidenceFacts) -> str:
    values = "a number" if facts.values == 1 else f"{facts.values:,} numbers"
    return f"{facts.evidence}, {values} for {facts.known:,} of {facts.of:,} {facts.about}s"


def _sound(facts: DocumentFacts) -> str:
    index = "no index" if facts.indexed is None else f"{facts.indexed:,} of {facts.documents:,} in the index"
    return f"{facts.files:,} files found, {facts.missing:,} missing; {index}"


# Terminal view of the history of a ranking.


MOST_COLUMNS = 8  # most looks with ranks shown side by side


def history_view(found: "RankingHistory") -> RenderableType:
    """The looks, one per line, and the rank and score of each system at up to MOST_COLUMNS of them."""
    value = found.to_dict()
    looks = value["looks"]
    several, dated = len({look["source"] for look in looks}) > 1, any(look["time"] for look in looks)
    source = [word("Source", "source")] if several else []
    when = [Column("Time", lambda look: (look["time"] or "")[:16].replace("T", " "), "whole")] if dated else []
    sure = number("Judged", "judged", ","), number("Confidence", "confidence"), word("Best", "best")
    swapped = Column("Swapped", lambda look: "" if look["swapped"] is None else str(look["swapped"]))
    table = filled(numbered(looks), number("Step", "place", ""), *source, *when, *sure, swapped)
    subjects = list(dict.fromkeys(look["about"] for look in looks))
    said = f"{value['measure']}; confidence is about {' or '.join(subjects)}."
    shown = f", {MOST_COLUMNS} of {len(looks)} steps" if len(looks) > MOST_COLUMNS else ""
    said += " Swapped: pairs of systems in another order than a step before."
    return Group(table, Text(said), Text(f"\nRank and score at each step{shown}", style="bold"), _ranks(looks))


def _ranks(looks: Sequence[Mapping[str, Any]]) -> PlainTable:
    last, count = len(looks) - 1, min(len(looks), MOST_COLUMNS)
    shown = sorted({round(place * last / max(1, count - 1)) for place in range(count)})
    table = PlainTable(("System", "left"), *(str(place + 1) for place in shown))
    ranked = [{one["system"]: one for one in look["systems"]} for look in looks]
    for system in dict.fromkeys(name for held in reversed(ranked) for name in held):
        cells = (ranked[place].get(system) for place in shown)
        table.add_row(system, *("" if one is None else f"{one['rank']:>2}  {one['score']:.3f}" for one in cells))
    return table


ROWS_SHOWN = 20
MOMENTS_SHOWN = 12  # most moments shown of a curve
BAR_WIDTH, DOTS_WIDTH = 32, 41  # widths in characters
TWINS_SHOWN = 20


def verdicts_view(verdicts: Verdicts) -> RenderableType:
    """The ranking with possible ranks of each system and letters of those that cannot be told apart."""
    return ranking_view(verdicts.ranking, verdicts)


def ranking_view(ranking: Ranking, verdicts: Verdicts | None = None) -> RenderableType:
    """The systems, best first, with their intervals drawn, and the confidence in their order.

    verdicts  verdicts on the ranking: possible ranks of each system, and letters shared by systems that cannot be told
              apart
    """
    rows = score_rows(ranking) if verdicts is None else verdicts.rows()
    low, high = min(row["low"] for row in rows), max(row["high"] for row in rows)
    first = number("", "place", ""), word("System", "system"), number(str(ranking.measure), "expectation"), interval()
    drawn = Column("", lambda row: interval_bar(row["low"], row["expectation"], row["high"], low, high), "bar")
    table = filled(numbered(rows), *first, *_verdict_columns(verdicts), drawn)
    confident = _confident(ranking)
    verdict = "" if verdicts is None else verdicts.sentence
    notes = ranking.measure.meaning, verdict, _fit(ranking), _drawn(ranking), ranking.measure.form_in_words
    return Group(table, Text(confident), Text(_rests_on(ranking)), *(Text(one) for one in notes if one))


def _confident(ranking: Ranking) -> str:
    """Confidence in the order and its subject, with the number of settled pairs of systems, as a sentence."""
    if ranking.confidence is None:
        return "Nothing to order: no two systems differ."
    open_ = ranking.scores.confidences[~ranking.scores.tied]
    pairs = f"{int((open_ >= 0.95).sum())} of {len(open_)} pairs of systems at .95 or more"
    equal = int(ranking.scores.tied.sum())
    more = f"; {equal} {'pair is' if equal == 1 else 'pairs are'} equal and not counted" if equal else ""
    beside = "" if ranking.at_large is None else f" ({beside_in_words(ranking)})"
    return f"Confidence in the ranking {ranking.confidence:.3f}, on {ranking.about.words}{beside}; {pairs}{more}."


def beside_in_words(ranking: Ranking) -> str:
    """Confidence about listeners at large, as an addition to a statement about the panel."""
    found = ranking.at_large
    sure = "-" if found is None or found.confidence is None else f"{found.confidence:.3f}"
    return f"in the opinion of the {ranking.judges} people who judged; {sure} for listeners at large"


def effort_view(found: "Effort") -> RenderableType:
    """Judgments and hours until a goal, and the pairs of systems that remain open."""
    low, high = found.interval
    rule, reached = found.stopping_rule, found.judgments == high == 0
    if found.judgments is None:
        said = f"{rule} takes over {counted(low or 0, 'judgment')}: no simulated campaign met it within the time limit."
    elif reached:
        said = f"{rule} is reached."
    else:
        with_whom = "one listener" if found.listeners == 1 else f"each of {found.listeners} listeners"
        sure = f"80 % interval {low:,} to {high:,}" if found.reliable else "too few campaigns for an interval"
        said = (
            f"{rule} takes about {more_judgments(found.judgments)} ({sure}), "
            f"{found.time_in_words} of {with_whom} at {found.seconds:.0f} s a judgment."
        )
    basis = (
        f"Judged so far: {counted(found.judged, 'pair')}. Simulated with drawn grades: "
        f"{counted(len(found.counts), 'campaign')}."
    )
    if found.unmet:
        basis += (
            f" In {found.unmet} of them everything was judged and the goal, on {found.about.words}, was not met: "
            "more queries would help, but not more judgments."
        )
    below = [_further(found)] if found.beside else []
    below += [_otherwise(found)] if found.otherwise else []
    if not found.unsettled:
        return Group(Text(said), Text(basis), *below)
    pair = word("System", "a"), word("System", "b"), number("Confidence at the goal", "confidence")
    queries = Column(
        "Queries to separate", lambda row: "over 10,000" if row["queries"] is None else f"{row['queries']:,}"
    )
    table = filled(found.unsettled[:ROWS_SHOWN], *pair, queries)
    more = len(found.unsettled) - ROWS_SHOWN
    rest = [Text(f"… and {more:,} more: --format csv or json gives all")] if more > 0 else []
    head = f"{counted(len(found.unsettled), 'pair of systems', 'is' if reached else 'would still be')} open:"
    means = Text("Queries to separate: so many queries like these, all judged, would tell the two apart.")
    return Group(Text(said), Text(basis), Text(f"\n{head}", style="bold"), table, means, *rest, *below)


def _further(found: "Effort") -> RenderableType:
    """Gain from another hundred judgments, and from another person, for both statements."""
    judging = Column("Judging", lambda row: row["what"], "whole"), number("People", "people", "")
    panel = number("those who judged", "panel"), number("their interval", "panel_width")
    listeners = number("listeners at large", "listeners"), number("their interval", "listeners_width")
    table = filled(plain(found.beside), *judging, number("Judgments", "judgments", ","), *panel, *listeners)
    head = f"Confidence about each, and mean width of the 95 % intervals of scores, on {QUERIES_IN_WORDS['these']}:"
    means = "People: how many have judged by then, as far as they are named."
    if any(None in (one.panel, one.listeners) for one in found.beside):
        means += " -: no confidence, since nothing is left to order: all pairs are judged, or the systems are equal."
    return Group(Text(f"\n{head}", style="bold"), table, Text(means))


def _otherwise(found: "Effort") -> RenderableType:
    """Verdicts that the fully judged collection would allow, as it is and with changes."""
    pairs = found.otherwise[0].pairs
    table = PlainTable(("All judged", "whole"), "Judgments", f"Separated, of {pairs:,}", ("80 % interval", "whole"))
    for one in found.otherwise:
        table.add_row(one.what, f"{one.judgments:,}", f"{one.separated:.1f}", f"{one.low:.1f} – {one.high:.1f}")
    head = "Pairs of systems that a paired t-test at 5 % would separate:"
    return Group(Text(f"\n{head}", style="bold"), table)


def _verdict_columns(verdicts: Verdicts | None) -> list[Column]:
    if verdicts is None:
        return []
    group = [word("Group", "group")] if verdicts.groups else []
    # With every system among the first k, each probability would be 1.
    top = [number(f"P(top {verdicts.k})", "top", ".2f")] if verdicts.k < len(verdicts.ranking.systems) else []
    return [Column("Ranks", _ranks_of), *group, number("P(best)", "best", ".2f"), *top]


def _ranks_of(row: Mapping[str, Any]) -> str:
    low, high = row["rank_low"], row["rank_high"]
    return str(low) if low == high else f"{low} – {high}"


def verdict_view(found: TwoSystems) -> RenderableType:
    """The verdict on two systems, its condition if it has one, and the number of judgments behind it."""
    condition, ranking, lines = found.condition, found.ranking, [f"{found.ranking.measure}: {found.sentence}"]
    lines += [sentence_again(found), "" if found.beside is None else found.beside.sentence]
    if found.verdict != "equal":
        lines.append(
            "One-sided: the probability that the system ahead is better at all. Two-sided: "
            f"{50 * (1 - found.level):.3g} % is left out at each end, so that the interval excludes 0 from confidence "
            f"{(1 + found.level) / 2:.3g} on."
        )
    if condition is not None:
        chance = found.probability(condition)
        shown = "Shown" if chance >= found.level else "Not shown"
        lines.append(f"{shown} at {100 * found.level:g} %: {condition} (probability {chance:.3f}).")
    lines += [_rests_on(ranking), _fit(ranking)]
    return Group(*(Text(line) for line in lines if line))


def _fit(ranking: Ranking) -> str:
    """Fit of the model, as a sentence; empty if nothing depends on it, or nothing is judged."""
    return ranking.check.sentence if 0 < ranking.judged < ranking.pool else ""


def _rests_on(ranking: Ranking) -> str:
    """Number of judgments behind a ranking, or their absence, as a sentence."""
    alone = ranking.judges == 1 and ranking.about.listeners != "panel"
    usual = " Only one person judged: the differences between people are taken from other collections." if alone else ""
    resting = basis_in_words(ranking)
    return f"{resting[0].upper()}{resting[1:]}.{usual}"


def _drawn(ranking: Ranking) -> str:
    """Precision of scores that come from drawing grades; empty for others."""
    draws, errors = ranking.scores.draws, ranking.scores.errors
    if errors is None:
        return ""
    return f"Scores by simulation: {draws:,} draws, standard error at most {errors.max():.4f}."


def interval_bar(low: float, middle: float, high: float, start: float, end: float) -> Text:
    """An interval and its middle on an axis from start to end, drawn in BAR_WIDTH characters."""
    span = (end - start) or 1.0
    left, centre, right = (round((value - start) / span * (BAR_WIDTH - 1)) for value in (low, middle, high))
    bar = Text(" " * left)
    bar.append("━" * (centre - left), style="cyan")
    bar.append("●", style="bold cyan")
    bar.append("━" * (right - centre), style="cyan")
    return bar


def curve_view(curve: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Confidence and accuracy in the course of judging: a dozen moments from first to last."""
    last = len(curve) - 1
    shown = sorted({round(step * last / (MOMENTS_SHOWN - 1)) for step in range(MOMENTS_SHOWN)}) if last else [0]

    def drawn(point: Mapping[str, Any]) -> Text | str:
        return "" if point["confidence"] is None else dots(point["confidence"], point["accuracy"], 0.5)

    numbers = number("Judged", "judged", ","), number("Confidence", "confidence"), number("Accuracy", "accuracy")
    bars = Column("from .5 to 1: ● confidence, ○ accuracy", drawn, "bar")
    table = filled((curve[index] for index in shown), *numbers, bars)
    left = f"{len(shown)} of {len(curve):,} rows are shown, evenly spaced."
    return Group(table, Text(left)) if len(shown) < len(curve) else table


def dots(stated: float, accuracy: float, start: float = 0.0) -> Text:
    """Line from `start` to 1 with a dot at the stated and a circle at the true share; lower ones are put at `start`."""
    line = ["·"] * DOTS_WIDTH
    for value, mark in ((accuracy, "○"), (stated, "●")):
        line[max(0, round((value - start) / (1 - start) * (DOTS_WIDTH - 1)))] = mark
    return Text("".join(line), style="cyan")


def next_view(found: Any) -> RenderableType:
    """The pairs to judge next, and what their weights mean."""
    said = (
        f"weight: worth of a judgment by the selection rule {found.selection_rule}, in no unit; only the order matters."
    )
    table = table_view(found)
    return Group(table, Text(said)) if len(found) else table


def questions_view(found: Result) -> RenderableType:
    """The best question of each kind, and what the columns mean."""
    said = (
        "seconds: expected time of an answer; relative: information per second, as a share of the best kind's; query, "
        "documents: the question to ask, empty if none of its kind is left. The best is that of the "
        "selection rule `doubts`, so `audiosim next`, which has a rule of its own, may begin with another pair."
    )
    return Group(table_view(found), Text(said))


def table_view(found: Result) -> RenderableType:
    """The first rows of a result, and the number of further ones."""
    return rows_view(found.rows())


def tokens_view(found: Result) -> RenderableType:
    """The holders of tokens, in words where nothing is said."""
    rows = [row | {"collection": row["collection"] or "all", "expires": row["expires"] or "never"} for row in found]
    return rows_view(rows) if rows else line_view(found)


def token_view(found: Any) -> RenderableType:
    """A new token alone, for a program that reads it."""
    return str(found.token)


def line_view(found: Result) -> RenderableType:
    """A result in its one line."""
    return repr(found)


def listed_view(found: Result) -> RenderableType:
    """The rows of a result, or its one line if it has none."""
    return table_view(found) if found.rows() else line_view(found)


def rows_view(rows: Sequence[Mapping[str, Any]], left_out: Sequence[str] = ()) -> RenderableType:
    """The first rows of a long table, and the number of further ones."""
    if not rows:
        return Text("none: every pair is judged")
    table = table_of({key: key for key in rows[0] if key not in left_out}, rows[:ROWS_SHOWN], _cell)
    more = len(rows) - ROWS_SHOWN
    return Group(table, Text(f"… and {more:,} more: --format csv or json gives all")) if more > 0 else table


def _cell(_: str, value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def neighbours_view(found: "NearestRecordings") -> RenderableType:
    """The run, in TREC's form, or the neighbours of each sound given as an example; once written, the file's name."""
    if found.written is not None:
        return f"{counted(len(found.rows()), 'neighbour')} in {found.written}"
    return rows_view(found.rows()) if found.by_example else "".join(f"{line}\n" for line in found.lines())


def map_view(found: "SoundMap") -> RenderableType:
    """Number of the recordings on a map, and its page."""
    where = "on the map; -o FILE.html draws it" if found.page is None else f"in {found.page}"
    return f"{len(found.rows()):,} recordings {where}\n"


def extraction_view(found: "Extraction") -> RenderableType:
    """Outcome of an extraction."""
    result, index = found.to_dict(), found.folder
    failed = f", {len(result['failed'])} failed" if result["failed"] else ""
    return Text(
        f"{counted(result['done'], 'recording')} in {index}{_remarkable(result)}{failed}; {result['seconds']:.1f} s"
    )


def _remarkable(result: Mapping[str, Any]) -> str:
    """Numbers of band-limited and of silent recordings, if any."""
    limited, silent = result["band_limited"], result["silent"]
    return (f", {limited:,} of them band-limited" if limited else "") + (f", {silent:,} silent" if silent else "")


def _without_tags(unknown: Mapping[str, int], files: int) -> str:
    columns = [column for column, count in unknown.items() if count]
    if not columns:
        return "All files have an artist and a genre tag."
    if len({unknown[column] for column in columns}) == 1:
        return f"{unknown[columns[0]]:,} of {files:,} files have no {' or '.join(columns)} tag."
    return f"{', '.join(f'{unknown[column]:,} of {files:,} files have no {column} tag' for column in columns)}."


def music_folder_view(found: "MusicFolder | GeneratedFolder") -> RenderableType:
    """Result of making a collection from a folder: its contents, missing metadata, and likely duplicates."""
    result = found.to_dict()
    if "prompts" in result:
        return repr(found)
    whence = "kept, as in queries.tsv; delete it to draw others" if result["queries_kept"] else "drawn, in queries.tsv"
    lines = [
        f"{result['documents']:,} recordings in {result['collection']}{_remarkable(result)}, "
        f"{len(result['failed']):,} failed",
        _without_tags(result["unknown"], result["documents"]),
        f"{counted(len(result['queries']), 'query')} {whence}: {few(result['queries'], 5)}",
    ]
    folder = result["collection"]
    following = f"Next: audiosim serve {quote(folder)} --db {quote(f'sqlite:///{folder}/campaign.db')} --open"
    twins = result["near_duplicates"]
    if not twins:
        return Text("\n".join([*lines, "No duplicate recordings found.", following]))
    both = word("May be the same", "one"), word("as", "other")
    numbers = number("divergence", "divergence"), number("seconds", "seconds", ".1f")
    table = filled(twins[:TWINS_SHOWN], *both, *numbers)
    more = f"... and {len(twins) - TWINS_SHOWN:,} more in --format json." if len(twins) > TWINS_SHOWN else ""
    return Group(Text("\n".join(lines)), table, Text("\n".join([*([more] if more else []), following])))


def replay_view(found: Result) -> RenderableType:
    """Course of a replayed campaign: its curve, and its end."""
    result = found.to_dict()
    end = (
        f"Stopped after {result['judged']:,} of {result['pool']:,} judgments: "
        f"{spelled_confidence(result['confidence'], About(**result['about']))}, "
        f"accuracy {result['accuracy']:.3f}, tau {result['tau']:.3f} ({result['measure']}, {result['model']}).\n"
        f"Scores: Spearman's rho {result['rho']:.3f}, RMSE {result['rmse']:.3f}, of differences between systems "
        f"{result['rmse_differences']:.3f}."
    )
    return Group(curve_view(result["curve"]), Text(end))


def _typed() -> str:
    """The command as people type it to call it once more: with its folder if that is not on the path."""
    command = sys.argv[0]
    if Path(command).name != "audiosim":
        return "python -m audiosim"
    return "audiosim" if which("audiosim") == command else quote(command)


def demo_view(result: "DemoResult") -> RenderableType:
    """End of the demo: the ranking, the judgments, its confidence and its accuracy, and the folder of the files."""
    ranking, end = result.ranking, result.curve[-1]
    saved = (
        f"A simulated listener judged {ranking.judged:,} of {ranking.pool:,} pairs "
        f"({100 * ranking.judged / ranking.pool:.0f} %), {result.batch} at a time. The truth is known here: "
        f"{100 * end.accuracy:.1f} % of the pairs of systems are in the right order (tau {result.tau:.3f}); "
        f"the stated confidence was {100 * (end.confidence or 0):.1f} %."
    )
    folder = result.files[0][0].parent
    command, name, database = _typed(), quote(str(folder)), quote(f"sqlite:///{folder / 'campaign.db'}")
    following = f"\nNext: {command} next {name} -n 5\n      {command} serve {name} --db {database} --open"
    files = PlainTable(("File", "left"), ("Contents", "left"))
    for path, meaning in result.files:
        files.add_row(path.name, meaning)
    return Group(
        Text("\nRanking of the systems", style="bold"),
        ranking_view(ranking),
        Text("\nThe campaign", style="bold"),
        Text(saved),
        curve_view(result.to_dict()["curve"]),
        Text(f"\nFiles in {folder}", style="bold", overflow="fold"),
        files,
        Text(following, overflow="fold"),
    )
