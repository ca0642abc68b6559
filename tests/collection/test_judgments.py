"""Judgments: forms, choosing or guessing the scale, errors, and writing followed by reading."""

import json
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audiosim.collection.kinds import read_judgments
from audiosim.collection.values import BINARY, BROAD, FINE, Judgment, Scale
from audiosim.collection.written import judgments_csv_lines, qrels_lines, write_judgments_csv
from audiosim.errors import FormatError, InputError
from audiosim.tables.text import write_text

HALVES = Scale("custom", (0.0, 0.5, 1.0))


def read(tmp_path, text, scale=None):
    (tmp_path / "judgments").write_text(text)
    return read_judgments(tmp_path / "judgments", scale)


FORMS = {
    "qrels": "q 0 d 50\nq 0 e 7\n",
    "qrels parted by tabs": "q\t0\td\t50\nq\t0\te\t7\n",
    "list": "q d 50\nq e 7.0\n",
    "list with header": "query document grade\nq d 50\nq e 7\n",
    "tab-separated table": "document\tgrade\tquery\nd\t50\tq\ne\t7\tq\n",
    "CSV": '"query",document,grade\nq,"d",50\nq,e,7\n',
    "CSV with the column of the scale": "query,document,broad,fine\nq,d,1,50\nq,e,0,7\n",
    "JSON Lines": '{"query": "q", "document": "d", "grade": 50}\n'
    '{"fine": 7, "broad": 0, "document": "e", "query": "q"}\n',
}


def test_identifiers_of_qrels_may_look_like_json_or_csv(tmp_path):
    expected = (Judgment('{"q"', '"d,e', 2),)
    assert read(tmp_path, '{"q" 0 "d,e 2\n', BROAD)[1] == expected


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_every_form_says_the_same(tmp_path, text):
    assert read(tmp_path, text, FINE) == (FINE, (Judgment("q", "d", 50), Judgment("q", "e", 7)))


def test_the_grade_of_qrels_that_means_unjudged_is_left_out(tmp_path):
    assert read(tmp_path, "q 0 d -1\nq 0 e 2\n", BROAD)[1] == (Judgment("q", "e", 2),)


def test_the_scale_picks_its_column(tmp_path):
    text = "query,document,broad,fine,assessor,time\nq,d,1,50,ann,2011-09-01T10:00:00\n"
    assert read(tmp_path, text, FINE)[1] == (Judgment("q", "d", 50, "ann", "2011-09-01T10:00:00"),)
    assert read(tmp_path, text, BROAD)[1] == (Judgment("q", "d", 1, "ann", "2011-09-01T10:00:00"),)


def test_a_line_that_is_silent_on_the_scale_is_left_out(tmp_path):
    text = "query,document,broad,fine\nq,d,1,\nq,e,1,50\n"
    assert read(tmp_path, text, FINE)[1] == (Judgment("q", "e", 50),)


def test_what_an_assessor_says_again_is_kept_in_order(tmp_path):
    text = "query,document,grade,assessor\nq,d,1,ann\nq,d,0,bob\nq,d,2,ann\n"
    assert [(j.assessor, j.grade) for j in read(tmp_path, text, BROAD)[1]] == [("ann", 1), ("bob", 0), ("ann", 2)]


def test_identifiers_may_hold_spaces_in_tables_and_be_numbers_in_json(tmp_path):
    assert read(tmp_path, "query,document,grade\nq 1,d 1,2\n", BROAD)[1] == (Judgment("q 1", "d 1", 2),)
    text = '{"query": 301, "document": "d 1", "grade": 2, "assessor": null, "fine": null}\n'
    assert read(tmp_path, text, BROAD)[1] == (Judgment("301", "d 1", 2),)


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ("q d 0\nq e 1\n", BINARY),
        ("q d 0\nq e 2\n", BROAD),
        ("q d 0\nq e 13\n", FINE),
        ("q d 100\n", FINE),
        ("q 0 d -1\n", FINE),
        ("query,document,fine\nq,d,1\n", FINE),
        ("query,document,broad\nq,d,1\n", BROAD),
        ("query,document,broad,fine\nq,d,1,1\n", FINE),
    ],
)
def test_a_scale_that_is_not_given_is_guessed_from_columns_and_grades(tmp_path, text, scale):
    assert read(tmp_path, text)[0] == scale


@pytest.mark.parametrize("grade", ["0.5", "101", "-3"])
def test_a_grade_on_no_known_scale_leaves_nothing_to_guess(tmp_path, grade):
    error = rf":3: grade {grade} fits no usual scale \(.*\), expected a scale in collection.toml, or `scale=SCALE`$"
    with pytest.raises(FormatError, match=error):
        read(tmp_path, f"q d 1\nq e 99\nq f {grade}\n")


