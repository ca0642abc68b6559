"""The scale of grades if none is given: usual forms, made up and real, and the sentence about the guess."""

import shutil
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audiosim.collection.collection import Collection
from audiosim.collection.kinds import read_judgments
from audiosim.collection.scales import guess_scale
from audiosim.collection.values import BINARY, BROAD, FINE, Judgment, Scale, as_scale, parse_scale
from audiosim.errors import FormatError, InputError

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
REAL = [
    *(f"foreign/{name}" for name in ("covid1", "dl2019", "ehealth2013", "ehealth2014", "ted-ende")),
    *(f"listeners/{name}" for name in ("dialsumm", "mqm23-zhen", "sisec08", "vcc2020-en")),
    "mirex2011",
]


def whole(first, last):
    return tuple(float(level) for level in range(first, last + 1))


# Scales given by publishers: TREC 0-1, 0-2, 0-3, 0-4; MIREX 0-2 and 0-100; Likert 1-5 and 1-7; 0-10; halves.
USUAL = {
    "binary": ([0, 1], (0.0, 1.0), "grades 0 1: taken as binary, 0 1"),
    "only relevant": ([1], (0.0, 1.0), "grades 1: taken as binary, 0 1"),
    "broad": ([0, 1, 2], (0.0, 1.0, 2.0), "grades 0 1 2: taken as broad, 0 1 2"),
    "relevant in two levels": ([1, 2], (0.0, 1.0, 2.0), "grades 1 2: taken as broad, 0 1 2"),
    "TREC 0-3": ([0, 1, 2, 3], whole(0, 3), "grades 0 1 2 3: taken as four levels, 0 to 3"),
    "TREC 0-3 with a gap": ([0, 3], whole(0, 3), "grades 0 3: taken as four levels, 0 to 3"),
    "TREC 0-4": ([0, 1, 2, 3, 4], whole(0, 4), "grades 0 1 2 3 4: taken as five levels, 0 to 4"),
    "Likert 1-5": ([1, 2, 3, 4, 5], whole(1, 5), "grades 1 2 3 4 5: taken as five levels, 1 to 5"),
    "Likert 1-7": ([1, 4, 7], whole(1, 7), "grades 1 4 7: taken as seven levels, 1 to 7"),
    "0-10": (range(11), whole(0, 10), "grades 0 to 10: taken as eleven levels, 0 to 10"),
    "fine": ([0, 5, 93], whole(0, 100), "grades 0 5 93: taken as fine, 0 to 100"),
    "stars in halves": ([0.5, 3, 4.5], tuple(i / 2 for i in range(11)), "grades 0.5 3 4.5: taken as eleven levels, 0"),
    "quarters": ([0, 0.25, 1], (0, 0.25, 0.5, 0.75, 1), "grades 0 0.25 1: taken as five levels, 0 to 1"),
    "tenths": ([0.3, 9.7], tuple(i / 10 for i in range(101)), "grades 0.3 9.7: taken as 101 levels, 0 to 10"),
}


@pytest.mark.parametrize(("grades", "levels", "sentence"), USUAL.values(), ids=USUAL)
def test_usual_grades_are_read_on_their_scale_and_the_sentence_names_them(grades, levels, sentence):
    scale, said = guess_scale({float(grade) for grade in grades})
    assert scale.levels == levels
    assert said.startswith(f"scale not given, {sentence}")


def test_scales_with_a_name_keep_it():
    assert [guess_scale(set(some))[0] for some in ((0.0, 1.0), (0.0, 2.0), (0.0, 30.0))] == [BINARY, BROAD, FINE]


@pytest.mark.parametrize("grades", [{0.0, 1 / 3}, {-3.0, 1.0}, {0.0, 101.0}, {55.5}])
def test_grades_of_no_usual_scale_are_refused(grades):
    with pytest.raises(
        InputError, match=r"fits no usual scale .* expected a scale in collection.toml, or `scale=SCALE`$"
    ):
        guess_scale(grades)


@pytest.mark.slow
@given(st.sets(st.integers(0, 10), min_size=1))
def test_all_grades_are_on_the_scale_that_is_guessed_from_them(grades):
    scale = guess_scale({float(grade) for grade in grades})[0]
    assert all(grade in scale for grade in grades)
    assert scale.maximum <= max(2, *grades)


def test_a_column_named_after_a_scale_is_of_it_unless_its_grades_are_not():
    assert guess_scale({3.0, 7.0}, "fine", 2)[0] == FINE
    assert guess_scale({3.0, 7.0}, "fine", 500)[0].levels == whole(0, 10)  # five hundred grades, none above 10
    assert guess_scale({3.5, 7.0}, "fine", 2)[0].levels == tuple(i / 2 for i in range(21))
    assert guess_scale({1.0}, "broad", 1)[0] == BROAD


