"""Extension points: audiosim's own items and those of other packages, found by name in the same way.

audiosim's own names are reserved: an item installed under one of them by another package is never loaded.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Generic, TypeVar

from audiosim.errors import InputError
from audiosim.text import did_you_mean, one_line

OWN = "audiosim"
Thing = TypeVar("Thing")


@dataclass(frozen=True)
class ExtensionPoint(Generic[Thing]):
    """One kind of item that packages install, each under a name.

    group   group of the entry points
    kind    word for one item
    own     audiosim's own items, by name
    accept  function that checks and returns a loaded object, given its name; an InputError describes a valid one
    taken   names with another meaning
    """

    group: str
    kind: str
    own: Callable[[], Mapping[str, Thing]]
    accept: Callable[[object, str], Thing]
    taken: frozenset[str] = frozenset()

    def installed(self) -> list[EntryPoint]:
        """Entry points of the group, by name."""
        return list(_installed(self.group, tuple((place, _changed(place)) for place in sys.path)))

    def names(self) -> list[str]:
        """Names of all items, audiosim's own first."""
        return list(dict.fromkeys([*self.own(), *(point.name for point in self.installed())]))

    def choose(self, name: str) -> EntryPoint | None:
        """Item with a name; None if there is none; audiosim's own take precedence over those of other packages."""
        named = [point for point in self.installed() if point.name == name]
        own = [point for point in named if package_of(point) == OWN]
        if len(named) > 1 and not own:
            packages = " and ".join(map(package_of, named))
            raise InputError(f"{name} is installed by {packages}, expected only one package; uninstall the others")
        return next(iter(own or named), None)

    def find(self, name: str) -> Thing:
        """Item with a given name; searches other packages only if the name is not one of audiosim's."""
        own = self.own()
        if name in own:
            return own[name]
        point = self.choose(name)
        if point is None:
            known = self.names()
            expected = f"one of {', '.join(known)}{did_you_mean(name, known)}"
            raise InputError(f"unknown {self.kind} {name!r}, expected {expected}")
        return self.load(point)

    def load(self, point: EntryPoint) -> Thing:
        """The item of an entry point."""
        loaded = load_entry(point)
        try:
            thing = self.accept(loaded, point.name)
        except InputError as error:
            raise InputError(f"{described_point(point)} must be {error}, got {type(loaded).__name__}") from None
        name = getattr(thing, "name", point.name)
        if not callable(thing) and name != point.name:
            raise InputError(f"{described_point(point)} must be installed under its own name, got {name}")
        return thing

    def hidden(self, point: EntryPoint) -> bool:
        """True if another package installs something under a name that audiosim uses itself."""
        return package_of(point) != OWN and (
            point.name in {*self.own(), *self.taken} or self.choose(point.name) != point
        )


def _changed(place: str) -> int:
    """Time of the last change of a folder of packages; 0 if there is none."""
    try:
        return Path(place).stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=32)
def _installed(group: str, _places: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    """Entry points of a group, by name; reading the files of all packages takes a hundredth of a second."""
    return tuple(sorted(entry_points(group=group), key=lambda point: (point.name, package_of(point))))


def package_of(point: EntryPoint) -> str:
    """Name of the package that installed an entry point."""
    return "unknown" if point.dist is None else point.dist.name


def load_entry(point: EntryPoint) -> object:
    """The object of an entry point; any error in its package becomes one line."""
    try:
        loaded: object = point.load()
    except Exception as error:  # foreign code may raise anything
        raise InputError(f"{described_point(point)} cannot be loaded: {one_line(error)}") from error
    return loaded


def described_point(point: EntryPoint) -> str:
    """An entry point in words, for error messages."""
    return f"{point.name} ({point.value}) of package {package_of(point)}"


def an_instance(kind: type[Thing], words: str) -> Callable[[object, str], Thing]:
    """Accepts a value of a class.

    words  name of such a value, for error messages
    """

    def accept(loaded: object, _: str) -> Thing:
        if not isinstance(loaded, kind):
            raise InputError(words)
        return loaded

    return accept
