"""Model files: an ordinal model, its features and the source of its numbers, as JSON.

    {"format": 4, "name": "mout-broad", "scale": "broad", "levels": [0, 1, 2],
     "terms": ["fSYS", "OV", "fSYS:OV"], "coefficients": [...], "thresholds": [...],
     "fallback": "historical-broad", "source": "...", "definitions": {"fSYS": 1, "OV": 1},
     "components": null, "trend": null, "between": null, "covariance": null, "training": null, "report": null,
     "checksum": "sha256 of the rest"}

A model without terms is a fixed distribution. `audiosim train` fills in the last three fields; a joint model has
components, {"query": [0.50, 0.06], ..., "rest": [0.56, 0.01]}, a trend, and how both vary between collections; see
`ordinal.model`.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from audiosim import package_files
from audiosim.collection.pool import Pool
from audiosim.collection.values import Scale
from audiosim.errors import FormatError, InputError
from audiosim.ordinal.feature import once_per_pool
from audiosim.ordinal.features import FEATURES, check_terms, design, factors
from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array
from audiosim.stats.normal.layout import REST
from audiosim.stats.ordinal import level_probabilities, thresholds_of
from audiosim.tables.text import parse_json, whole_text, write_text
from audiosim.text import choices, shortened

# Variation between collections of a joint model's parameters: its prior for a collection it has not seen.


ALWAYS = ("query", "retrievers", "consensus", "team", "system")  # components available for any pool


METADATA = ("query_genre", "query_artist", "genres", "artist")


SOUND = "sound"


TREND = ("constant", "system_agreement", "consensus", "repetition")
EFFECT_NAMES = (*ALWAYS, REST)


@dataclass(frozen=True)
class Between:
    """A distribution over collections of the components of grades, for documents without metadata.

        grade = scale's usual mean + s (constant + agreement z + consensus x + repetition r + sum of effects)

    trend    mean and standard deviation of a normal distribution for each of TREND
    standard_deviations  log-normal size of each effect: median, and standard deviation of the logarithm
    sources  training collections, each once
    carried  by kinship, "systems" or "edition": correlation of these parameters between kin; empty if unknown

    z, x and r are those of `consensus.covariates`; standard deviations are in units of s, the usual one of a grade.
    """

    trend: Mapping[str, tuple[float, float]]
    standard_deviations: Mapping[str, tuple[float, float]]
    sources: tuple[str, ...]
    carried: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, given, expected in (
            ("trend", self.trend, TREND),
            ("standard deviations", self.standard_deviations, EFFECT_NAMES),
        ):
            if not set(expected) <= set(given):
                raise InputError(
                    f"the {what} between collections must have {', '.join(sorted(expected))}; "
                    f"got {', '.join(sorted(given)) or 'none'}"
                )
            for name, (middle, spread) in given.items():
                if not (np.isfinite(middle) and 0 < spread < np.inf):
                    raise InputError(
                        f"the {what} between collections must be finite with spreads above 0, "
                        f"that of {name} is {middle:g} with {spread:g}"
                    )
        for name, share in self.carried.items():
            if not 0 <= share <= 1:
                raise InputError(f"the share that carries over must be from 0 to 1, {name} has {share:g}")
        for name, (median, _) in self.standard_deviations.items():
            if not median > 0:
                raise InputError(
                    f"standard deviations between collections must have medians above 0, that of {name} is {median:g}"
                )

    @property
    def trend_deviations(self) -> Array:
        """(f, f) diagonal: standard deviations of the trend's coefficients between collections."""
        return np.diag([self.trend[name][1] for name in TREND])

    def spread(self, name: str) -> float:
        """Standard deviation between collections of the logarithm of an effect's size; defaults to the query's."""
        return self.standard_deviations.get(name, self.standard_deviations["query"])[1]


# Content of a pool, independent of its folder's name, and sketches that estimate the overlap of two contents.


KEPT = 256  # number of smallest hashes kept: a share of 1/2 has a standard error of .03
BYTES = 4  # bytes of a hash


