"""An organiser's own task: the texts and questions of the page, and people's answers about themselves."""

import csv
import hashlib
import io
import json
import re
import shutil
from functools import partial

import pytest

from audiosim import package_files
from audiosim.campaign.event import MARKS, Event, Record
from audiosim.campaign.reader import judged_aspects, with_log
from audiosim.collection.aspects import Aspects
from audiosim.collection.collection import Collection
from audiosim.collection.task import TAKEN
from audiosim.collection.values import FINE
from audiosim.service.app import create_app
from audiosim.service.collections.campaigns import Judging
from audiosim.service.collections.imports import import_next
from audiosim.service.collections.open import CollectionSource
from audiosim.service.types.judging import JudgmentIn, QuestionnaireIn

CLIENT = "/v1/collections/demo"
TASK = """question = "Which fits the prompt?"
consent = "I agree to be counted."
control = "buttons"
steps = 5
labels = ["no", "", "half", "", "yes"]

[[before]]
name = "years"
kind = "choice"
text = "Years of lessons?"
levels = ["none", "some"]
required = true

[[after]]
name = "thoughts"
kind = "text"
text = "Anything else?"

[[training]]
query = "{query}"
document = "{document}"
grade = 75
"""


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The demo collection with a task of its own."""
    folder = tmp_path_factory.mktemp("own") / "demo"
    shutil.copytree(package_files.folder("fixtures") / "demo", folder)
    query, documents = next(iter(Collection.load(folder).runs[0].rankings.items()))
    (folder / "task.toml").write_text(TASK.format(query=query, document=documents[0]), encoding="utf-8")
    return folder


@pytest.fixture
def database(tmp_path):
    return tmp_path / "campaign.db"


@pytest.fixture
def http(demo, database, in_process):
    app = create_app([Collection.load(demo)], judging=Judging(database=f"sqlite:///{database}"))
    with in_process(app) as client:
        yield client


@pytest.mark.slow
def test_the_page_is_made_from_the_task(http):
    found = http.get(f"{CLIENT}/questions").json()
    assert (found["heading"], found["consent"]) == ("Which fits the prompt?", "I agree to be counted.")
    grade = found["questions"][0]
    assert (grade["name"], grade["kind"], grade["levels"]) == ("fine", "choice", [0, 25, 50, 75, 100])
    assert grade["words"] == ["no", "", "half", "", "yes"]
    assert [one["name"] for one in found["before"]] == ["years"]
    assert (found["training"][0]["grade"], found["training"][0]["top"]) == (75, 100)


@pytest.mark.slow
def test_people_s_answers_are_checked_kept_and_exported(http):
    for said, problem in [
        ({"moment": "before", "answers": {"years": "some"}}, "expected consent: true, as the task asks for it"),
        ({"moment": "before", "consent": True}, "expected an answer to years: Years of lessons?"),
        ({"moment": "before", "consent": True, "answers": {"age": 3}}, "unknown question 'age', expected one of years"),
        (
            {"moment": "before", "consent": True, "answers": {"years": "9"}},
            "years must be one of none, some, got '9'",
        ),
    ]:
        refused = http.post(f"{CLIENT}/questionnaire", json={"assessor": "ann"} | said)
        assert (refused.status_code, refused.json()["detail"]) == (422, problem)
    said = {"assessor": "ann", "moment": "before", "consent": True, "answers": {"years": "some"}}
    first, again = (http.post(f"{CLIENT}/questionnaire", json=said) for _ in range(2))
    assert (first.status_code, again.status_code, again.json()["replayed"]) == (201, 200, True)
    pair = http.post(f"{CLIENT}/next", json={"assessor": "ann"}).json()["pairs"][0]
    judged = {"query": pair["query"], "document": pair["document"], "assessor": "ann", "fine": 50}
    assert http.post(f"{CLIENT}/judgments", json=judged).status_code == 201
    http.post(f"{CLIENT}/close")
    after = {"assessor": "ann", "moment": "after", "answers": {"thoughts": '=HYPERLINK("x")'}}
    # People who have finished may answer once after judging has ended; nobody else can begin.
    for sent, status in ((after, 201), (after | {"answers": {}}, 409), (after | {"assessor": "bea"}, 409)):
        assert http.post(f"{CLIENT}/questionnaire", json=sent).status_code == status
    assert http.post(f"{CLIENT}/questionnaire", json=said | {"assessor": "bea"}).status_code == 409
    assert http.get(f"{CLIENT}/answers", params={"assessor": "ann"}).json()["questionnaires"] == ["before", "after"]
    table = http.get(f"{CLIENT}/questionnaires")
    agreed = hashlib.sha256(b"I agree to be counted.").hexdigest()
    assert [list(row.values())[:2] + list(row.values())[3:] for row in csv.DictReader(io.StringIO(table.text))] == [
        ["ann", "before", "yes", agreed, "some", ""],
        ["ann", "after", "", "", "", '\'=HYPERLINK("x")'],
    ]
    assert table.headers["Audiosim-Defused"] == "1"
    log = [json.loads(line) for line in http.get(f"{CLIENT}/judgments?format=log").text.splitlines()]
    kept = [line["details"] for line in log if line["kind"] == "questionnaire"]
    said_before = {"moment": "before", "consent": True, "consent_text": agreed, "years": "some"}
    assert kept == [said_before, {"moment": "after", "thoughts": '=HYPERLINK("x")'}]


@pytest.mark.slow
def test_a_campaign_opened_again_knows_who_answered_and_agreed_to_which_text(demo, database, http, in_process):
    said = {"assessor": "ann", "moment": "before", "consent": True, "answers": {"years": "none"}}
    http.post(f"{CLIENT}/questionnaire", json=said)
    changed = shutil.copytree(demo, database.parent / "demo")
    task = (changed / "task.toml").read_text(encoding="utf-8")
    without_years = task[: task.index("[[before]]")] + task[task.index("[[after]]") :]
    for text, filled in ((without_years, ["before"]), (without_years.replace("be counted", "be heard"), [])):
        (changed / "task.toml").write_text(text, encoding="utf-8")
        app = create_app([Collection.load(changed)], judging=Judging(database=f"sqlite:///{database}"))
        with in_process(app) as other:
            assert other.get(f"{CLIENT}/answers", params={"assessor": "ann"}).json()["questionnaires"] == filled
            (row,) = csv.DictReader(io.StringIO(other.get(f"{CLIENT}/questionnaires").text))
            assert row["years"] == "none"  # a question no longer asked


@pytest.mark.slow
def test_the_task_says_the_language_of_the_page_while_the_collection_is_closed(demo, tmp_path, in_process):
    folder, other = (shutil.copytree(demo, tmp_path / name) for name in ("demo", "other"))
    (folder / "task.toml").write_text('language = "ja"\n', encoding="utf-8")
    sources = [
        CollectionSource.of_folder(one, partial(Collection.load, one)) for one in (other, folder)
    ]  # the service opens the first
    app = create_app(sources, keep_open=1)
    with in_process(app) as http:
        assert app.state.service.served.collections.at_hand("demo") is None
        assert '<html lang="ja"' in http.get("/judge/demo").text
        (folder / "task.toml").write_text("language = 1\n", encoding="utf-8")
        assert '<html lang="de"' in http.get("/judge/demo", headers={"Accept-Language": "de"}).text


def test_no_question_takes_the_name_of_a_field():
    fields = {*JudgmentIn.__struct_fields__, *QuestionnaireIn.__struct_fields__, *MARKS}
    assert fields <= set(TAKEN)


ASPECTS = """[[aspect]]
name = "form"
question = "How close is the form?"

