"""Mistakes in names that occur in well-formed files: two spellings of one name, or a wrong encoding."""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

SHOWN = 3
SLIP = 0.005  # share of the documents with a value: a rarer second spelling is a slip
# Columns look swapped above these numbers of genres per artist, and of genres; MIREX 2011 has 10 genres, 602 artists.
MANY_MORE, MOST_GENRES = 3, 20
MISREAD_AS = ("cp1252", "latin-1", "cp437", "mac_roman")


def value_problems(kind: str, values: Iterable[str | None]) -> Iterator[str]:
    """Values in a column of documents.tsv with several spellings, each used by more than a SLIP of the documents.

    kind    name of the column
    values  value of each document, None where unknown
    """
    yield from _respelt(kind, values, slips=False)


def value_notes(kind: str, values: Iterable[str | None]) -> Iterator[str]:
    """Values that only a few documents spell differently, which hardly changes predictions."""
    yield from _respelt(kind, values, slips=True)


def _respelt(kind: str, values: Iterable[str | None], slips: bool) -> Iterator[str]:
    counts = Counter(value for value in values if value is not None)
    spellings: dict[str, list[str]] = defaultdict(list)
    for value in counts:
        spellings[_plain_value(value)].append(value)
    several = [sorted(alike, key=lambda value: -counts[value]) for alike in spellings.values() if len(alike) > 1]
    most = SLIP * counts.total()
    several = [alike for alike in several if (sum(counts[value] for value in alike[1:]) <= most) == slips]
    if several:
        said = "; ".join(", ".join(f"{value} ({counts[value]})" for value in alike) for alike in several[:SHOWN])
        more = f"; and {len(several) - SHOWN} more" if len(several) > SHOWN else ""
        yield f"documents.tsv: {kind} spelt in several ways, counted as different: {said}{more}"


def swapped_problems(artists: Iterable[str | None], genres: Iterable[str | None]) -> Iterator[str]:
    """Artist and genre columns that look swapped: there are many more genres than artists."""
    counts = Counter(artist for artist in artists if artist), Counter(genre for genre in genres if genre)
    few, many = map(len, counts)
    if few and many > MANY_MORE * few and many > MOST_GENRES:
        yield f"documents.tsv: {few} artists and {many} genres: the columns look swapped"


def _plain_value(value: str) -> str:
    folded = unicodedata.normalize("NFKC", value).casefold()
    return "".join(letter for letter in folded if letter.isalnum()) or folded.strip()


def encoding_problems(names: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Names that were read in a wrong encoding before they were written to a file.

    names   by kind, such as "artists"
    """
    for kind, some in names.items():
        wrong = {name: meant for name in sorted(set(some)) if (meant := misread(name)) is not None}
        if wrong:
            name = next(iter(wrong))
            should = f", which should be {wrong[name]}" if wrong[name] else ", which has lost letters"
            count = "one" if len(wrong) == 1 else f"{len(wrong)}"
            yield f"{count} of the {kind} in a wrong encoding, such as {name}{should}"


def misread(name: str) -> str | None:
    """The correct form of a name that is UTF-8 read in another encoding; empty if it cannot be recovered."""
    if name.isascii():
        return None
    if "\ufffd" in name:
        return ""
    for encoding in MISREAD_AS:
        try:
            meant = name.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
        if meant != name and meant.isprintable():
            return meant
    return None