@dataclass(frozen=True)
class Sketch:
    """The smallest hashes of a set's items: a random sample in which equal items of two sets agree.

    hashes  hexadecimal, rising
    whole   True if the sketch holds all items

    Broder (1997), "On the resemblance and containment of documents", doi:10.1109/SEQUEN.1997.666900.
    """

    hashes: tuple[str, ...]
    whole: bool

    @classmethod
    def of(cls, items: Iterable[str], kept: int = KEPT) -> "Sketch":
        """Sketch of some items, in any order, each counted once."""
        hashes = sorted(set(map(_hash, items)))
        return cls(tuple(hashes[:kept]), len(hashes) <= kept)

    @property
    def size(self) -> float:
        """Estimate of the number of items, with an error of about a sixteenth, from the density of the kept hashes."""
        return len(self.hashes) if self.whole else (len(self.hashes) - 1) * 256**BYTES / int(self.hashes[-1], 16)

    def containment(self, items: Iterable[str]) -> float:
        """Estimate of the share of other items that are in the set; 0 if none of them is sampled.

        |A and B| / |B|,  over the items of B whose hash is at most the largest kept for A
        """
        largest = self.hashes[-1] if self.hashes else ""
        sampled = {code for code in map(_hash, items) if self.whole or code <= largest}
        return len(sampled & set(self.hashes)) / len(sampled) if sampled else 0.0


def places_of(pool: Pool) -> set[str]:
    """The places of all result lists down to the cutoff: query, document, and the document ranked above it.

    These are shingles of two documents, as in Broder: two documents in the same order are hardly a coincidence,
    even if identifiers are as common as d1 and d2.
    """
    ranks = pool.ranks.tocoo()
    order = np.lexsort((ranks.data, pool.query[ranks.col], ranks.row))
    place, rank = ranks.col[order], ranks.data[order]
    above = np.where(rank > 1, np.roll(place, 1), -1)  # ranks of one system and query start at 1
    found = np.unique(np.stack([place, above], axis=1), axis=0)
    named = ((pool.pairs[at], pool.pairs[over].document if over >= 0 else "") for at, over in found.tolist())
    return {f"{pair.query}\0{pair.document}\0{over}" for pair, over in named}


def documents_of(pool: Pool) -> set[str]:
    """The retrieved documents with their metadata: identifier, genre and artist."""
    genres, artists = ((*names, "") for names in (pool.genre_names, pool.artist_names))  # code -1 is unknown
    found = np.flatnonzero(pool.found)
    codes: dict[str, int] = {}
    document = [codes.setdefault(pool.pairs[place].document, len(codes)) for place in found.tolist()]
    known = np.unique(np.stack([np.array(document, dtype=np.int64), pool.genre[found], pool.artist[found]]), axis=1)
    names = tuple(codes)
    return {f"{names[one]}\0{genres[genre]}\0{artists[artist]}" for one, genre, artist in known.T.tolist()}


def _hash(item: str) -> str:
    return blake2b(item.encode(), digest_size=BYTES).hexdigest()


# Provenance of a trained model: its collections, settings and package versions.


PACKAGES = ("audiosim", "numpy", "scipy")


@dataclass(frozen=True)
class Source:
    """A collection that a model was fitted to, with SHA-256 hashes of everything the fit could see of it.

    collection  its identifier
    judged      number of its pairs with a judgment
    pool        hash of levels, cutoff, systems, pairs and ranks
    metadata    hash of teams, genres and artists
    judgments   hash of the grade of each pair, null where there is none
    names       names of the systems; empty in files of an earlier format
    scale       its levels, in words
    edition_of  collection that this one is declared an edition of
    places      sketch of its result lists
    documents   sketch of their documents, see `content`; None in files of an earlier format
    """

    collection: str
    cutoff: int
    systems: int
    queries: int
    pairs: int
    judged: int
    pool: str
    metadata: str
    judgments: str
    names: tuple[str, ...] = ()
    scale: str = ""
    edition_of: str = ""
    places: Sketch | None = None
    documents: Sketch | None = None


@dataclass(frozen=True)
class Provenance:
    """Provenance of a model: how it was made.

    collections   training collections
    rows          judged pairs that entered the fit
    own_judgment  True if aSYS and aART included the judgment to be predicted, as 0.1.0 could; False in new files
    date          as given, ISO 8601, or None
    packages      versions of the packages that affect the numbers
    """

    collections: tuple[Source, ...]
    rows: int
    own_judgment: bool
    date: str | None
    packages: Mapping[str, str]


def source_of(pool: Pool, grades: Array) -> Source:
    """The provenance of one collection.

    grades  (n,) NaN where unjudged
    """
    judged, (metadata, places, documents) = ~np.isnan(grades), _without_judgments(pool)
    return Source(
        collection=pool.collection,
        cutoff=pool.cutoff,
        systems=len(pool.systems),
        queries=len(pool.queries),
        pairs=len(pool.pairs),
        judged=int(judged.sum()),
        pool=pool.content_hash,
        metadata=metadata,
        judgments=_digest([grade if known else None for grade, known in zip(grades.tolist(), judged, strict=True)]),
        names=pool.systems,
        scale=str(pool.scale),
        edition_of=pool.edition_of,
        places=places,
        documents=documents,
    )


