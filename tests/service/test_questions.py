"""Questions to assessors: read from a file, sent to the page, checked in answers, and kept in the log."""

import json
from dataclasses import replace

import pytest

from audiosim.collection.task import read_task
from audiosim.collection.values import BINARY, BROAD, FINE, Scale
from audiosim.errors import InputError
from audiosim.service.collections.questions import REASONS, Questions, read_questions

MOOD = (
    '[[question]]\nname = "mood"\nkind = "choice"\ntext = "Which mood?"\nlevels = ["calm", "wild"]\nrequired = true\n'
)
TEMPO = '[[question]]\nname = "tempo"\nkind = "slider"\ntext = "How close is the tempo?"\nrange = [0, 10]\n'
CLIENT = "/v1/collections/coarse"


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "questions.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def names(scale, ask=None):
    return [question.name for question in Questions(scale).asked(ask)]


def test_the_scale_of_a_collection_says_which_grades_are_asked_for():
    assert names(FINE) == ["fine", "note"]
    assert Questions(FINE).asked()[0].text == "Your grade"
    assert [one.text for one in Questions(FINE).asked("both")][:2] == ["Overall", "Exact score, 0-100"]
    assert names(FINE, "fine") == ["fine", "note"]
    assert names(BROAD) == ["broad", "note"]
    assert names(BROAD, "both") == names(FINE, "both") == ["broad", "fine", "note"]
    assert names(BINARY) == ["grade", "note"]
    few, many = (Questions(Scale("own", tuple(map(float, range(count))))).asked()[0] for count in (8, 9))
    assert (few.kind, few.words[0], few.words[-1]) == ("choice", "Least similar", "Most similar")
    assert (many.kind, many.levels[-1]) == ("slider", 8)


@pytest.mark.parametrize(
    ("scale", "ask", "message"),
    [
        (FINE, "fien", "^unknown setting ask='fien', expected fine, broad, both$"),
        (FINE, "broad", "^ask=broad leaves out the grade that counts, on the fine scale$"),
        (BINARY, "both", "^ask=both leaves out the grade that counts, on the binary scale$"),
    ],
)
def test_a_setting_that_there_is_not_is_refused(scale, ask, message):
    with pytest.raises(InputError, match=message):
        Questions(scale).asked(ask)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = 'x'", "expected only [[question]] tables, got name"),
        ("", "expected only [[question]] tables, got nothing"),
        ("[[question]]\nname = 'x'", "Object missing required field `kind`"),
        (
            MOOD.replace("mood", "The mood", 1),
            "a question's name has only small letters, digits and _, got 'The mood'",
        ),
        (MOOD.replace("mood", "fine", 1), "the name fine is taken, give the question another one"),
        (MOOD.replace("mood", "seconds", 1), "the name seconds is taken, give the question another one"),
        (MOOD + MOOD, "two questions are called mood"),
        (MOOD.replace("Which mood?", " "), "question mood has no text"),
        (MOOD.replace('"calm", ', ""), "question mood needs two levels or more, all different, got ['wild']"),
        (MOOD.replace('"calm"', "nan"), "question mood: every level must be text or a finite number"),
        (MOOD + 'words = ["x"]', "question mood has 1 words for 2 levels"),
        (MOOD + 'ends = ["x"]', "question mood needs words for both ends or none, got 1"),
        (MOOD + "grade = true", "grade = true is only for grades on the collection's scale"),
        (MOOD + "colour = 1", "Object contains unknown field `colour`"),
        (MOOD.replace('"choice"', '"text"'), "question mood: a text has no levels, words or ends"),
        (
            TEMPO.replace("[0, 10]", "[10, 0]"),
            "range must be two whole numbers, rising, at most 1000 apart, in place",
        ),
        ("[[question]", "Expected ']]' at the end of an array declaration"),
    ],
)
def test_a_file_of_questions_that_breaks_a_rule_is_refused_in_one_line(file, text, message):
    path = file(text)
    with pytest.raises(InputError) as refused:
        read_questions(path)
    assert str(refused.value).removeprefix(f"{path}:1: not TOML").removeprefix(str(path)).startswith(f": {message}")
    assert "\n" not in str(refused.value)


@pytest.fixture
def client(commanded, folders, file, tmp_path):
    """A client of a server whose organiser asks two additional questions."""
    with (
        commanded(folders[1:], tmp_path / "log", AUDIOSIM_QUESTIONS=str(file(MOOD + TEMPO))) as running,
        running.client() as one,
    ):
        yield one


def judged(client, **said):
    (pair,) = client.post(f"{CLIENT}/next", json={"assessor": "ann"}).json()["pairs"]
    body = {"query": pair["query"], "document": pair["document"], "assessor": "ann"} | said
    return client.post(f"{CLIENT}/judgments", json=body)


