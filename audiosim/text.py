"""Messages and their parts: shortened texts, the name that was probably meant, the first repeated name; docstrings."""

import errno
import inspect
import logging
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

NOTES = logging.getLogger("audiosim.notes")  # what verbs tell people beside their results; commands print it
Name = TypeVar("Name", bound=Hashable)
ALIKE = 0.78  # threshold of difflib's ratio: gnere is like genre, part is not like path
LONGEST_QUOTE = 40
LONGEST_WORD = 255  # as long as a file's name may be
LONGEST_MESSAGE = 1000
# Longer names, or more of them, are not compared: likeness takes time by the square of a name's length, 0.2 ms for 60.
LONGEST_COMPARED, MOST_COMPARED = 60, 2000
# In an error or note: an argument and its value, in Python's words.
ADVICE = re.compile(r"`([a-z_]+)=(['\"]?)([^`]+)\2`")
# What pydantic's rules expect, by the beginning of their names.
REFUSED = {"int_": "a whole number", "float_": "a number", "bool_": "true or false", "literal_error": "{expected}"}
REFUSED |= {"enum": "{expected}", "greater_than_equal": "at least {ge}", "less_than_equal": "at most {le}"}
FIELD = re.compile(r"(\w+(?:, \w+)*) {2,}(\S.*)")


def printable(text: str) -> str:
    """Text with escapes for unprintable characters and those that UTF-8 cannot encode."""
    return text if text.isprintable() else "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def brief(message: str) -> str:
    """A message on one line, of at most LONGEST_MESSAGE characters; what is too long loses its middle."""
    text = re.sub(rf"\S{{{LONGEST_WORD + 1},}}", lambda word: _ends(word[0], LONGEST_WORD, "..."), printable(message))
    return _ends(text, LONGEST_MESSAGE, " ... ")


def _ends(text: str, longest: int, between: str) -> str:
    half = (longest - len(between)) // 2
    return text if len(text) <= longest else f"{text[:half]}{between}{text[-half:]}"


def spell_advice(message: str, spell: Callable[[str, str], str]) -> str:
    """A message whose advice, such as `unjudged="zero"`, is spelled by a face: it gets the argument and the value."""
    return ADVICE.sub(lambda found: spell(found[1], found[3]), message)


def as_option(argument: str, value: str) -> str:
    """An argument as it is typed."""
    option = argument if argument.startswith("-") else f"--{argument.replace('_', '-')}"
    return option if value == "True" else f"{option} {value}"