@once_per_pool
def _without_judgments(pool: Pool) -> tuple[str, Sketch, Sketch]:
    """Hash of the metadata, and sketches of result lists and documents: the same for every fold of a validation."""
    metadata = _digest([column.tolist() for column in (pool.teams, pool.genre, pool.query_genre, pool.artist)])
    return metadata, Sketch.of(places_of(pool)), Sketch.of(documents_of(pool))


def package_versions() -> dict[str, str]:
    """The versions of the packages that affect a fit's numbers."""
    return {name: version(name) for name in PACKAGES}


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


FORMAT = 4
ROUNDING = 1e-9  # tolerance of a squared correlation of 1
MOST_FALLBACKS = 8
MOST_BYTES = 2**26


@dataclass(frozen=True)
class Trend:
    """Systematic deviation of grades from the expectations of an ordinal model; see `joint.model`.

    coefficients  by name, in standard deviations of a grade: constant, for all pairs; system_agreement, per standard
                  deviation over the systems; consensus, per unit of the logarithm of the number of teams; repetition,
                  per unit of the logarithm of the number of systems per team
    covariance    covariance of the coefficients, in their order
    """

    coefficients: Mapping[str, float]
    covariance: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        count, covariance = len(self.coefficients), np.array(self.covariance)
        if not set(TREND) <= set(self.coefficients):
            raise InputError(f"a trend must have {', '.join(TREND)}, got {', '.join(self.coefficients) or 'none'}")
        numbers = [*self.coefficients.values(), *covariance.ravel()]
        if covariance.shape != (count, count) or not np.all(np.isfinite(numbers)):
            raise InputError(f"a trend must be finite, with a covariance of ({count}, {count})")
        least, largest = float(np.linalg.eigvalsh(covariance)[0]), float(np.abs(covariance).max())
        if not np.array_equal(covariance, covariance.T) or least < -ROUNDING * largest:
            raise InputError(
                f"the covariance of a trend must be symmetric, without negative variances, got {self.covariance}"
            )