@pytest.mark.slow
def test_an_organisers_question_is_told_checked_and_kept(client):
    found = client.get(f"{CLIENT}/questions").json()
    assert [question["name"] for question in found["questions"]] == ["broad", "mood", "tempo", "note"]
    assert found["questions"][2]["levels"] == list(range(11))
    assert found["reasons"] == list(REASONS)
    for answers, message in [
        ({}, "expected an answer to mood: Which mood?"),
        ({"mood": "sad"}, "mood must be one of calm, wild, got 'sad'"),
        ({"mood": "calm", "tempo": 10.5}, "tempo must be one of 11 levels from 0 to 10, got 10.5"),
        ({"mood": "calm", "note": 5}, "note must be a text of up to 4000 characters, got 5.0"),
        ({"mood": "calm", "key": 1}, "unknown question 'key', expected one of grade, fine, broad, mood, tempo, note"),
        ({"mood": "calm", "broad": 1}, "broad occurs twice: in its own field, and in answers"),
        ({"mood": True}, "answers[...]: expected a number or a text, got true or false"),
    ]:
        refused = judged(client, broad=1, answers=answers)
        assert (refused.status_code, refused.json()["detail"]) == (422, message)
    said = {"mood": "wild", "tempo": 7, "broad": 2, "note": "louder"}
    record = judged(client, answers=said).json()
    assert (record["broad"], record["details"]) == (2, {"mood": "wild", "tempo": 7, "note": "louder"})
    lines = client.get(f"{CLIENT}/judgments?format=log").text.splitlines()
    assert json.loads(lines[-1])["details"] == {"mood": "wild", "tempo": 7, "note": "louder"}
    assert judged(client, cannot="silent").status_code == 201


@pytest.mark.slow
def test_whoever_judges_is_told_who_paused_and_why(client):
    nothing = {"by": None, "since": None, "reason": None}
    assert client.get(f"{CLIENT}/status").json() == {"collection": "coarse", "status": "open"} | nothing
    record = client.post(f"{CLIENT}/pause", json={"reason": "lunch"}).json()
    found = client.get(f"{CLIENT}/status").json()
    assert found == {"collection": "coarse", "status": "paused", "by": None, "since": record["time"], "reason": "lunch"}
    client.post(f"{CLIENT}/resume")
    assert client.get(f"{CLIENT}/status").json()["status"] == "open"


def read_words(tiny, text, path):
    """The words of the grade's three buttons under a task."""
    path.write_text(text, encoding="utf-8")
    found = replace(tiny, judgments=(), scale=BROAD, assessor_task=read_task(path))
    return next(one.words for one in Questions.of(found).asked() if one.grade)


def test_a_question_of_one_s_own_has_ends_that_fit_any_question(tiny, tmp_path):
    path = tmp_path / "task.toml"

    def asked_of(scale, text="", ask=None, task=""):
        path.write_text(text, encoding="utf-8")
        found = replace(tiny, judgments=(), scale=scale, assessor_task=read_task(path) if text else None, task=task)
        asked = Questions.of(found).asked(ask)
        return [(one.words or one.ends)[:: (len(one.words) or 2) - 1] for one in asked if one.grade]

    def ends(text):
        return asked_of(Scale("own", (0.0, 1.0, 2.0)), text)

    aspect = '[[aspect]]\nname = "{0}"\nquestion = "How {0} is it?"\n'
    assert ends(aspect.format("coherent") + aspect.format("creative")) == [("Lowest", "Highest")] * 2
    assert ends('question = "How creative is it?"\ncontrol = "buttons"\n') == [("Lowest", "Highest")]
    assert ends('instructions = "Use headphones."\ncontrol = "buttons"\n') == [("Least similar", "Most similar")]
    assert ends('question = "How loud?"\ncontrol = "buttons"\nlabels = ["soft", "loud"]\n') == [("soft", "loud")]
    three = read_words(tiny, 'question = "How loud?"\n', path)
    assert three == ("Lowest", "In between", "Highest")  # no button is called by its number between words
    assert read_words(tiny, 'labels = ["soft", "loud"]\n', path) == ("soft", "", "loud")
    # Without a control too, and where the question is that of collection.toml, as the page that makes a test writes it.
    for said in ({"text": 'question = "How creative is it?"\n'}, {"task": "How creative is it?"}):
        assert asked_of(FINE, **said) == asked_of(BROAD, **said) == [("Lowest", "Highest")]
        assert asked_of(FINE, **said, ask="both") == [("Lowest", "Highest")] * 2
        assert asked_of(BINARY, **said) == [("No", "Yes")]
    assert asked_of(BINARY) == [("Not similar", "Similar")]
    assert asked_of(BROAD) == [("Not similar", "Very similar")]
    assert asked_of(FINE) == [("nothing alike", "sounds the same")]
