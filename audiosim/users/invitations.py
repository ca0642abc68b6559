"""People who may take part in a study: a file with one name or code per line."""

from pathlib import Path

from audiosim.corpus.lines import read_lines
from audiosim.errors import FormatError

LONGEST_NAME = 200
NAME_EXPECTED = f"a name of 1 to {LONGEST_NAME} printable characters"


def plain_name(worker: str) -> str:
    """A name without needless spaces."""
    return " ".join(worker.split())


def is_name(name: str) -> bool:
    """True if a text can be a person's name."""
    return 0 < len(name) <= LONGEST_NAME and name.isprintable()


def read_invited(path: str | Path) -> tuple[str, ...]:
    """The people in a file, each line checked."""
    path, found = Path(path), []
    for number, line in read_lines(path, "a name or code per line"):
        name = plain_name(line)
        if not is_name(name):
            raise FormatError(path, number, f"expected {NAME_EXPECTED}, found {name[:20]!r} ... of {len(name)}")
        if name.startswith("#"):
            raise FormatError(path, number, f"expected a name or code, which does not begin with #, found {name!r:.60}")
        found.append(name)
    return tuple(found)