@dataclass(frozen=True)
class Model:
    """An ordinal model of relevance.

    name          name of the file, such as "mout-fine"
    scale         name of the scale of the judgments it was fitted to
    levels        grades, rising, each with a probability
    terms         features, and products of features written a:b
    coefficients  one per term
    thresholds    one for each level but the lowest, falling
    fallback      the model for pairs with an unknown feature: the name of a shipped one, or the model; None: none
    source        source of the numbers
    definitions   version of each feature's definition; not given: the installed ones
    components    for a joint model: standard deviation of each component's effects, as a share of a pair's deviation,
                  and its standard error, None if the judgments do not determine it; see `joint.model`
    trend         for a joint model: its trend; otherwise None
    between       for a joint model: variation of components and trend between collections; None: its values apply
                  to every collection
    covariance    covariance of thresholds, then coefficients, allowing for correlated judgments of one query if
                  there are several queries; None if unknown
    training      its training data; None if it was not fitted here
    report        its `Findings.to_dict`
    """

    name: str
    scale: str
    levels: tuple[float, ...]
    terms: tuple[str, ...]
    coefficients: tuple[float, ...]
    thresholds: tuple[float, ...]
    fallback: "str | Model | None"
    source: str
    definitions: Mapping[str, int] | None = field(default=None, hash=False)
    components: Mapping[str, tuple[float, float | None]] | None = field(default=None, hash=False)
    trend: Trend | None = field(default=None, hash=False)
    between: Between | None = field(default=None, hash=False)
    covariance: tuple[tuple[float, ...], ...] | None = None
    training: Provenance | None = field(default=None, hash=False)
    report: Mapping[str, Any] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        if len(self.coefficients) != len(self.terms):
            raise InputError(f"model {self.name} has {len(self.terms)} terms but {len(self.coefficients)} coefficients")
        if len(self.thresholds) != len(self.levels) - 1:
            raise InputError(f"model {self.name} has {len(self.levels)} levels but {len(self.thresholds)} thresholds")
        numbers = [*self.levels, *self.coefficients, *self.thresholds]
        if not np.all(np.isfinite(numbers)):
            raise InputError(f"model {self.name} has a number that is not finite")
        if np.any(np.diff(self.levels) <= 0) or np.any(np.diff(self.thresholds) >= 0):
            raise InputError(f"the levels of model {self.name} must rise and its thresholds fall")
        check_terms(self.terms)
        self._check_definitions()
        self._check_components()
        self._check_fallback()
        size = len(self.thresholds) + len(self.terms)
        if self.covariance is not None and {len(row) for row in (self.covariance, *self.covariance)} != {size}:
            raise InputError(f"the covariance of model {self.name} must be ({size}, {size})")

    def __repr__(self) -> str:
        return f"Model {self.name}: {len(self.terms)} terms, {len(self.levels)} levels of the {self.scale} scale"

    def _check_definitions(self) -> None:
        installed = {name: FEATURES[name].version for name in self.features}
        if self.definitions is None:
            object.__setattr__(self, "definitions", installed)
        for name, new in installed.items():
            own = (self.definitions or {}).get(name)
            if own != new:
                raise InputError(
                    f"model {self.name} has definition {own} of feature {name}, "
                    f"this version of audiosim has {new}: train the model again"
                )

    def _check_components(self) -> None:
        expected = {*ALWAYS, *METADATA, REST}
        if self.between is not None and self.components is None:
            raise InputError(f"model {self.name} must have components if it has their variation between collections")
        if (self.components is None) != (self.trend is None):
            raise InputError(f"model {self.name} must have both components and a trend, or neither")
        if self.components is None:
            return
        if not expected <= set(self.components) <= {*expected, SOUND}:
            raise InputError(
                f"model {self.name} must have the components {', '.join(sorted(expected))}, and may have {SOUND}; "
                f"got {', '.join(sorted(self.components))}"
            )
        for name, (size, error) in self.components.items():
            if not 0 < size < np.inf:
                raise InputError(f"model {self.name} must have components above 0, that of {name} is {size:g}")
            if error is not None and not 0 <= error < np.inf:
                raise InputError(
                    f"model {self.name} must have standard errors of 0 or more, that of {name} is {error:g}"
                )

    def _check_fallback(self) -> None:
        if isinstance(self.fallback, Model) and self.fallback.levels != self.levels:
            raise InputError(f"models {self.name} and {self.fallback.name}, its fallback, differ in their levels")

    @cached_property
    def version(self) -> str:
        """The first twelve digits of the checksum: models of one version give the same predictions."""
        return checksum(asdict(self))[:12]

    @property
    def features(self) -> tuple[str, ...]:
        """The features that the terms multiply, each once."""
        return tuple(dict.fromkeys(name for term in self.terms for name in factors(term)))

    @property
    def fallback_name(self) -> str | None:
        """The name of the fallback, shipped or included."""
        return self.fallback.name if isinstance(self.fallback, Model) else self.fallback

    def probabilities(self, table: Mapping[str, Array], count: int) -> Array:
        """(count, levels) P(level) for each row of a table of features; NaN where a feature is unknown.

        table  the model's features, each (count,)
        """
        missing = [name for name in self.features if name not in table]
        if missing:
            known = f"model {self.name} needs the features {', '.join(self.features)}"
            raise InputError(f"{known}; {', '.join(missing)} missing, expected a column of each")
        predictor = design(table, self.terms) @ np.array(self.coefficients) if self.terms else np.zeros(count)
        return level_probabilities(np.array(self.thresholds), predictor)