def one_line(error: Exception) -> str:
    """Kind and message of a foreign exception."""
    return brief(" ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":"))


INSTEAD = {
    errno.ENOENT: "a name that exists",
    errno.ENOTDIR: "a folder, not a file",
    errno.EISDIR: "a file, not a folder",
    errno.EEXIST: "a new name",
    errno.EACCES: "what you may read and write",
    errno.EPERM: "what you may read and write",
    errno.EROFS: "a place that can be written to",
    errno.ENOSPC: "free space on the disk",
    errno.EDQUOT: "free space on the disk",
    errno.ENAMETOOLONG: "a shorter name",
    errno.ELOOP: "a link that ends at a file",
}


def reason(error: OSError) -> str:
    """Reason for which the system refused, and what it expects instead."""
    instead = INSTEAD.get(error.errno or 0)
    return f"{error.strerror}, expected {instead}" if instead else str(error.strerror)


PLURALS = {"query": "queries", "person": "people", "has": "have", "is": "are", "pair of systems": "pairs of systems"}


def counted(number: int, one: str, verb: str = "") -> str:
    """A number with its noun, such as 1 query or 1,000 queries, and with a verb that agrees: 2 documents have."""
    noun = one if number == 1 else PLURALS.get(one, f"{one}s")
    agreeing = verb if number == 1 else PLURALS.get(verb, verb)
    return f"{number:,} {noun} {agreeing}".rstrip()


def few(names: Sequence[str], count: int) -> str:
    """The first `count` names, with ... for the others."""
    return ", ".join(names[:count]) + (", ..." if len(names) > count else "")


def spelled_p(value: float | None) -> str:
    """A p-value without needless zeros, and never as 0, which none is; a dash if it is not known."""
    return "–" if value is None else "<.0001" if value < 1e-4 else f"{value:.4f}".removeprefix("0")


def sentence(words: str) -> str:
    """Words as a sentence: with a full stop, and a capital, unless they begin with a value that is explained."""
    first = words[:1] if re.match(r"\S+:", words) else words[:1].upper()
    return f"{first}{words[1:]}{'' if words.endswith(('.', '?', '!')) else '.'}"


def repeated(names: Iterable[Name]) -> Name | None:
    """The first name that occurs twice, or None."""
    seen: set[Name] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


@lru_cache(1)  # an error compares many words with the same names
def _folded(known: tuple[str, ...]) -> dict[str, str]:
    return {other.strip().casefold(): other for other in reversed(known) if len(other) <= LONGEST_COMPARED}


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Known name that was probably meant: equal but for case or two swapped letters, or similar."""
    if len(name) > LONGEST_COMPARED:
        return None
    folded, wanted = _folded(tuple(known)), name.strip().casefold()
    if wanted in folded or len(folded) > MOST_COMPARED:
        return folded.get(wanted)
    # In a short name such as nDGC, two swapped letters are half of the name, so difflib finds no likeness. Digits are
    # never swapped: d12 and d21 are different names.
    swapped = (f"{wanted[:at]}{wanted[at + 1]}{wanted[at]}{wanted[at + 2 :]}" for at in range(len(wanted) - 1))
    if wanted.isalpha() and (near := next((folded[other] for other in swapped if other in folded), None)):
        return near
    from difflib import get_close_matches  # importing it takes longer than most commands run

    return next((folded[close] for close in get_close_matches(wanted, folded, 1, ALIKE)), None)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """End of an error message on an unknown name: the nearest known one, or nothing."""
    near = nearest_name(name, known)
    return "" if near is None else f"; did you mean {near}?"


def choices(name: object, known: Iterable[str]) -> str:
    """Known names in an error message on an unknown one, with the nearest."""
    known = list(known)
    return ", ".join(known) + did_you_mean(str(name), known)


def refused_in_words(refused: Mapping[str, Any]) -> str:
    """An error of pydantic, which reads what is typed and sent, in our words: expected at least 1, got '0'."""
    known = next((words for kind, words in REFUSED.items() if refused["type"].startswith(kind)), None)
    if known is None:
        said = re.sub(r"Value error, (.*) is not one of (.*)\.", r"expected one of \2, got \1", refused["msg"])
        return f"{said[:1].lower()}{said[1:]}".removeprefix("value error, ")
    expected = known.format(**refused.get("ctx", {})).replace("'", "")
    return f"expected {expected}, got {quoted(str(refused['input']))}"


def quoted(text: str) -> str:
    """Text found in a file, in quotes, shortened in the middle if long."""
    return repr(text) if len(text) <= LONGEST_QUOTE else shortened(text)


def decimal_comma(cell: object) -> str:
    """End of an error message on a text that looks like a number with a decimal comma, or nothing."""
    comma = re.fullmatch(r"\s*([+-]?\d{0,30}),(\d{1,30})\s*", cell) if isinstance(cell, str) else None
    return f", which looks like a decimal comma: write {comma[1]}.{comma[2]}" if comma else ""


def shortened(text: str) -> str:
    """Text, shortened in the middle if long."""
    half = LONGEST_QUOTE // 2
    return text if len(text) <= LONGEST_QUOTE else f"{text[:half]!r}...{text[-half:]!r} ({len(text)} characters)"


def field_list(docstring: str) -> tuple[str, dict[str, str]]:
    """The text of a docstring without its lists of fields, and the words on each field.

    A list is a paragraph that begins with one name, or several with commas, two spaces or more, and words; lines that
    are indented continue the words above them.
    """
    text, fields = [], dict[str, str]()
    for paragraph in inspect.cleandoc(docstring).split("\n\n"):
        if FIELD.match(paragraph):
            lines = re.sub(r"\n +", " ", paragraph).split("\n")
            found = [match.groups() for line in lines if (match := FIELD.fullmatch(line))]
            fields |= {name: words for names, words in found for name in names.split(", ")}
        else:
            text.append(paragraph)
    return "\n\n".join(text), fields
