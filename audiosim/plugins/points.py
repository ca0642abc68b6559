"""Extension points: what packages bring under a name, found as what comes with audiosim is.

Names that come with audiosim are its own: what another package installs under one of them is never loaded.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from audiosim.errors import InputError
from audiosim.messages import did_you_mean, one_line

OWN = "audiosim"
Thing = TypeVar("Thing")


@dataclass(frozen=True)
class ExtensionPoint(Generic[Thing]):
    """One kind of thing that packages bring, each under a name of its own.

    group   of the entry points
    kind    word for one of them
    own     those that come with audiosim, by name
    accept  a loaded object and its name as what it must be; an InputError says what that is
    taken   names that stand for something else
    """

    group: str
    kind: str
    own: Callable[[], Mapping[str, Thing]]
    accept: Callable[[object, str], Thing]
    taken: frozenset[str] = frozenset()

    def installed(self) -> list[EntryPoint]:
        """Entry points of the group, by name."""
        return sorted(entry_points(group=self.group), key=lambda point: (point.name, package_of(point)))

    def names(self) -> list[str]:
        """Names of all there are, those that come with audiosim first."""
        return list(dict.fromkeys([*self.own(), *(point.name for point in self.installed())]))

    def choose(self, name: str) -> EntryPoint | None:
        """Item installed under a name, None if nothing is; audiosim's own comes before that of any other package."""
        named = [point for point in self.installed() if point.name == name]
        own = [point for point in named if package_of(point) == OWN]
        if len(named) > 1 and not own:
            packages = " and ".join(map(package_of, named))
            raise InputError(f"{name} is installed by {packages}, expected one package; uninstall the others")
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
        """The thing that an entry point stands for."""
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


def package_of(point: EntryPoint) -> str:
    """Name of the package that installed an entry point."""
    return "unknown" if point.dist is None else point.dist.name


def load_entry(point: EntryPoint) -> object:
    """The object that an entry point names; whatever goes wrong in the package is one line."""
    try:
        loaded: object = point.load()
    except Exception as error:  # it is another's code, so it may raise anything
        raise InputError(f"{described_point(point)} cannot be loaded: {one_line(error)}") from error
    return loaded


def described_point(point: EntryPoint) -> str:
    """An entry point in words, for complaints."""
    return f"{point.name} ({point.value}) of package {package_of(point)}"
