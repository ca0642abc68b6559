"""What packages install: entry points, found by name, loaded one at a time.

Names that come with audiosim are its own: what another package installs under one of them is never loaded.
"""

from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points

from audiosim.corpus.pool import Pool
from audiosim.errors import InputError, did_you_mean
from audiosim.measures.measure import MEASURES, WRITTEN, Definition, Measure, parse_measure
from audiosim.relevance.estimators import EstimatorFactory, RelevanceEstimator, estimator_of
from audiosim.relevance.published import model_names

ESTIMATORS = "audiosim.estimators"
MEASURE_GROUP = "audiosim.measures"
OWN = "audiosim"


def package_of(point: EntryPoint) -> str:
    """The name of the package that installed an entry point."""
    return "unknown" if point.dist is None else point.dist.name


def installed(group: str) -> list[EntryPoint]:
    """What is installed for one extension point, by name."""
    return sorted(entry_points(group=group), key=lambda point: (point.name, package_of(point)))


def choose(points: Sequence[EntryPoint], name: str) -> EntryPoint | None:
    """What is installed under a name, None if nothing is; audiosim's own comes before that of any other package."""
    named = [point for point in points if point.name == name]
    own = [point for point in named if package_of(point) == OWN]
    if len(named) > 1 and not own:
        packages = " and ".join(map(package_of, named))
        raise InputError(f"{name} is installed by {packages}, expected one package; uninstall the others")
    return next(iter(own or named), None)


def load(point: EntryPoint) -> object:
    """What an entry point stands for; whatever goes wrong in the package is one line."""
    try:
        loaded: object = point.load()
    except Exception as error:  # it is another's code, so it may raise anything
        raise InputError(f"{told(point)} cannot be loaded: {one_line(error)}") from error
    return loaded


def told(point: EntryPoint) -> str:
    """An entry point in words, for complaints."""
    return f"{point.name} ({point.value}) of package {package_of(point)}"


def one_line(error: Exception) -> str:
    """What an exception of another's code says, and of which kind it is."""
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")


def published_names() -> set[str]:
    """The published models, with and without their scale."""
    return {name for model in model_names() for name in (model, model.rpartition("-")[0])}


def estimator_factory(name: str) -> tuple[EstimatorFactory, str]:
    """The factory that a `--model` names, and the text it is to be given with the pool.

    name  a name in models/ with or without its scale, a file that ends in .json, or an installed
          estimator: its name, or NAME:TEXT
    """
    if name.endswith(".json") or name in published_names():
        return estimator_of, name
    head, _, text = name.partition(":")
    points = installed(ESTIMATORS)
    point = choose(points, head)
    if point is None:
        known = {model.rpartition("-")[0] for model in model_names()} | {point.name for point in points}
        expected = f"a .json file or one of {', '.join(sorted(known))}{did_you_mean(name, known)}"
        raise InputError(f"unknown model {name!r}, expected {expected}")
    return load_factory(point), text


def load_factory(point: EntryPoint) -> EstimatorFactory:
    """The factory that an entry point of `audiosim.estimators` stands for."""
    loaded = load(point)
    if not callable(loaded):
        raise InputError(f"{told(point)} must be a function of a pool and a text, got {type(loaded).__name__}")
    factory: EstimatorFactory = loaded
    return factory


def make_estimator(pool: Pool, name: str) -> RelevanceEstimator:
    """The estimator that a `--model` names, for one pool."""
    factory, text = estimator_factory(name)
    return factory(pool, text)


def find_measure(text: str) -> Measure:
    """The measure that a `--measure` names, with its parameters: one of audiosim's, or an installed one.

    Looks at what is installed only where the name is none of audiosim's.
    """
    written = WRITTEN.fullmatch(text)
    if written is None or written["name"] in MEASURES:
        return parse_measure(text)
    points = installed(MEASURE_GROUP)
    point = choose(points, written["name"])
    if point is None:
        known = dict.fromkeys([*MEASURES, *(point.name for point in points)])
        expected = f"one of {', '.join(known)}{did_you_mean(written['name'], known)}"
        raise InputError(f"unknown measure {written['name']!r}, expected {expected}")
    return parse_measure(text, {point.name: load_definition(point)})


def load_definition(point: EntryPoint) -> Definition:
    """The definition that an entry point of `audiosim.measures` stands for."""
    loaded = load(point)
    if not isinstance(loaded, Definition):
        raise InputError(f"{told(point)} must be a Definition of a measure, got {type(loaded).__name__}")
    if loaded.name != point.name:
        raise InputError(f"{told(point)} must be installed under its own name, got {loaded.name}")
    return loaded
