"""Items of one kind by name: audiosim's own, and those that other packages install as entry points.

audiosim's own names are reserved: an item installed under one of them by another package is never loaded.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from audiosim.errors import ArgumentError, InputError, PackageError
from audiosim.text import choices, one_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

OWN = "audiosim"
Thing = TypeVar("Thing")


@dataclass(frozen=True)
class ExtensionPoint(Generic[Thing]):
    """One kind of item that packages install, each under a name.

    group   group of the entry points
    kind    word for one item
    own     function that returns audiosim's own items, by name
    accept  function that checks and returns a loaded object, given its name; an InputError describes a valid one
    """

    group: str
    kind: str
    own: Callable[[], Mapping[str, Thing]]
    accept: Callable[[object, str], Thing]

    def names(self) -> list[str]:
        """Names of all items, audiosim's own first."""
        return list(dict.fromkeys([*self.own(), *(point.name for point in self._points())]))

    def find(self, name: str) -> Thing:
        """The item with a name; other packages are searched only if the name is not one of audiosim's."""
        own = self.own()
        if name in own:
            return own[name]
        named = [point for point in self._points() if point.name == name]
        if not named:
            unknown = f"unknown {self.kind} {name!r}, expected one of {choices(name, self.names())}"
            raise ArgumentError(self.kind.replace(" ", "_"), unknown)
        ours = [point for point in named if _package_of(point) == OWN]
        if len(named) > 1 and not ours:
            packages = " and ".join(map(_package_of, named))
            raise PackageError(f"{name} is installed by {packages}, expected only one package; uninstall the others")
        return self._load((ours or named)[0])

    def _points(self) -> tuple["EntryPoint", ...]:
        return _installed(self.group, tuple((place, _changed(place)) for place in sys.path))

    def _load(self, point: "EntryPoint") -> Thing:
        described = f"{point.name} ({point.value}) of package {_package_of(point)}"
        try:
            loaded: object = point.load()
        except Exception as error:  # foreign code may raise anything
            raise PackageError(f"{described} cannot be loaded: {one_line(error)}") from error
        try:
            thing = self.accept(loaded, point.name)
        except InputError as error:
            raise PackageError(f"{described} must be {error}, got {type(loaded).__name__}") from None
        name = getattr(thing, "name", point.name)
        if not callable(thing) and name != point.name:
            raise PackageError(f"{described} must be installed under its own name, got {name}")
        return thing


def _changed(place: str) -> int:
    """Time of the last change of a folder of packages; 0 if there is none."""
    try:
        return Path(place).stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=32)
def _installed(group: str, _places: tuple[tuple[str, int], ...]) -> tuple["EntryPoint", ...]:
    """Entry points of a group, by name; reading the files of all packages takes a hundredth of a second."""
    from importlib.metadata import entry_points  # only where a name is not audiosim's own: its import takes time

    return tuple(sorted(entry_points(group=group), key=lambda point: (point.name, _package_of(point))))


def _package_of(point: "EntryPoint") -> str:
    return "unknown" if point.dist is None else point.dist.name


def an_instance(kind: type[Thing], words: str) -> Callable[[object, str], Thing]:
    """Accepts a value of a class.

    words  name of such a value, for error messages
    """

    def accept(loaded: object, _: str) -> Thing:
        if not isinstance(loaded, kind):
            raise InputError(words)
        return loaded

    return accept


def a_function(words: str) -> Callable[[object, str], Any]:
    """Accepts a function.

    words  such a function, for error messages
    """

    def accept(loaded: object, _: str) -> object:
        if not callable(loaded):
            raise InputError(words)
        return loaded

    return accept
