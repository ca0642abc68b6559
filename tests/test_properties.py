"""Properties computed once for each object, by threads that ask at the same time."""

import ast
import gc
import pickle
import threading
import weakref
from pathlib import Path

import pytest

from audiosim.results.value import cached_property

ROOT = Path(__file__).resolve().parents[1]
LONG_S = 60.0  # a thread that waits longer counts as stuck


class Meeting:
    """Two properties; each waits for a partner inside and then needs the other property of a second object."""

    def __init__(self, partners: threading.Barrier) -> None:
        self._partners, self.needed = partners, None

    @cached_property
    def left(self):
        if self.needed is None:
            return 1
        self._partners.wait(LONG_S)
        return self.needed.right + 1

    @cached_property
    def right(self):
        if self.needed is None:
            return 2
        self._partners.wait(LONG_S)
        return self.needed.left + 1


class Slow:
    """A property that takes until a test releases it, and counts its computations."""

    def __init__(self) -> None:
        self.begun, self.go_on, self.times = threading.Event(), threading.Event(), 0

    @cached_property
    def value(self):
        self.times += 1
        self.begun.set()
        self.go_on.wait(2 * LONG_S)
        return [self.times]


class Plain:
    """A property that may be pickled while it is being computed."""

    @cached_property
    def value(self):
        return len(pickle.dumps(self.__dict__))


class Failing:
    """A property that fails the first time."""

    failed = False

    @cached_property
    def value(self):
        if not self.failed:
            self.failed = True
            raise ValueError("not yet")
        return 1


def started(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_two_properties_of_different_objects_that_need_each_other_are_both_computed():
    # With one lock for all objects, as functools has it in Python 3.11, neither thread ever ends.
    partners, found = threading.Barrier(2), {}
    one, other, third, fourth = (Meeting(partners) for _ in range(4))
    one.needed, other.needed = third, fourth
    threads = [
        started(lambda: found.setdefault("left", one.left)),
        started(lambda: found.setdefault("right", other.right)),
    ]
    for thread in threads:
        thread.join(LONG_S)
    assert found == {"left": 3, "right": 2}


def test_an_object_does_not_wait_for_another():
    slow, quick = Slow(), Slow()
    quick.go_on.set()
    thread = started(lambda: slow.value)
    assert slow.begun.wait(LONG_S)
    found = []
    asking = started(lambda: found.append(quick.value))
    asking.join(LONG_S)
    slow.go_on.set()
    thread.join(LONG_S)
    assert found == [[1]]


def test_threads_that_ask_one_object_get_one_value():
    slow, found = Slow(), []
    threads = [started(lambda: found.append(slow.value)) for _ in range(8)]
    assert slow.begun.wait(LONG_S)
    slow.go_on.set()
    for thread in threads:
        thread.join(LONG_S)
    assert slow.times == 1
    assert len(found) == 8
    assert all(one is found[0] for one in found)


def test_what_fails_is_tried_again():
    failing = Failing()
    for _ in range(2):
        try:
            found = failing.value
        except ValueError:
            continue
    assert found == 1


def test_an_object_may_be_pickled_while_its_property_is_computed():
    assert Plain().value == len(pickle.dumps({}))


def test_the_property_of_a_class_is_the_description():
    assert isinstance(Slow.value, cached_property)


@pytest.mark.slow
def test_no_module_takes_the_one_of_python_311_whose_lock_is_that_of_all_objects():
    for package in ("audiosim", "service"):
        texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / package).rglob("*.py")}
        for path in (path for path, text in texts.items() if "functools" in text and "cached_property" in text):
            for node in ast.walk(ast.parse(texts[path])):
                taken = isinstance(node, ast.ImportFrom) and node.module == "functools"
                assert not (taken and "cached_property" in {alias.name for alias in node.names}), path


class Itself:
    """A property whose value is its object."""

    @cached_property
    def packed(self):
        return self


def test_an_object_does_not_hold_itself_and_goes_with_its_last_user():
    one = Itself()
    assert one.packed is one
    gone = weakref.ref(one)
    gc.disable()
    try:
        del one
        assert gone() is None
    finally:
        gc.enable()
