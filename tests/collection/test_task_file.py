"""task.toml: its contents, and the line of each mistake."""

import shutil

import pytest

from audiosim import package_files
from audiosim.collection.collection import Collection
from audiosim.collection.task import check_task, offered, read_task
from audiosim.collection.values import BROAD, FINE
from audiosim.errors import FormatError

WHOLE = """question = "Which fits?"
instructions = "Listen.\\nThen judge."
consent = "I agree to be counted."
language = "pt-BR"
control = "slider"
steps = 11
labels = ["not at all", "wholly"]

[[further]]
name = "mood"
kind = "choice"
text = "Which mood?"
levels = ["calm", "wild"]

[[before]]
name = "years"
kind = "slider"
text = "Years of lessons?"
range = [0, 20]

[[training]]
query = "q"
document = "d"
grade = 70
text = "The same player."
"""
MANY = "".join(f'[[before]]\nname = "n{n}"\nkind = "text"\ntext = "Why?"\n' for n in range(30))
KNOWN = {"query": {"q"}, "document": {"d"}}


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "task.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_task_is_read_as_it_is_written(file):
    task = read_task(file(WHOLE))
    assert task.table.instructions == "Listen.\nThen judge."
    assert [one.name for one in task.asked_of_people] == ["years"]
    assert task.table.before[0].levels == tuple(range(21))
    assert (task.table.training[0].grade, task.text) == (70, WHOLE.rstrip("\n"))
    check_task("task.toml", task, FINE, KNOWN)
    assert offered(task, FINE) == tuple(range(0, 101, 10))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("question =", "qestion =", r":1: unknown key qestion, expected question, .*did you mean question"),
        ('"slider"\nsteps', '"knob"\nsteps', r":5: control: found 'knob'"),
        ('"pt-BR"', '"Portuguese"', ":4: language: expected a code such as es or pt-BR, found 'Portuguese'"),
        ("steps = 11", 'steps = "11"', ":6: steps: expected int | null, got str"),
        ("steps = 11", "steps = 1", ":6: steps: expected 2 or more, found 1"),
        ("steps = 11", "break_after = 0", ":6: break_after: expected 1 or more, found 0"),
        ("steps = 11", 'kept_until = "soon"', ":6: kept_until: expected a day such as 2027-12-31"),
        ("steps = 11", "kept_until = 7", ":6: kept_until: expected a day such as 2027-12-31, got int"),
        ("steps = 11", "headphones = 1", ":6: headphones: expected bool, got int"),
        ("steps = 11", 'languages = "de"', ":6: languages: expected array, got str"),
        ("steps = 11", 'languages = ["en", "German"]', ":6: languages: expected a code such as .*, found 'German'"),
        ("steps = 11", 'devices = ["computr"]', ":6: devices: expected computer, tablet, phone, found 'computr'"),
        ("steps = 11", "devices = [1]", ":6: devices: expected str, got int"),
        ("steps = 11", "steps = ", ":6: not TOML: "),
        (
            "steps = 11",
            "steps = " + 6000 * "9",
            ":1: this TOML cannot be read: it has a number with thousands",
        ),
        ('levels = ["calm", "wild"]', 'levels = ["calm"]', ":9: further: question mood needs two levels or more"),
        ('text = "Which mood?"', "text = 3", ":12: further: expected str, got int"),
        ('text = "Which mood?"', 'txt = "a"\ntext = "b"', ":12: further: unknown field txt"),
        ("range = [0, 20]", "range = [20, 0]", ":19: before: range must be two whole numbers, rising"),
        ('name = "years"', 'name = "mood"', ":16: before: the name mood is taken, expected another one"),
        ('name = "mood"', 'name = "rushed"', ":10: further: the name rushed is taken, expected another one"),
        ("[[before]]", MANY + "[[before]]", ":135: before: expected up to 30 questions, found 31"),
        ("grade = 70", 'grade = "70"', ":24: training: expected float, got str"),
        ("[[before]]", "[[aspect]]\nname = 'a'\nquestion = 'b'\n[[before]]", ":15: aspect: expected 2 to 8 aspects"),
    ],
)
def test_a_mistake_is_named_with_its_line(file, old, new, problem):
    assert old in WHOLE
    with pytest.raises(FormatError, match=f"^[^:]*task.toml{problem.replace('|', '[|]')}"):
        read_task(file(WHOLE.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("old", "new", "scale", "problem"),
    [
        ("steps = 11", "steps = 12", FINE, ":6: steps: 12 do not divide the scale of 101 levels from 0 to 100 evenly"),
        ('"not at all", "wholly"', '"a", "b", "c"', FINE, ":7: labels: expected 2, one for each end, found 3"),
        ("grade = 70", "grade = 70.5", FINE, ":24: training: grade 70.5 is not on the fine scale"),
        ('document = "d"', 'document = "e"', FINE, ":23: training: the collection has no document e"),
        (
            '"slider"\nsteps = 11',
            '"buttons"',
            FINE,
            ":5: control: expected up to 20 buttons, found 101 levels: set steps",
        ),
        ("steps = 11", 'grades = "fine"', BROAD, ":6: grades: expected broad or both, as the scale is broad"),
    ],
)
def test_a_task_that_does_not_go_with_its_collection_is_refused(file, old, new, scale, problem):
    task = read_task(file(WHOLE.replace(old, new, 1)))
    with pytest.raises(FormatError, match=f"^task.toml{problem}"):
        check_task("task.toml", task, scale, KNOWN)


def test_a_copy_of_a_collection_has_its_task_to_the_letter(tmp_path):
    folder = shutil.copytree(package_files.folder("fixtures") / "demo", tmp_path / "demo")
    (folder / "task.toml").write_text('# mine\nquestion = "Which fits?"\n', encoding="utf-8")
    Collection.load(folder).save(tmp_path / "copy")
    assert (tmp_path / "copy" / "task.toml").read_text() == '# mine\nquestion = "Which fits?"\n'
    assert Collection.load(tmp_path / "copy").assessor_task.table.question == "Which fits?"