ERRORS = {
    "": r":1: the file is empty, expected TREC qrels \(query 0 document grade\), lines of query document grade, CSV",
    "q,d,50\n": r":1: expected TREC qrels .*, or JSON Lines, found 'q,d,50': columns between commas need a header "
    r"with query and document$",
    "q;d;1\n": r":1: expected TREC qrels .*, found 'q;d;1': columns between semicolons need a header with query and "
    r"document$",
    "querry,song,grade\nq,d,1\n": r":1: .*, found 'querry,song,grade': .*; did you mean query for querry\?$",
    "query,document,stars\nq,d,1\n": r":1: expected a column grade \(or relevance, rel, label, rating, score, fine, "
    r"broad, group, cannot\) in the header, found query, document, stars$",
    "query;document;grade\n": r":1: the file ends after its header, expected judgments below it$",
    "Query,Document,Grade\nq,d,1\n": r":1: expected a column query in the header, found Query, Document, Grade; did "
    r"you mean query for Query\?$",
    "query\tdocument\tgrade\nq\td\t0,5\n": r":2: expected a finite number for grade, found '0,5', which looks like a "
    r"decimal comma: write 0.5$",
    "q 0 d "
    + 6000 * "9"
    + "\n": r":1: expected a finite number for grade, found '9{20}'\.\.\.'9{20}' \(6000 characters\)$",
    '{"query": "q", "document": "d", "grade": '
    + 6000 * "9"
    + "}\n": r":1: not JSON: Exceeds the limit .*, expected one "
    r"object per line",
    '{"query": ' + 100_000 * "[" + "}\n": r":1: not JSON: nested too deeply, expected one object per line",
    "q 0 d 1\nq e 1\n": r":2: expected 4 columns as on the lines above, found 3$",
    "q d 1\nq 0 e 1\n": r":2: expected 3 columns as on the lines above, found 4; a name with a space counts as two "
    r"columns$",
    "q 0 d 1\n\nq 0 d 2\n": r":3: query q, document d is on line 1 already, expected it once$",
    "q d 1\nq d 1\n": r":2: query q, document d is on line 1 already, expected it once$",
    "q 0 d 3\n": r":1: grade 3 is not on the broad scale \(0 1 2\)$",
    "q 0 d -3\n": r":1: grade -3 is not on the broad scale \(0 1 2\)$",
    "q 0 d 0.5\n": r":1: grade 0.5 is not on the broad scale \(0 1 2\)$",
    "q 0 d nan\n": r":1: expected a finite number for grade, found 'nan'$",
    "q 0 d inf\n": r":1: expected a finite number for grade, found 'inf'$",
    "q 0 d good\n": r":1: expected a finite number for grade, found 'good'$",
    "query,grade\nq,1\n": r":1: expected a column document in the header, found query, grade$",
    "query,document,grade,grade\n": r":1: the header names column grade twice, expected it once$",
    "query,document,asessor\n": r":1: unknown column asessor, did you mean assessor\? Rename it to assessor, or to",
    "query,document,grade\nq,d,1,ann\n": r":2: expected 3 columns as in the header, found 4$",
    'query,document,grade\nq,"d,1\n': r":2: not CSV: unexpected end of data, expected one record per line$",
    "query,document,grade\n,d,1\n": r":2: the query is empty, expected an identifier$",
    "query,document,grade\nq, ,1\n": r":2: the document is empty, expected an identifier$",
    "query,document,grade\nq,d,\n": r":2: no grade, expected one in grade, fine, broad$",
    "query,document,grade\nq,d,-3\n": r":2: grade -3 is not on the broad scale \(0 1 2\)$",
    "query,document,grade\nq,d,1\nq,d,2\n": r":3: query q and document d have the grade 1 on line 2 already, got 2, "
    r"expected one grade, or the names of the assessors$",
    "query,document,fine\nq,d,50\n": r":2: expected a grade for the broad scale in broad or grade, found only fine$",
    "query,document,broad,grade\nq,d,2,\nq,e,2,1\n": r":3: grade 1 contradicts broad 2: both are on the same scale",
    "query,document,grade,broad\nq,d,VS,1\n": r":2: grade VS contradicts broad 1, expected one of them$",
    '{"query": "q", "document": "d", "broad": 2, "grade": 0}\n': r":1: grade 0 contradicts broad 2",
    '<r><j query="q" doc="d" broad="VS" grade="1"/></r>\n': r":1: grade 1 contradicts broad 2",
    "query,document,fine\nq,d,nan\n": r":2: expected a finite number for fine, found 'nan'$",
    '{"query": "q", "document": "d", "grade": 1}\n{"query"\n': r":2: not JSON: Expecting ':' delimiter, "
    r"expected one object per line$",
    '{"query": "q", "document": "d", "grade": 1}\n[1]\n': r":2: expected a JSON object, one per line, found \[1\]$",
    '{"query": "q", "grade": 1}\n': r":1: expected a column document, found query, grade$",
    '{"query": "q", "document": "d", "level": 1}\n': r":1: expected a column grade .*, found query, document, level$",
    '{"query": "q", "document": "d", "grade": "one"}\n': r":1: expected a finite number for grade, found 'one'$",
    '{"query": "q", "document": "d", "grade": true}\n': r":1: expected a finite number for grade, found True$",
    '{"query": "q", "document": "d", "grade": NaN}\n': r":1: no grade, expected one in grade, fine, broad$",
    '{"query": "q", "document": ["d"], "grade": 1}\n': r":1: expected a text or a whole number as identifier of a "
    r"document, found \['d'\]$",
}


