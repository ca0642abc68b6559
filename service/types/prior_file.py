"""Prior beliefs on the wire: correlated gains, block by block and exact, as arrays of a compressed npz file."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from audiosim.collection.pool import Pool
from audiosim.collection.values import Pair
from audiosim.errors import InputError, ServiceError
from audiosim.joint.check import Reserved
from audiosim.joint.estimators import Relearning, RelevanceEstimator, estimator_of
from audiosim.joint.levels import Levels
from audiosim.joint.posterior import Belief, Kinds, Marginals, in_words, of_words
from audiosim.ordinal.model import model_names
from audiosim.service.types.answer_checks import check_evidence
from audiosim.stats.arrays import Array, Integers
from audiosim.stats.normal.block_normal import BlockNormal
from audiosim.stats.normal.loadings import Loadings
from audiosim.tables.arrays import npz_bytes

MOST_BYTES = 2**28  # of all arrays, unpacked
FOR_OTHERS = ("query", "document", "maximum")  # fields that audiosim does not need to read: docs/prior.md
FLOATS = ("levels", "marginals", "mean", "data", "shared", "shape", "stretch", "width", "worth", "means")
WHOLE = ("model", "places", "sizes", "row", "column", "spoke")
TEXTS = ("models", "evidence")
NAMES = (*FLOATS, *WHOLE, *TEXTS, "within")  # the last may be packed
ROUNDING = 1e-9  # of a variance of shared effects, as a share of the largest
BEYOND = 0.5  # share of the scale by which a mean gain may lie outside, because normal gains are unbounded
MOST_DIFFERENT = (
    0.25  # largest mean difference between gains and level probabilities; 0.06 at most in the shipped models
)
MOST_VARIANCE = 1.0  # of a gain; a gain of 0 or 1 has at most a quarter


def encode_prior(belief: Belief, pairs: Sequence[Pair]) -> bytes:
    """File of a belief's prior, without grades; docs/prior.md documents the format.

    pairs  n, in the order of the pool

    query, document  (n,) identifiers of the pairs
    maximum        highest grade of the scale; gains are shares of it
    levels, marginals, models, model  as in `Marginals`
    mean           (n,) of the gains
    places, sizes  (n,) places block by block, and the size of each block
    within         (m,) lower triangles of the blocks' covariances, row by row, one block after another; if few numbers
                   are repeated, (8, m): the first bytes of all, then the second, ..., as exponents together pack better
    data, row, column  non-zero loadings on shared effects; rows in the order of `places`
    shared         (p, p) covariance of the shared effects
    shape          (l - 1,) as in `Levels`; (0,) for None
    stretch, width, worth  as in `Levels`
    means          (l,) as in `Levels`; (0,) for None
    evidence       as in `Belief`
    spoke          (n,) as in `Belief`; (0,) for None

    Raises an InputError unless gains are correlated in blocks with shared effects.
    """
    prior, use = belief.prior, belief.use
    if not isinstance(prior, BlockNormal):
        raise InputError(f"the prior of {belief.models[0]} is a {type(prior).__name__}, which cannot be sent")
    places = np.concatenate([np.empty(0, dtype=np.int64), *prior.blocks])
    loadings = prior.sparse_loadings.in_full()[places].tocoo()
    arrays: dict[str, NDArray[Any]] = {
        "query": np.array([pair.query for pair in pairs], dtype=np.str_),
        "document": np.array([pair.document for pair in pairs], dtype=np.str_),
        "maximum": np.array(belief.maximum),
        "levels": belief.levels,
        "marginals": belief.marginals,
        "models": np.array(belief.models),
        "model": belief.model,
        "mean": prior.mean,
        "places": places,
        "sizes": np.array([len(rows) for rows in prior.blocks], dtype=np.int64),
        "within": _packed(np.concatenate([np.empty(0), *(own[np.tril_indices(len(own))] for own in prior.within)])),
        "data": loadings.data,
        "row": loadings.row.astype(np.int64),
        "column": loadings.col.astype(np.int64),
        "shared": prior.shared,
        "shape": np.empty(0) if use.shape is None else use.shape,
        "stretch": np.array(use.stretch),
        "width": np.array(use.width),
        "worth": np.array(use.worth),
        "means": np.empty(0) if use.means is None else use.means,
        "evidence": np.array([in_words(kinds) for kinds in belief.evidence], dtype=np.str_),
        "spoke": np.empty(0, dtype=np.int64) if belief.spoke is None else belief.spoke,
    }
    return npz_bytes(arrays, compressed=True)


def decode_prior(body: bytes, grades: Array, maximum: float, url: str) -> Belief:
    """Belief with the prior in a file, given some judgments; ServiceError if the file is invalid for these pairs.

    body     in the format of `encode_prior`, from an untrusted service
    grades   (n,) NaN where unjudged
    maximum  the highest grade of the scale
    """
    try:
        parts = _arrays(body)
        _check_kinds(parts)
        models, prior = tuple(str(name) for name in parts["models"]), _block_normal(parts, len(grades))
        alone = Marginals(parts["levels"], parts["marginals"], models, parts["model"], maximum)
        _check_one_opinion(alone, prior)
        evidence, spoke = _evidence(parts["evidence"], parts["spoke"], len(grades), url)
        return Belief(alone, prior, grades, _use(parts), evidence, spoke)
    except (InputError, ValueError, IndexError, TypeError, OSError, EOFError, BadZipFile, MemoryError) as error:
        raise ServiceError(f"{url} sends an invalid prior: {error}") from None


def reserve_of(pool: Pool, name: str, learned: Mapping[Pair, float] | None) -> RelevanceEstimator | None:
    """Local replacement of the named model, used if the model fails its check; None if there is none.

    learned  judgments from which it learns, or None
    """
    stem = name.rpartition("-")[0]  # a joint model's scale is that of the pool
    known = any(shipped.rpartition("-")[0] == stem for shipped in model_names())
    estimator = estimator_of(pool, stem) if known else None
    if estimator is None or estimator.name != name:
        return None
    if learned is not None and isinstance(estimator, Relearning):
        estimator = estimator.relearned(pool.spread(learned))
    return estimator.in_reserve() if isinstance(estimator, Reserved) else None


def _arrays(body: bytes) -> dict[str, Any]:
    with ZipFile(BytesIO(body)) as file:
        unpacked = sum(entry.file_size for entry in file.infolist())
        if unpacked > MOST_BYTES:
            raise InputError(f"it unpacks to {unpacked:,} bytes, more than {MOST_BYTES:,}")
        names = [name for name in file.namelist() if name.removesuffix(".npy") not in FOR_OTHERS]
        if sorted(names) != sorted(f"{name}.npy" for name in NAMES):
            raise InputError(f"it holds {', '.join(file.namelist())}, expected {', '.join(NAMES)}")
    with np.load(BytesIO(body), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in NAMES}


def _check_one_opinion(alone: Marginals, prior: BlockNormal) -> None:
    """Raise an InputError if gains and level chances, which should agree, differ much on average."""
    differences = prior.mean - alone.probabilities @ alone.levels / alone.maximum
    if abs(average := float(np.mean(differences)) if len(differences) else 0.0) > MOST_DIFFERENT:
        raise InputError(f"its mean gains are {average:+.2f} from those of its level probabilities, expected 0")


def _check_kinds(parts: dict[str, Any]) -> None:
    """Raise an InputError if a part has the wrong type, or a loading is not finite."""
    for names, kind, what in ((FLOATS, np.floating, "float64"), (WHOLE, np.integer, "whole"), (TEXTS, np.str_, "text")):
        for name in names:
            part = parts[name]
            if not np.issubdtype(part.dtype, kind) or (names is FLOATS and part.dtype != np.float64):
                raise InputError(f"its {name} must be {what}, got {part.dtype}")
            if name == "data" and not np.isfinite(part).all():
                raise InputError("its loadings must be finite")


def _use(parts: dict[str, Any]) -> Levels:
    """Mapping from gains to levels, from the parts of a file."""
    shape, means = (None if parts[name].shape == (0,) else parts[name] for name in ("shape", "means"))
    stretch, width, worth = (_number(name, parts[name]) for name in ("stretch", "width", "worth"))
    return Levels(shape, stretch, width, worth, means)


def _number(what: str, number: Array) -> float:
    if number.dtype != np.float64 or number.shape != ():
        raise InputError(f"its {what} must be one {'' if what == 'worth' else 'finite '}number above 0")
    return float(number)


def _evidence(words: Any, spoke: Integers, count: int, url: str) -> tuple[tuple[Kinds, ...], Integers | None]:
    """Evidence used, and its index for each pair; none if the file does not give it."""
    names = tuple(str(name) for name in words)
    check_evidence(names, url)
    if spoke.shape == (0,) and not names:
        return (), None
    right = spoke.shape == (count,) and np.issubdtype(spoke.dtype, np.integer)
    if not right or np.any(spoke < 0) or np.any(spoke >= len(names)):
        raise InputError(f"it must give for each of {count} pairs one of {len(names)} combinations of evidence")
    return tuple(map(of_words, names)), spoke


def _block_normal(parts: dict[str, Any], count: int) -> BlockNormal:
    """The prior, checked to have `count` pairs and a valid covariance."""
    places, sizes, shared = parts["places"], parts["sizes"], parts["shared"]
    triangles = _unpacked(parts["within"])
    if parts["mean"].shape != (count,):
        raise InputError(f"it has {parts['mean'].size} pairs, expected {count}")
    if np.any(sizes < 0) or sizes.sum() != len(places) or np.sum(sizes * (sizes + 1) // 2) != len(triangles):
        raise InputError("its blocks do not have the stated sizes")
    if shared.shape != (len(shared), len(shared)) or not np.array_equal(shared, shared.T):
        raise InputError("the covariance of its shared effects must be symmetric")
    if len(shared) and np.min(np.linalg.eigvalsh(shared)) < -ROUNDING * np.max(np.abs(shared)):
        raise InputError("the covariance of its shared effects must not be negative")
    cells = (parts["data"], (parts["row"], parts["column"]))
    rows = sparse.csr_array(sparse.coo_array(cells, shape=(len(places), len(shared))))[np.argsort(places)]
    rows.sort_indices()
    blocks = tuple(np.split(places, np.cumsum(sizes)[:-1]))
    found = BlockNormal(parts["mean"], blocks, _triangles(triangles, sizes), Loadings(rows, blocks, {}), shared)
    low, high = float(np.min(found.mean, initial=0)), float(np.max(found.mean, initial=0))
    if low < -BEYOND or high > 1 + BEYOND:
        raise InputError(f"its mean gains are {low:g} to {high:g}, expected 0 to 1, as gains are")
    if (most := float(np.max(found.variance, initial=0))) > MOST_VARIANCE:
        raise InputError(f"a gain has variance {most:g}, expected up to {MOST_VARIANCE:g}")
    return found


def _packed(numbers: Array) -> Array | NDArray[np.uint8]:
    """(m,) the numbers themselves, or (8, m) their bytes if most numbers are unique."""
    if 2 * len(np.unique(numbers)) < len(numbers):
        return numbers
    return np.ascontiguousarray(numbers.astype("<f8").view(np.uint8).reshape(-1, 8).T)


def _unpacked(packed: Array | NDArray[np.uint8]) -> Array:
    """(m,) the numbers packed by `_packed`."""
    if packed.dtype == np.uint8 and packed.ndim == 2 and len(packed) == 8:
        return np.ascontiguousarray(packed.T).view("<f8").ravel().astype(np.float64)
    if packed.dtype != np.float64 or packed.ndim != 1:
        raise InputError(f"its triangles must be numbers, or eight rows of bytes, got {packed.dtype}")
    return np.asarray(packed, dtype=np.float64)


def _triangles(packed: Array, sizes: Integers) -> tuple[Array, ...]:
    """Symmetric matrices from their lower triangles; each must be positive definite."""
    found = []
    for size, own in zip(sizes.tolist(), np.split(packed, np.cumsum(sizes * (sizes + 1) // 2)[:-1]), strict=True):
        full = np.zeros((size, size))
        full[np.tril_indices(size)] = own
        full += np.tril(full, -1).T
        try:
            np.linalg.cholesky(full)
        except np.linalg.LinAlgError:
            raise InputError("the covariance within each of its blocks must be positive definite") from None
        found.append(full)
    return tuple(found)