@pytest.mark.parametrize("name", REAL)
def test_the_scale_of_real_collections_is_guessed_as_their_publishers_have_it(name, tmp_path):
    if not (DATA / name).is_dir():
        pytest.skip("needs the real collections in ../shared/data, which are not part of the project")
    settings = tomllib.loads((DATA / name / "collection.toml").read_text("utf-8"))
    for path in (DATA / name).iterdir():
        if path.name != "collection.toml":
            shutil.copy(path, tmp_path)
    assert Collection.load(tmp_path).scale.levels == parse_scale(settings["scale"]).levels


def read(tmp_path, text, name="judgments", scale=None):
    said = []
    (tmp_path / name).write_text(text, encoding="utf-8")
    return *read_judgments(tmp_path / name, scale, said.append), said


def test_unjudged_and_junk_grades_of_trec_are_said_as_they_are_taken(tmp_path):
    scale, judgments, said = read(tmp_path, "q 0 a -1\nq 0 b -2\nq 0 c -2\nq 0 d 3\nq 0 e 0\n")
    assert scale.levels == whole(0, 3)
    assert judgments == (Judgment("q", "b", 0), Judgment("q", "c", 0), Judgment("q", "d", 3), Judgment("q", "e", 0))
    path = tmp_path / "judgments"
    assert said == [
        f"{path}: 1 grade of -1: taken as unjudged, left out",
        f"{path}: 2 grades of -2: taken as junk, the lowest grade",
        "scale not given, grades 0 3: taken as four levels, 0 to 3",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "query,document,broad\nq,a,NS\nq,b,SS\nq,c,VS\n",
        "query\tdocument\tgrade\nq\ta\tnot similar\nq\tb\tSomewhat similar\nq\tc\tvery similar\n",
        "q 0 a ns\nq 0 b ss\nq 0 c vs\n",
    ],
)
def test_the_words_of_the_evalutron_are_the_broad_scale(tmp_path, text):
    scale, judgments, _ = read(tmp_path, text)
    assert scale == BROAD
    assert [(one.document, one.grade) for one in judgments] == [("a", 0), ("b", 1), ("c", 2)]


XML = {
    "attributes": '<?xml version="1.0" encoding="latin-1"?>\n<judgments>\n<judgment query="q" document="a" fine="63" '
    'assessor="ann"/>\n<judgment query="q" document="b" fine="0" assessor="ann"/></judgments>\n',
    "elements": "<judgments><judgment><query>q</query><document>a</document><fine>63</fine><assessor>ann</assessor>"
    "</judgment>\n<judgment><query>q</query><document>b</document><fine>0</fine><assessor>ann</assessor></judgment>"
    "</judgments>",
    "nested": '<results>\n<grader name="ann">\n\n<query id="q">\n<candidate id="a"><scores><fine>63</fine></scores>'
    '</candidate>\n<candidate id="b"><scores><fine>0</fine></scores></candidate></query></grader></results>',
}


@pytest.mark.parametrize("text", XML.values(), ids=XML)
def test_xml_is_read_by_the_names_of_its_parts(tmp_path, text):
    scale, judgments, _ = read(tmp_path, text)
    assert scale == FINE
    assert judgments == (Judgment("q", "a", 63, "ann"), Judgment("q", "b", 0, "ann"))


def test_a_judgment_outside_the_query_of_others_has_none(tmp_path):
    text = '<r>\n<query id="q"><candidate id="a" grade="1"/></query>\n<candidate id="b" grade="1"/>\n</r>'
    with pytest.raises(FormatError, match=r"judgments:3: the query is empty"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<r>\n<judgment\n</r>", r":3: not XML: not well-formed"),
        ("<r>\n", r":1: not XML: no element found"),
        (
            "<r><a/></r>",
            r": holds no judgments, expected elements with query, document and grade or fine or broad or group$",
        ),
        ('<!DOCTYPE r [<!ENTITY a "aaaa">]>\n<r>&a;</r>', r":1: the file declares an entity, expected plain XML$"),
    ],
)
def test_xml_that_says_nothing_is_refused(tmp_path, text, problem):
    with pytest.raises(InputError, match=problem):
        read(tmp_path, text)


