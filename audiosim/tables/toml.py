"""TOML files with known keys; every error says path:line."""

import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

from audiosim.errors import FormatError
from audiosim.tables.text import every_line
from audiosim.text import choices

MOST_DOTS = 1000  # more than any text has between two commas or brackets


def read_table(path: Path, keys: Sequence[str]) -> tuple[str, dict[str, object]]:
    """The text of a TOML file and its table; an unknown key is an error."""
    text, table = read_toml(path)
    for key in table:
        if key not in keys:
            raise FormatError(path, line_of(text, key), f"unknown key {key}, expected {choices(key, keys)}")
    return text, table


def read_toml(path: Path) -> tuple[str, dict[str, object]]:
    """The text of a TOML file and its table, with any keys."""
    text = "\n".join(line for _, line in every_line(path))
    # tomllib takes time by the square of the number of parts of a key.
    for at, words in enumerate(text.split("\n"), start=1):
        if len(words) > MOST_DOTS and max(part.count(".") for part in re.split(r"[=,{}\[\]]", words)) > MOST_DOTS:
            raise FormatError(path, at, f"expected keys of up to {MOST_DOTS:,} parts, found more dots together")
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # tomllib reports the place only in its message, and no line number at the end of the file.
        problem, _, place = str(error).rpartition(" (at ")
        line = re.match(r"line (\d+)", place)
        number = int(line[1]) if line else text.count("\n") + 1
        raise FormatError(path, number, f"not TOML: {problem or error}") from None
    except (ValueError, RecursionError):
        raise FormatError(
            path, 1, "this TOML cannot be read: it has a number with thousands of digits, or is nested too deeply"
        ) from None


def written(value: object) -> str:
    """A text, number, or list or table of these, as TOML."""
    # JSON is valid TOML here, except for one character that TOML requires to be escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def line_of(text: str, key: str) -> int:
    """The line of a key; 1 if it cannot be found."""
    named = (number for number, line in enumerate(text.split("\n"), start=1) if _names(line, key))
    return next(named, 1)


def _names(line: str, key: str) -> bool:
    """True if a line begins with a key or the name of a table; a regular expression would take quadratic time."""
    rest = line.lstrip(" \t[\"'")
    return rest.startswith(key) and rest[len(key) :].lstrip(" \t\"'")[:1] in ("=", ".", "]")
