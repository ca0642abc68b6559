"""Whatever is read has an end: in time, in depth, and in the length of what is said about it."""

import pytest

from audiosim.campaign.history import history
from audiosim.collection.evidence import read_feature_rows, read_pieces
from audiosim.collection.kinds import (
    read_comparisons,
    read_documents,
    read_judge,
    read_judgments,
    read_pairs,
    read_queries,
    read_runs,
    read_systems,
    runs_in_memory,
)
from audiosim.collection.settings import read_settings
from audiosim.collection.task import read_task
from audiosim.errors import AudiosimError, FormatError
from audiosim.ordinal.model import load_model
from audiosim.people.answers import read_list_pairs
from audiosim.people.study_log import read_study_log
from audiosim.text import LONGEST_MESSAGE, brief, nearest_name

LONG = 300_000
READERS = {
    "runs": lambda path: read_runs([path]),
    "judgments": read_judgments,
    "judgments of groups": read_judgments,
    "documents": read_documents,
    "queries": read_queries,
    "systems": read_systems,
    "comparisons": read_comparisons,
    "judge": lambda path: read_judge(path, "m"),
    "evidence.csv": lambda path: list(read_pieces(path)),
    "evidence.tsv": lambda path: list(read_pieces(path)),
    "features.csv": lambda path: list(read_feature_rows(path, ["fSYS"], 1000)),
    "pairs": read_pairs,
    "settings": read_settings,
    "task": read_task,
    "lists": lambda path: read_list_pairs(path, known=True),
    "study": read_study_log,
    "model.json": load_model,
    "record.json": history,
}
HEADS = {
    "comparisons": "query\tdocument_a\tdocument_b\tanswer",
    "documents": "document\tartist",
    "queries": "query\tdocument",
    "systems": "system\tteam",
    "judge": "query\tdocument\tgrade",
    "evidence.csv": "document,x0,x1",
    "evidence.tsv": "query\tdocument\tclicks",
    "features.csv": "query,document,fSYS",
    "judgments": "query,document,grade,assessor",
    "lists": "answer\tquery\tA1\tB1",
}
LETTERS = "ab" * (LONG // 2)


def read(reader, path, ended):
    """The message of a reader that refuses a file; empty if it takes the file."""
    try:
        with ended():
            READERS[reader](path)
    except AudiosimError as error:
        return str(error)
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_every_reader_ends_soon_with_a_short_line_whatever_the_shape_of_a_file(tmp_path, reader, shapes, ended):
    head = HEADS.get(reader, "")
    separator = "\t" if "\t" in head else ","
    path = tmp_path / ("groups.qrel" if "groups" in reader else reader)
    for shape, text in shapes.items():
        wide = [f"{head}{separator}{text}\n", f"{head}\n{text}{separator}{text}\n", f"{head}\n{text}\n"]
        for tried in [text, *(wide if head else ())]:
            path.write_text(tried)
            said = read(reader, path, ended)
            assert len(said) <= LONGEST_MESSAGE, (shape, len(said))
            assert not said or str(path) in said, shape


@pytest.mark.parametrize("name", [LETTERS, "x" * LONG], ids=["of two letters", "of one letter"])
def test_values_in_memory_end_soon_with_a_short_line(name, ended):
    class Frame:
        def __init__(self, *columns):
            self.columns = columns

        def __getitem__(self, column):
            return [column]

    for read_in, given in [
        (runs_in_memory, {name: 1}),
        (runs_in_memory, {name: {name: {name: name}}}),
        (read_judgments, {name: {name: name}}),
        (read_judgments, Frame(name)),
        (read_documents, Frame(*(f"{name}{n}" for n in range(9)))),
    ]:
        with ended(), pytest.raises(AudiosimError) as found:
            read_in(given)
        assert len(str(found.value)) <= LONGEST_MESSAGE


def test_a_long_message_keeps_its_ends_and_one_line():
    words = brief(f"a.tsv:1: unknown column {LETTERS}\n{LETTERS}, expected document" + 1000 * " or" + " artist")
    assert len(words) <= LONGEST_MESSAGE
    assert words.startswith("a.tsv:1: unknown column abab")
    assert words.endswith(" or artist")
    assert words.isprintable()
    usual = "a.tsv:1: unknown column colour, expected document"
    assert brief(usual) == usual


def test_an_error_is_short_in_whatever_way_it_is_made():
    error = FormatError("a.tsv", 3, f"unknown column {LETTERS}")
    assert str(error).startswith("a.tsv:3: unknown column abab")
    assert len(str(error)) <= LONGEST_MESSAGE


def test_long_names_and_many_names_are_not_compared(ended):
    known = [f"{n:06d}{'ab' * 27}" for n in range(6000)]
    with ended():
        assert nearest_name(LETTERS, [LETTERS[1:]]) is None
        assert nearest_name("artits", [LETTERS, "artist"]) == "artist"
        nearest_name("ab" * 30, known)
