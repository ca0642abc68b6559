"""Studies of lists with simulated people whose answers are known."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from audiosim.errors import FormatError, InputError, StoreError
from audiosim.people.answers import ListPair, read_answers
from audiosim.people.study import NEWCOMERS, Ending, ListStudy, StudyAnswer, StudyOutcome, StudyProgress, StudyRules
from audiosim.people.study_log import StudyLog, read_study, read_study_log, study_answers

HEADER = "query\tA1\tB1\tbroad_A1\tbroad_B1"
TRUTH = ("a", "b", "good", "bad")


def pair(number, answer=""):
    a, b = f"x{number}", f"y{number}"
    return ListPair(f"q{number}", (a,), (b,), f"q{number}\t{a}\t{b}\t2\t1", answer)


def a_study(examples=60, traps=20, **rules):
    known = tuple(pair(1000 + number, TRUTH[number % 4]) for number in range(traps))
    return ListStudy(HEADER, tuple(map(pair, range(examples))), known, StudyRules(**rules))


def truth(study, showing):
    return study.traps[showing.place].answer if showing.trap else TRUTH[showing.place % 4]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def take_part(progress, worker, careful, rng, most=10_000):
    """Answer questions until there are no more; careful people are always right, the others guess."""
    shown = []
    for now in range(most):
        showing = progress.next_for(worker, now)
        if isinstance(showing, Ending):
            return shown, showing
        assert progress.given(worker) + progress.right(worker)[1] < progress.most(worker, now)
        right = truth(progress.study, showing)
        said = right if careful else str(rng.choice([one for one in TRUTH if one != right]))
        # When a page swaps the lists, answers are swapped, too.
        progress.note(StudyAnswer(worker, showing, showing.in_file(showing.in_file(said))))
        shown.append(showing)
    return shown, None


def test_everybody_begins_with_traps_in_random_order_and_stops_at_the_limit(rng):
    study = a_study(limit=25, trap_share=0.3)
    first, why = take_part(StudyProgress(study), "ann", True, rng)
    second, _ = take_part(StudyProgress(study), "bob", True, rng)
    assert why is Ending.LIMIT
    assert [one.trap for one in first[:4]] == [True] * 4
    assert sum(not one.trap for one in first) == 25
    # All traps may come among the examples; without a share of them only the four at the entry.
    assert StudyProgress(study).most("ann", 0) == 25 + 20
    assert StudyProgress(a_study(limit=99, trap_share=0)).most("ann", 0) == 60 + 4
    assert len({(one.trap, one.place) for one in first}) == len(first)
    assert [one.place for one in first if not one.trap] != [one.place for one in second if not one.trap]
    assert [one.place for one in first if not one.trap] != sorted(one.place for one in first if not one.trap)


def test_what_is_left_follows_from_the_answers_that_count(rng):
    study = a_study(examples=12, traps=6, opinions=2, limit=9, trap_share=0.3, trust=0.7)
    progress, people, turned_away = StudyProgress(study), ["ann", "bob", "cat", "dan"], set()
    for now in range(400):
        worker = str(rng.choice(people))
        showing = progress.next_for(worker, now)
        counted = [one.showing.place for one in progress.accepted]
        own = {one.showing.place for one in progress.accepted if one.worker == worker}
        if showing is Ending.TURNED_AWAY:
            turned_away.add(worker)
        elif not isinstance(showing, Ending):
            wanting = sum(counted.count(place) < 2 and place not in own for place in range(12))
            given, (_, checked) = progress.given(worker), progress.right(worker)
            assert progress.most(worker, now) == given + min(wanting, 9 - given) + max(6, checked)
            progress.note(StudyAnswer(worker, showing, truth(study, showing) if worker != "dan" else "a"))
    assert turned_away == {"dan"}
    assert max(counted.count(place) for place in range(12)) == 2


def test_lists_change_sides_half_of_the_time_and_traps_come_as_often_as_they_should(rng):
    study = a_study(examples=300, traps=200, limit=301, trap_share=0.25)
    shown, why = take_part(StudyProgress(study), "ann", True, rng)
    assert why is Ending.COMPLETE
    # Standard errors: .5 / sqrt(about 400) = .025 and .43 / sqrt(about 400) = .022; the limit is four of them.
    assert np.mean([one.swapped for one in shown]) == pytest.approx(0.5, abs=0.1)
    assert np.mean([one.trap for one in shown[4:]]) == pytest.approx(0.25, abs=0.088)


def test_a_person_who_fails_the_traps_is_turned_away_and_never_counts(rng):
    progress = StudyProgress(a_study(trust=0.7))
    shown, why = take_part(progress, "spam", False, rng)
    assert why is Ending.TURNED_AWAY
    assert len(shown) == 4
    assert progress.accepted == []
    assert StudyOutcome.of(progress).rows() == [
        {"worker": "spam", "answers": 0, "traps": 4, "right": 0, "counts": False}
    ]


def test_what_somebody_said_who_is_turned_away_later_is_asked_again(rng):
    study = a_study(examples=30, traps=20, trap_share=0.4)
    progress = StudyProgress(study)
    for now in range(8):
        showing = progress.next_for("tired", now)
        progress.note(StudyAnswer("tired", showing, truth(study, showing)))
    assert progress.given("tired") > 0
    _, why = take_part(progress, "tired", False, rng)
    assert why is Ending.TURNED_AWAY
    _, why = take_part(progress, "ann", True, rng)
    assert why is Ending.COMPLETE
    assert Counter(one.showing.place for one in progress.accepted) == dict.fromkeys(range(30), 1)
    assert {one.worker for one in progress.accepted} == {"ann"}


@pytest.mark.parametrize("opinions", [1, 3])
def test_many_people_together_answer_each_example_as_often_as_wanted(rng, opinions):
    study = a_study(examples=40, opinions=opinions, limit=23, trap_share=0.3)
    progress = StudyProgress(study)
    people = [(f"p{number}", number % 3 > 0) for number in range(18)]
    for worker, careful in people:
        take_part(progress, worker, careful, rng)
    counted = Counter(one.showing.place for one in progress.accepted)
    assert counted == dict.fromkeys(range(40), opinions)
    assert all(one.answer == truth(study, one.showing) for one in progress.accepted)
    assert max(Counter(one.worker for one in progress.accepted).values()) <= 23


def test_an_example_waits_for_its_answer_and_then_goes_to_somebody_else():
    progress = StudyProgress(a_study(examples=1, traps=0, lease_s=60))
    shown = progress.next_for("ann", 0)
    assert progress.next_for("ann", 59) == shown
    assert progress.next_for("bob", 59) is Ending.LATER
    assert progress.next_for("bob", 60).place == shown.place
    assert progress.next_for("ann", 61) is Ending.LATER
    progress.note(StudyAnswer("bob", shown, "a"))
    assert progress.next_for("ann", 200) is Ending.COMPLETE


def test_answers_about_swapped_lists_are_about_those_of_the_file():
    swapped = replace(StudyProgress(a_study()).next_for("ann", 0), swapped=True)
    assert [swapped.in_file(one) for one in TRUTH] == ["b", "a", "good", "bad"]
    assert [replace(swapped, swapped=False).in_file(one) for one in TRUTH] == list(TRUTH)


def test_the_log_is_the_study_and_survives_a_power_cut(tmp_path, rng):
    (tmp_path / "examples.tsv").write_text(f"answer\t{HEADER}\n\tq1\tx\ty\t2\t1\n\tq2\tx\tz\t0\t1\n", "utf-8")
    (tmp_path / "traps.tsv").write_text(f"answer\t{HEADER}\ngood\tq9\tx\ty\t2\t2\n", "utf-8")
    study = read_study(tmp_path / "examples.tsv", tmp_path / "traps.tsv", StudyRules(seed=5))
    log, progress = StudyLog.open(tmp_path / "log", study)
    with pytest.raises(StoreError, match="another service is writing this study"):
        StudyLog.open(tmp_path / "log", study)
    for now in range(2):
        showing = progress.next_for("Ann Ä", now)
        said = StudyAnswer("Ann Ä", showing, "good", 3.2, "a\ttab\nand more")
        log.add(said)
        progress.note(said)
    log.close()
    with (tmp_path / "log").open("a") as cut:
        cut.write('{"worker": "Ann')
    log, again = StudyLog.open(tmp_path / "log", study)
    log.close()
    assert read_study_log(tmp_path / "log")[0] == study
    assert again.accepted == progress.accepted
    assert len(again.accepted) == 1
    found = study_answers(tmp_path / "log", tmp_path / "answers.tsv")
    assert repr(found) == "1 of 2 examples answered by 1 people, 0 of whom were turned away"
    read = read_answers(tmp_path / "answers.tsv")
    assert read.choices == ("good",)
    assert read.grades.tolist() in ([[[2.0], [1.0]]], [[[0.0], [1.0]]])
    with pytest.raises(InputError, match="is the log of another study: give a new file"):
        StudyLog.open(tmp_path / "log", replace(study, traps=()))


@pytest.mark.parametrize(
    ("lines", "known", "match"),
    [
        (["answer\tquery\tA1\tB1", "a\tq\tx\ty"], False, r"t:2: has the answer 'a' already, expected an empty one"),
        (
            ["answer\tquery\tA1\tB1", "\tq\tx\ty"],
            True,
            r"t:2: the column answer is empty, expected a, b, good, bad",
        ),
        (["query\tanswer\tA1\tB1", "q\t\tx\ty"], False, r"t:1: expected answer as the first column, found 'query'"),
        (["answer\tquery\tA1\tB1"], False, r"t:1: the file ends after its header, expected answers below it"),
        (["answer\tquery\tA1\tB1", "\tq\t\ty"], False, r"t:2: the A1 is empty, expected an identifier"),
    ],
)
def test_a_file_of_examples_that_is_wrong_is_one_line(tmp_path, lines, known, match):
    (tmp_path / "t").write_text("\n".join(lines) + "\n")
    (tmp_path / "good").write_text("answer\tquery\tA1\tB1\n\tq\tx\ty\n")
    with pytest.raises(FormatError, match=match):
        read_study(tmp_path / ("good" if known else "t"), tmp_path / "t" if known else None)


def test_rules_and_logs_that_are_none_are_refused(tmp_path):
    with pytest.raises(InputError, match="a limit and a number of opinions of at least 1"):
        StudyRules(limit=0)
    with pytest.raises(InputError, match="a share of traps from 0 to below 1"):
        StudyRules(trap_share=1)
    with pytest.raises(InputError, match="at least one example"):
        ListStudy(HEADER, ())
    with pytest.raises(InputError, match="a trap needs a known answer"):
        ListStudy(HEADER, (pair(1),), (pair(2),))
    (tmp_path / "log").write_text("{}\n")
    with pytest.raises(FormatError, match=r"log:1: not the log of a study"):
        study_answers(tmp_path / "log")
    StudyLog.open(tmp_path / "other", a_study(2))[0].close()
    with (tmp_path / "other").open("a") as more:
        more.write('{"worker": "ann"}\n')
    with pytest.raises(FormatError, match=r"other:2: not an answer to an example of this study"):
        study_answers(tmp_path / "other")


def test_people_who_answer_nothing_are_limited_and_forgotten_when_their_lease_ends():
    progress = StudyProgress(a_study(lease_s=10))
    progress.note(StudyAnswer("ann", progress.next_for("ann", 0), "a"))
    for number in range(NEWCOMERS):
        assert not isinstance(progress.next_for(f"nobody {number}", 1), Ending)
    assert progress.next_for("new", 2) is Ending.LATER
    # Known people can continue, whether or not they have answered.
    assert not isinstance(progress.next_for("ann", 2), Ending)
    assert progress.next_for("nobody 0", 2) == progress.showing("nobody 0")
    assert not isinstance(progress.next_for("new", 11), Ending)
    assert progress.showing("nobody 0") is None
    assert progress.showing("ann") is not None
    assert progress.workers == ["ann"]