@pytest.mark.parametrize(("text", "error"), ERRORS.items())
def test_judgments_that_break_a_rule_are_refused_where_they_do(tmp_path, text, error):
    with pytest.raises(FormatError, match=r"^[^\n]*judgments" + error):
        read(tmp_path, text, BROAD)


def test_a_scale_of_ones_own_has_its_grades_in_the_column_grade(tmp_path):
    with pytest.raises(FormatError, match=r":2: expected a grade for the custom scale in grade, found only fine$"):
        read(tmp_path, "query,document,fine\nq,d,1\n", HALVES)


WORDS = st.text(
    st.characters(exclude_categories=["Cs", "Z", "Cc"], exclude_characters="\ufeff"), min_size=1, max_size=4
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"), max_size=6).map(str.strip)
IDENTIFIERS = TEXTS.filter(str.strip)
GRADES = st.sampled_from(HALVES.levels)
NAMED = st.lists(
    st.builds(Judgment, IDENTIFIERS, IDENTIFIERS, GRADES, TEXTS, TEXTS),
    min_size=1,
    max_size=6,
    unique_by=lambda j: (j.pair, j.assessor),
).map(tuple)
NAMELESS = st.lists(st.builds(Judgment, WORDS, WORDS, GRADES), min_size=1, max_size=6, unique_by=lambda j: j.pair)


@pytest.mark.slow
@given(judgments=NAMELESS.map(tuple))
def test_qrels_that_are_written_are_read_again(tmp_path_factory, judgments):
    path = tmp_path_factory.mktemp("judgments") / "judgments.qrels"
    write_text(path, qrels_lines(judgments))
    assert read_judgments(path, HALVES) == (HALVES, judgments)


@pytest.mark.slow
@given(judgments=NAMED, name=st.sampled_from(["judgments.csv", "judgments.csv.gz"]))
def test_csv_that_is_written_is_read_again(tmp_path_factory, judgments, name):
    path = tmp_path_factory.mktemp("judgments") / name
    write_judgments_csv(path, judgments)
    assert read_judgments(path, HALVES) == (HALVES, judgments)


@pytest.mark.slow
@given(judgments=NAMED.filter(bool))
def test_json_lines_are_read_whatever_is_left_out_of_them(tmp_path_factory, judgments):
    path = tmp_path_factory.mktemp("judgments") / "judgments.jsonl"
    write_text(
        path, [json.dumps({key: value for key, value in asdict(one).items() if value != ""}) for one in judgments]
    )
    assert read_judgments(path, HALVES) == (HALVES, judgments)


@pytest.mark.parametrize(
    "judgments",
    [
        [Judgment("q", "d", 1, "ann")],
        [Judgment("q", "d", 1, "", "2011-09-01")],
        [Judgment("q", "d", 1), Judgment("q", "d", 2)],
    ],
    ids=["assessor", "time", "revision"],
)
def test_qrels_refuse_what_they_would_lose(judgments):
    with pytest.raises(
        InputError, match=r"^qrels hold one grade per pair, no assessor and no time: write these .* CSV$"
    ):
        qrels_lines(judgments)


def test_identifiers_that_a_form_cannot_hold_are_refused():
    with pytest.raises(InputError, match=r"^'d 1' cannot be written: white space separates columns here"):
        qrels_lines([Judgment("q", "d 1", 1)])
    with pytest.raises(InputError, match=r"^'d\\n1' cannot be written: it contains a line end$"):
        judgments_csv_lines([Judgment("q", "d\n1", 1)])
    with pytest.raises(InputError, match=r"^' d' cannot be written: readers would trim it$"):
        judgments_csv_lines([Judgment("q", " d", 1)])
    with pytest.raises(InputError, match=r"^query 'q' and document '' cannot be written: one is empty$"):
        judgments_csv_lines([Judgment("q", "", 1)])