def checksum(fields: Mapping[str, Any]) -> str:
    """SHA-256 of a model's fields, independent of their order and layout; leaves out a checksum among them."""
    kept = {key: value for key, value in fields.items() if key not in {"checksum", "format"}}
    return hashlib.sha256(json.dumps(kept, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def save_model(model: Model, path: Path) -> None:
    """Write a model file, all or nothing."""
    write_text(path, ["{", *_lines(model_fields(model)), "}"])


def model_fields(model: Model) -> dict[str, Any]:
    """Contents of a model file, as plain values."""
    fields = {"format": FORMAT} | asdict(model)
    return fields | {"checksum": checksum(fields)}


def _lines(fields: Mapping[str, Any]) -> list[str]:
    """One line per key; values that readers compare share a line."""
    lines = [f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items()]
    return [f"{line}," for line in lines[:-1]] + lines[-1:]


def load_model(name: "str | Path | Model") -> Model:
    """The model with a name in models/, such as "mout-fine", or in a .json file; a model is returned unchanged.

    The scale may be left out of an unambiguous name: "joint" is "joint-fine". Raises FormatError if the file is not a
    model or its checksum does not match.
    """
    if isinstance(name, Model):
        return name
    path = Path(name) if str(name).endswith(".json") else package_files.folder("models") / f"{name}.json"
    if not path.is_file():
        if path.suffix == ".json" and str(path) == str(name):
            raise InputError(f"{path}: there is no such model file, expected one that `audiosim train` wrote")
        known = model_names()
        of_scales = [one for one in known if one.startswith(f"{name}-")]
        if len(of_scales) == 1:
            return load_model(of_scales[0])
        if of_scales:
            raise InputError(f"model {str(name)!r} exists for several scales, expected {' or '.join(of_scales)}")
        raise InputError(f"unknown model {str(name)!r}, expected a .json file or one of {choices(name, known)}")
    return _parse(path) if path.suffix == ".json" and str(path) == str(name) else _shipped(path)


@lru_cache(maxsize=32)
def _shipped(path: Path) -> Model:
    """A model that comes with the package, read once: a service of hundreds of collections uses the same few."""
    return _parse(path)


def model_names() -> list[str]:
    """The names of the shipped models."""
    return sorted(path.stem for path in package_files.folder("models").glob("*.json"))


def model_for_scale(name: str | Model, scale: Scale) -> Model:
    """The model with a name or path for a scale: mout means mout-fine on the Fine scale.

    A model is returned unchanged if it is for the scale.
    """
    model = load_model(_full_name(name, scale) if isinstance(name, str) else name)
    if model.scale != scale.name:
        raise InputError(f"model {model.name} is for the {model.scale} scale, the collection's is {scale.name}")
    if off := [level for level in model.levels if level not in scale]:
        raise InputError(f"model {model.name} has the level {off[0]:g}, which is not on the scale ({scale})")
    return model


def usual_model(scale: Scale) -> Model:
    """The model without features for a scale's usual grades: the published shares, or equal ones."""
    name = f"historical-{scale.name}"
    return load_model(name) if name in model_names() else uniform_model(scale)


def uniform_model(scale: Scale) -> Model:
    """The model without features under which every grade of a scale is equally likely."""
    count = len(scale.levels)
    return Model(
        name="uniform",
        scale=scale.name,
        levels=scale.levels,
        terms=(),
        coefficients=(),
        thresholds=tuple(thresholds_of(np.full(count, 1 / count)).tolist()),
        fallback=None,
        source="Urbano (2013), section 7.2.1",
    )


def _full_name(name: str, scale: Scale) -> str:
    full = f"{name}-{scale.name}"
    if full not in model_names() and any(known.startswith(f"{name}-") for known in model_names()):
        raise InputError(f"there is no {name} for the {scale.name} scale; uniform works on every scale")
    return full if full in model_names() else name


def fallbacks(model: Model) -> tuple[Model, ...]:
    """The models for pairs with an unknown feature, in order."""
    found = [model]
    while (fallback := found[-1].fallback) is not None:
        if len(found) > MOST_FALLBACKS:
            raise InputError(f"model {model.name} has a chain of more than {MOST_FALLBACKS} fallbacks")
        found.append(load_model(fallback))
    return tuple(found[1:])


def _parse(path: Path) -> Model:
    if path.stat().st_size > MOST_BYTES:
        raise FormatError(path, 1, f"not a model: larger than {MOST_BYTES:,} bytes")
    fields = parse_json(path, 1, whole_text(path).rstrip(), "a model")
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        found = fields.get("format") if isinstance(fields, dict) else None
        raise FormatError(
            path,
            1,
            f"expected a model file of format {FORMAT}, found {shortened(str(found or 'none'))}",
        )
    expected = {*Model.__dataclass_fields__, "format", "checksum"}
    if set(fields) != expected:
        names = shortened(", ".join(sorted(fields))) if len(fields) > 2 * len(expected) else ", ".join(sorted(fields))
        raise FormatError(path, 1, f"expected the keys {', '.join(sorted(expected))}, found {names}")
    try:
        model = msgspec.convert(fields, Model) if fields["checksum"] == checksum(fields) else None
    except (InputError, msgspec.ValidationError, OverflowError) as error:
        raise FormatError(path, 1, str(error)) from None
    except RecursionError:
        raise FormatError(path, 1, "not a model: nested too deeply") from None
    if model is None:
        raise FormatError(path, 1, "the checksum does not match: the file was changed after it was written")
    return model