def test_qrels_that_ranx_wrote_are_read(tmp_path, ranx):
    """Called by `ranx.Qrels.save` with its dict."""
    ranx.io.save_json({"q1": {"a": 3, "b": 1}, "q2": {"a": 2}}, tmp_path / "judgments.json")
    expected = (Judgment("q1", "a", 3), Judgment("q1", "b", 1), Judgment("q2", "a", 2))
    said = []
    assert read_judgments(tmp_path / "judgments.json", None, said.append) == (Scale("custom", whole(1, 3)), expected)
    assert read(tmp_path, '{"q1": {"a": 3, "b": 1}, "q2": {"a": 2}}')[1] == expected  # on one line


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"q": {"a": 1, "a": 2}}', r"judgments:1: a occurs twice, expected it once$"),
        ('{"q": {"a": "x"}}', r"judgments: \$\.q\.a: expected a finite number for grade, found 'x'$"),
        ('{"q": {"a": [1]}}', r"judgments: \$\.q\.a: expected a finite number for grade, found \[1\]$"),
        ('{\n"q": {"a": 1},\n"r": 2}', r"judgments: \$\.r: expected document -> grade, found 2$"),
        (
            '{\n"q": {"a": 1}\n"r": {}}',
            r"judgments:3: not JSON: Expecting ',' delimiter, expected one object per line, "
            r"a list of objects, or values by query and document$",
        ),
    ],
)
def test_json_that_is_no_qrels_is_refused(tmp_path, text, problem):
    with pytest.raises(InputError, match=problem):
        read(tmp_path, text)


GROUPED = (("q", "a", 1), ("q", "b", 1), ("q", "c", 2), ("q", "d", 3), ("r", "e", 1))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("groups.qrels", "q a 1\nq b 1\nq c 2\nq d 3\nr e 1\n"),
        ("groups.tsv", "query\tdocument\tgroup\nq\ta\t1\nq\tb\t1\nq\tc\t2\nq\td\t3\nr\te\t1\n"),
        ("judgments.csv", "query,document,group\nq,a,1\nq,b,1\nq,c,2\nq,d,3\nr,e,1\n"),
        ("groups.tsv", "q a 1\nq b 1\nq c 1e12\nq d 1e308\nr e 1\n"),  # numbers are only ranks
        ("judgments.csv", "query,document,group\nq,a,1\nq,b,1\nq,c,2\nq,d,9223372036854775808\nr,e,1\n"),
        # Two numbers that are the same float.
        ("Groups.txt", "q 0 a 1\nq 0 b 1\nq 0 c 9007199254740992\nq 0 d 9007199254740993\nr 0 e 1\n"),
        ("x.qrels", "query 0 document group\nq 0 a 1\nq 0 b 1\nq 0 c 2\nq 0 d 3\nr 0 e 1\n"),
        ("groups.json", '{"q": {"a": 1, "b": 1, "c": 2, "d": 7}, "r": {"e": 1}}'),
        ("x.jsonl", "".join(f'{{"query": "{q}", "document": "{d}", "group": {n}}}\n' for q, d, n in GROUPED)),
        ("x.xml", "".join(["<r>", *(f'<j query="{q}" doc="{d}" group="{n}"/>\n' for q, d, n in GROUPED), "</r>"])),
    ],
)
def test_groups_of_equal_relevance_are_levels_the_first_group_the_highest(tmp_path, name, text):
    scale, judgments, said = read(tmp_path, text, name)
    assert scale.levels == whole(0, 3)  # 0 is for documents in no group
    assert [(one.document, one.grade) for one in judgments] == [("a", 3), ("b", 3), ("c", 2), ("d", 1), ("e", 3)]
    assert said == ["3 groups of equal relevance: taken as levels 3 to 1, the first the most relevant"]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("groups.tsv", "query\tdocument\tgroup\nq\ta\t0\n", r"groups.tsv:2: expected a group of 1 or more, found 0$"),
        ("groups.tsv", "q a 1.5\n", r"groups.tsv:1: expected a group of 1 or more, found 1.5$"),
        ("groups.csv", "query,document,grade\nq,a,3\n", r":2: expected a group alone as on all lines, found grade$"),
        ("a.csv", "query,document,grade,group\nq,a,3,1\n", r":2: expected a group alone .*, found grade and group$"),
        ("a.csv", "query,document,fine,group\nq,a,,1\nq,b,70,\n", r":3: expected a group alone .*, found fine$"),
    ],
)
def test_a_file_has_groups_numbered_from_one_or_grades(tmp_path, name, text, problem):
    with pytest.raises(FormatError, match=problem):
        read(tmp_path, text, name)


def test_groups_are_grades_of_their_own_levels_alone(tmp_path):
    text = "query,document,group\nq,a,1\nq,b,7\n"
    assert [one.grade for one in read(tmp_path, text, scale=BROAD)[1]] == [2, 1]
    for scale in (FINE, BINARY, Scale("custom", whole(0, 3)), Scale("custom", (0.0, 50.0, 100.0))):
        with pytest.raises(FormatError, match=r":2: the file has 2 groups of equal relevance, which are no grades of"):
            read(tmp_path, text, scale=scale)


def test_a_scale_may_be_said_in_words_levels_or_ends():
    assert [as_scale(one).levels for one in ("0-3", "0,1,2,3", [0, 1, 2, 3], Scale("mine", whole(0, 3)))] == 4 * [
        whole(0, 3)
    ]
    for wrong in ("good", "3-0", "1", "a-b", "0,x", "0,nan"):
        with pytest.raises(InputError, match=r"scale"):
            parse_scale(wrong)
