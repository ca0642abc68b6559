"""documents.tsv, queries.tsv and systems.tsv."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audiosim.collection.kinds import DOCUMENTS, read_documents, read_queries, read_systems
from audiosim.collection.values import Document
from audiosim.collection.written import document_lines, query_lines, system_lines
from audiosim.errors import FormatError, InputError
from audiosim.tables.text import write_text

# A field of a table may contain anything except tabs and line ends.
VALUES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\r\n\0")).map(str.strip)
IDENTIFIERS = VALUES.filter(lambda text: text.strip() and not text.startswith("\ufeff"))
UNKNOWN = st.none() | VALUES.filter(bool)


def table(tmp_path, text):
    (tmp_path / "table.tsv").write_text(text)
    return tmp_path / "table.tsv"


def test_documents_are_read_with_their_further_columns_and_empty_is_unknown(tmp_path):
    path = table(tmp_path, "genre\tdocument\tyear\tpath\tartist\nROCK\td 1\t1999\tx y.ogg\t\n\td2\t\t\tAbba\n")
    assert read_documents(path) == {
        "d 1": Document("d 1", None, "ROCK", "x y.ogg", {"year": "1999"}),
        "d2": Document("d2", "Abba", None, None, {}),
    }


def test_queries_and_teams_that_are_empty_are_left_out(tmp_path):
    assert read_queries(table(tmp_path, "query\tdocument\nq1\td1\nq2\t\n")) == {"q1": "d1"}
    assert read_systems(table(tmp_path, "team\tsystem\nT\tS1\n\tS2\n")) == {"S1": "T"}


ERRORS = {
    "": r":1: the file is empty, expected a header with document$",
    "artist\tgenre\nx\ty\n": r":1: expected a column document in the header, found artist, genre$",
    "document\tgnere\nd1\tjazz\n": r":1: unknown column gnere, did you mean genre\? Rename it to genre, "
    r"or to something clearly different$",
    "document\tArtist\n": r":1: unknown column Artist, did you mean artist\? Rename it to artist, "
    r"or to something clearly different$",
    "Document\tartist\n": r":1: expected a column document in the header, found Document, artist; did you mean "
    r"document for Document\?$",
    "document|artist\nd1|Abba\n": r":1: expected a column document in the header, found document|artist$",
    "document\tartist\n": r":1: the file ends after its header, expected documents below it$",
    "document\tartist\tartist\n": r":1: the header names column artist twice, expected it once$",
    "document\t\tartist\n": r":1: column 2 of the header has no name, expected one$",
    "document\tartist\nd1\ta\nd2\n": r":3: expected 2 columns as in the header, found 1$",
    "document\nd1\nd2\n\nd1\n": r":5: document d1 is on line 2 already, expected it once$",
    "document\tartist\n\tAbba\n": r":2: the document is empty, expected an identifier$",
}


@pytest.mark.parametrize(("text", "error"), ERRORS.items())
def test_a_table_that_breaks_a_rule_is_refused_where_it_does(tmp_path, text, error):
    with pytest.raises(FormatError, match=r"table\.tsv" + error):
        read_documents(table(tmp_path, text))


def test_a_query_or_a_system_twice_is_refused(tmp_path):
    with pytest.raises(FormatError, match=r":3: query q is on line 2 already, expected it once$"):
        read_queries(table(tmp_path, "query\tdocument\nq\td\nq\te\n"))
    with pytest.raises(FormatError, match=r":3: system S is on line 2 already, expected it once$"):
        read_systems(table(tmp_path, "system\tteam\nS\tT\nS\tT\n"))


def test_columns_that_would_be_lost_are_refused(tmp_path):
    with pytest.raises(FormatError, match=r":1: unknown column name, expected system, team$"):
        read_systems(table(tmp_path, "system\tteam\tname\nS\tT\tx\n"))
    with pytest.raises(FormatError, match=r":1: unknown column genre, expected query, document, prompt$"):
        read_queries(table(tmp_path, "query\tdocument\tgenre\nq\td\tx\n"))


@st.composite
def documents(draw):
    columns = VALUES.filter(lambda text: text.strip() and text not in DOCUMENTS.known)
    more = st.dictionaries(columns, VALUES.filter(bool), max_size=2)
    names = draw(st.lists(IDENTIFIERS, min_size=1, max_size=5, unique=True))
    return {name: Document(name, draw(UNKNOWN), draw(UNKNOWN), draw(UNKNOWN), draw(more)) for name in names}


@pytest.mark.slow
@given(documents=documents())
def test_documents_that_are_written_are_read_again(tmp_path_factory, documents):
    path = tmp_path_factory.mktemp("tables") / "documents.tsv"
    write_text(path, document_lines(documents.values()))
    assert read_documents(path) == documents


@pytest.mark.slow
@given(mapping=st.dictionaries(IDENTIFIERS, VALUES.filter(bool), min_size=1, max_size=5))
def test_queries_and_teams_that_are_written_are_read_again(tmp_path_factory, mapping):
    path = tmp_path_factory.mktemp("tables") / "table.tsv"
    write_text(path, query_lines(mapping))
    assert read_queries(path) == mapping
    write_text(path, system_lines(mapping))
    assert read_systems(path) == mapping


def test_values_that_a_table_cannot_hold_are_refused():
    with pytest.raises(InputError, match=r"'a\\tb' cannot be written to a table: it contains a tab or a line end$"):
        document_lines([Document("d", artist="a\tb")])
    with pytest.raises(InputError, match=r"' ' cannot be written to a table: expected an identifier$"):
        system_lines({" ": "T"})
    with pytest.raises(InputError, match=r"^document d has an extra column named path, a reserved name$"):
        document_lines([Document("d", more={"path": "x"})])


def test_columns_of_ones_own_are_kept_where_they_could_not_be_meant_for_others(tmp_path):
    path = table(tmp_path, "document\tgenre\tgenres\tpart\tyear\nd\tjazz\tbebop\t1\t1959\n")
    assert read_documents(path)["d"].more == {"genres": "bebop", "part": "1", "year": "1959"}
