"""Prompts as text files: `prompts/bach.txt` for each prompt, or prompts.tsv with a line per prompt."""

from collections.abc import Iterable
from pathlib import Path

from audiosim.corpus.collection_files import find_file
from audiosim.corpus.identifiers import check_identifier
from audiosim.corpus.lines import every_line, read_lines
from audiosim.corpus.metadata_tables import read_rows
from audiosim.corpus.prompts import PROMPT, prompt_cell, prompt_text
from audiosim.errors import FormatError, InputError

PROMPTS = ("prompts", "prompt", "queries", "query", "references", "reference")  # names of the folder of prompts
SUFFIX = ".txt"
TABLE = "prompts.tsv"
COLUMNS = (PROMPT, "text")


def is_prompt(path: Path) -> bool:
    """True if a path is that of a text file in a folder of prompts."""
    return path.suffix.lower() == SUFFIX and path.parent.name.lower() in PROMPTS


def read_prompt(path: Path) -> str:
    """The text of a file, as written in documents.tsv."""
    try:
        return prompt_cell("\n".join(line for _, line in every_line(path)))
    except FormatError:
        raise
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def read_prompts(folder: Path) -> dict[str, str]:
    """The prompts of a folder by name, as written in documents.tsv, from its text files and its prompts.tsv."""
    table = find_file(folder, TABLE)
    found = {} if table is None else read_prompt_table(table)
    for path in _texts(folder):
        if path.stem in found:
            raise InputError(f"{path}: there is already a prompt {path.stem}, expected only one")
        found[path.stem] = read_prompt(path)
    return found


def read_prompt_table(path: Path) -> dict[str, str]:
    r"""The prompts of a prompts.tsv by name: a header, `prompt` and `text`, in which `\n` is a line end."""
    found: dict[str, str] = {}
    lines = read_lines(path, f"a header with {' and '.join(COLUMNS)}")
    for number, row in read_rows(path, lines, lambda _, text: text.split("\t"), COLUMNS, COLUMNS):
        name = row[PROMPT]
        check_identifier(path, number, PROMPT, name)
        if name in found:
            raise FormatError(path, number, f"prompt {name} occurs twice, expected it once")
        try:
            found[name] = prompt_cell(prompt_text(row["text"]))
        except InputError as error:
            raise FormatError(path, number, str(error)) from None
    return found


def _texts(folder: Path) -> Iterable[Path]:
    return sorted(path for path in folder.glob("*/*") if is_prompt(path) and path.is_file())