[[aspect]]
name = "sound"
question = "How close is the sound?"
labels = ["no", "the same"]
"""


@pytest.mark.slow
def test_aspects_are_judged_at_once_and_carried_by_log_undo_export_and_replay(demo, tmp_path, in_process):
    folder = shutil.copytree(demo, tmp_path / "demo", ignore=shutil.ignore_patterns("judgments*"))
    (folder / "task.toml").write_text(ASPECTS, encoding="utf-8")
    url = f"sqlite:///{tmp_path / 'aspects.db'}"
    app = create_app([Collection.load(folder)], judging=Judging(database=url))
    with in_process(app) as http:
        asked = http.get(f"{CLIENT}/questions").json()["questions"]
        assert [(one["name"], one["grade"]) for one in asked] == [("form", True), ("sound", True), ("note", False)]
        assert asked[1]["ends"] == ["no", "the same"]
        first, second = http.post(f"{CLIENT}/next", json={"assessor": "ann", "count": 2}).json()["pairs"]

        def judge(pair, **said):
            body = {"query": pair["query"], "document": pair["document"], "assessor": "ann"}
            return http.post(f"{CLIENT}/judgments", json=body | said)

        for said, problem in [
            ({"answers": {"form": 70}}, "expected a grade of each of form, sound, in answers, and no other"),
            ({"fine": 70}, "expected a grade of each of form, sound, in answers, and no other"),
            ({"answers": {"form": 70, "sound": 70.5}}, "grade 70.5 is not on the fine scale"),
        ]:
            refused = judge(first, **said)
            assert refused.status_code == 422
            assert refused.json()["detail"].startswith(problem)
        record = judge(first, answers={"form": 70, "sound": 31}).json()
        assert (record["grade"], record["details"]) == (50.5, {"form": 70, "sound": 31})
        judge(second, answers={"form": 10, "sound": 20})
        http.post(f"{CLIENT}/undo", json={"assessor": "ann"})
        rows = list(csv.DictReader(io.StringIO(http.get(f"{CLIENT}/judgments?format=aspects").text)))
        assert [(row["document"], row["aspect"], row["grade"]) for row in rows] == [
            (first["document"], "form", "70"),
            (first["document"], "sound", "31"),
        ]
        exported = http.get(f"{CLIENT}/judgments?format=aspects").text
        table = f"query,document,grade,assessor\n{first['query']},{first['document']},50.5,bea\n"
        http.post(f"{CLIENT}/judgments/import", content=table)
        import_next(app.state.service.served.collection("demo"), app.state.service.imports, lambda _: False)
        problem = "a pair has a grade of each aspect here: expected form, sound of document "
        assert http.get(f"{CLIENT}/imports").json()[0]["problem"].startswith(f"line 2: {problem}")
        whole = {form: http.get(f"{CLIENT}/judgments?format={form}").text for form in ("csv", "jsonl")}
    for form, body in whole.items():
        app = create_app([Collection.load(folder)], judging=Judging(database=f"sqlite:///{tmp_path / form}.db"))
        with in_process(app) as fresh:

            def sent(content, app=app, http=fresh):
                http.post(f"{CLIENT}/judgments/import", content=content)
                import_next(app.state.service.served.collection("demo"), app.state.service.imports, lambda _: False)
                return http.get(f"{CLIENT}/imports").json()[0]["problem"]

            line = {"csv": 2, "jsonl": 1}[form]
            assert sent(body.replace("50.5", "51")) == f"line {line}: grade 51 is not the mean of form, sound"
            assert "not on the fine scale" in sent(re.sub('("+sound"+: )31', r"\g<1>310", body))
            assert sent(body) == ""
            assert fresh.get(f"{CLIENT}/judgments?format=aspects").text == exported
    with in_process(create_app([Collection.load(folder)], judging=Judging(database=url))) as other:
        assert other.get(f"{CLIENT}/judgments?format=aspects").text == exported
    found = with_log(url, Collection.load(folder))
    assert [one.grade for one in found.judgments] == [50.5]
    assert [one.grade for one in found.by_aspect("sound").judgments] == [31]
    (folder / "judgments.csv").write_text(exported, encoding="utf-8")
    assert [one.grade for one in Collection.load(folder).judgments] == [50.5]


def test_a_grade_of_no_aspect_in_an_older_log_counts_in_none():
    now = "2026-01-01T12:00:00.000Z"
    said = [
        Event("judgment", now, "ann", "q", "d", {"grade": 50.5}, {"form": 70, "sound": 31}),
        Event("judgment", now, "bea", "q", "d", {"grade": 50.5}),
        Event("undo", now, "bea", refers=2),
        Event("judgment", now, "bea", "q", "d", {"grade": 50}),
    ]
    found = judged_aspects([Record(*one) for one in enumerate(said, start=1)], Aspects(FINE, {"form": (), "sound": ()}))
    assert {name: [one.grade for one in some] for name, some in found.parts.items()} == {"form": [70], "sound": [31]}
