"""The contract of logs, for every kind of log."""

from threading import Event as Flag
from threading import Thread

import pytest

from audiosim.campaign import Event
from audiosim.errors import InputError

NOON = "2013-05-01T12:00:00Z"


def test_a_log_gives_back_what_was_appended_in_order_and_numbered(store, said, append):
    events = [said(grade=float(grade)) for grade in range(7)]
    numbers = [append(store, event) for event in events]
    assert numbers == list(range(1, 8))
    assert list(store.read()) == list(zip(numbers, events, strict=True))
    assert [number for number, _ in store.read(after=5)] == [6, 7]
    assert list(store.read(after=7)) == []


@pytest.mark.parametrize(
    "event",
    [
        Event(
            "judgment",
            "2013-05-01T12:00:00.123Z",
            "Ann Ö.",
            "q 'x' \"y\"",
            "поиск 👩‍🎤 %s :x",
            {"fine": 12.0, "broad": 0.0},
            {"note": "a\nb\\", "played_s": 0.1, "n": 2**53, "heard": True, "more": None},
            key="k",
        ),
        Event("cannot", NOON, "", "q", "d", details={"reason": "silent"}),
        Event("undo", NOON, "ann", refers=12),
        Event("lease", NOON, "ann", "q", "d", until="2013-05-01T12:30:00Z"),
        Event("pause", NOON, details={"reason": "lunch"}),
    ],
    ids=lambda event: event.kind,
)
def test_a_log_keeps_every_field(store, event, append):
    append(store, event)
    assert [kept for _, kept in store.read()] == [event]


def test_two_assessors_may_use_one_key_and_no_key_is_used_by_all(store, said, append):
    numbers = [append(store, said(assessor=name, key=key)) for name in ("ann", "bob", "") for key in ("k", "")]
    assert numbers == [1, 2, 3, 4, 5, 6]


def test_several_events_are_appended_at_once(store, said, append):
    append(store, said())
    assert store.append_all([said(document="b"), said(document="c")], last=1) == [2, 3]
    assert store.append_all([], last=3) == []
    assert [event.document for _, event in store.read()] == ["a", "b", "c"]


def test_nothing_is_appended_where_the_log_has_grown_past_what_is_known(store, said):
    assert store.append_all([said()], last=0) == [1]
    assert store.append_all([said(document="b")], last=0) is None
    assert store.append_all([], last=0) is None
    assert [event.document for _, event in store.read()] == ["a"]
    assert store.append_all([said(document="b")], last=1) == [2]


def test_several_events_of_which_one_has_a_used_key_are_all_refused(store, said, append):
    append(store, said(key="k"))
    with pytest.raises(InputError, match="the key 'k' of ann is used already"):
        store.append_all([said(document="b"), said(document="c", key="k")], last=1)
    with pytest.raises(InputError, match="the key 'new' of ann is used already"):
        store.append_all([said(document="b", key="new"), said(document="c", key="new")], last=1)
    assert len(list(store.read())) == 1
    assert store.append_all([said(document="b", key="new")], last=1) == [2]


@pytest.mark.slow
def test_threads_that_append_get_a_number_each_and_a_reader_misses_none(store, said, append):
    numbers, seen, ended = [], [], Flag()

    def write(name):
        numbers.extend(append(store, said(assessor=name, grade=float(grade))) for grade in range(15))

    def follow():
        while len(seen) < 45 and not (ended.is_set() and len(seen) == len(list(store.read()))):
            seen.extend(number for number, _ in store.read(after=seen[-1] if seen else 0))

    threads = [Thread(target=write, args=(name,)) for name in ("ann", "bob", "cid")] + [Thread(target=follow)]
    for thread in threads:
        thread.start()
    for thread in threads[:-1]:
        thread.join()
    ended.set()  # the reader ends, whether or not the writers succeeded
    threads[-1].join()
    assert sorted(numbers) == seen == list(range(1, 46))
    for name in ("ann", "bob", "cid"):
        grades = [event.grades["fine"] for _, event in store.read() if event.assessor == name]
        assert grades == list(range(15))
