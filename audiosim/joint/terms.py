"""Evidence from judging machines: covariates of people's grades, with a prior of slopes learned from real machines.

    deviations += sum over machines m of  b_m within_m + c_m system_m + d_m query_m + f_m excess_m  +  taste

with the parts of `ordinal.evidence`. Taste is an effect of each system, the interaction of machine and system. It is
larger the more the machines set the system apart, so that a machine's favourites are most uncertain.
`models/judges/slopes.json` has the distribution of one machine's slopes. Machines that agree also make the same errors,
so several count for less than their sum. With C the correlation of their grades at one level, D its standard
deviations, mu and sigma the prior of one machine,

    slopes ~ N(D^-1 C^-1 D mu, sigma^2 C^-1)

This is the regression on all machines if each of them alone has the covariance with grades that a single machine has (a
g prior, Zellner 1986). Components of the model lose the variance that the slopes are expected to explain.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import block_diag

from audiosim.collection.collection import Collection
from audiosim.collection.evidence import PIECE_NAME, Evidence
from audiosim.collection.pool import UNKNOWN, Pool, build_pool
from audiosim.errors import AudiosimError, InputError
from audiosim.joint.posterior import METADATA_KINDS, Belief, Kinds, combinations
from audiosim.ordinal.evidence import (
    LEVELS,
    SOUND_EVIDENCE,
    Column,
    MachineGrades,
    machine_grades,
    sound_columns,
    user_columns,
)
from audiosim.ordinal.model import SOUND
from audiosim.ordinal.sound import angles_of, keep_closeness, likeness
from audiosim.package_files import folder
from audiosim.sound.proximity import nearest_correlation
from audiosim.stats.arrays import Array, Booleans, Integers, numbered
from audiosim.stats.normal.blocks import Cosines, SameCode, short
from audiosim.stats.normal.layout import REST, Kernels, Layout

# Covariates from the numbers of teams and systems that found a document, comparable between collections.
#
# A share of the teams is not comparable: the meaning of a tenth of them depends on their number. Two quantities are
# comparable: a system's agreement with others, in standard deviations over the systems, and the logarithm of a number
# of
# teams. Teams are more informative than their systems, which resemble each other. Still, a document found by all
# systems
# of a team is better than a document found by only one of them.


QUANTILES = (0.5, 0.8, 0.95)  # quantiles of the logarithm of the number of teams; they separate the bands of consensus


def log_teams(pool: Pool) -> Array:
    """(n,) the natural logarithm of the number of teams that retrieved each pair's document; 0 where none did."""
    systems = np.arange(len(pool.systems))
    members = sparse.csr_array((np.ones(len(systems)), (pool.teams, systems)))
    counts = np.asarray((members @ pool.retrieved > 0).sum(axis=0), dtype=np.float64).ravel()
    return np.log(np.maximum(1, counts))


def covariates(pool: Pool) -> tuple[Array, Array, Array]:
    """System agreement, consensus and repetition of each pair, (n,) each.

        u_a  mean over the pairs of system a of ln teams,  l_i = ln teams_i - mean over all pairs
        agreement_i  = mean over the systems a that retrieved i of  (u_a - mean of u) / (standard deviation of u)
        consensus_i  = l_i - mean over the systems a that retrieved i of  u_a
        repetition_i = the same as consensus, for  ln (systems / teams)  that retrieved i

    The first distinguishes systems, the others documents within a system: between and within groups, as Mundlak
    (1978), doi:10.2307/1913646. Agreement is 0 where all systems agree equally or there is only one; repetition is 0
    where each system is its own team.
    """
    teams, repeated = log_teams(pool), log_repetition(pool)
    systems, consensus = _within(pool, teams)
    there = systems[np.diff(pool.retrieved.indptr) > 0]
    spread = float(there.std())
    agreement = (systems - there.mean()) / spread if spread > np.finfo(float).eps * len(teams) else 0 * systems
    by = np.maximum(1, np.asarray(pool.retrieved.sum(axis=0)).ravel())
    return (agreement @ pool.retrieved) / by, consensus, _within(pool, repeated)[1]


def log_repetition(pool: Pool) -> Array:
    """(n,) natural logarithm of the number of systems per team among those that retrieved each pair's document."""
    counts = np.asarray(pool.retrieved.sum(axis=0), dtype=np.float64).ravel()
    return np.log(np.maximum(1, counts)) - log_teams(pool)


def _within(pool: Pool, values: Array) -> tuple[Array, Array]:
    """(s,) mean value of each system's pairs, and (n,) excess of each pair over the mean of its systems.

    values  (n,), centred on the mean over all retrieved pairs
    """
    centred = values - values[pool.found].mean()
    counts = np.diff(pool.retrieved.indptr)
    systems = np.asarray(pool.retrieved @ centred).ravel() / np.maximum(1, counts)
    by = np.maximum(1, np.asarray(pool.retrieved.sum(axis=0)).ravel())
    return systems, centred - (systems @ pool.retrieved) / by


def bands(pool: Pool) -> Array:
    """(n, b) 1 in the band of consensus of each pair, else 0; bands without a pair are left out.

    The QUANTILES of ln teams separate four bands; a value equal to a quantile belongs to the band below it.
    """
    teams = log_teams(pool)
    band = np.searchsorted(np.quantile(teams[pool.found], QUANTILES), teams, side="left")
    return np.asarray(band[:, None] == np.unique(band), dtype=np.float64)


# A kind of evidence: its columns for the pairs of a pool, and the prior of their slopes.


Blocks = tuple[Integers, ...]  # the places of each query's pairs, as `Layout` has them


@dataclass(frozen=True, eq=False)
class Regressors:
    """Covariates of a pool's n pairs from evidence, with the prior of their slopes, and its likenesses.

        deviations += columns slopes + likeness + effects,   slopes ~ N(slopes, covariance)

    names       names of its m pieces, as shown with predictions
    known       (n, m) True where each piece covers each pair
    columns     (n, k) covariates in standard deviations over the retrieved pairs; 0 where not covered
    slopes      (k,) prior means, in standard deviations of a grade
    covariance  (k, k) covariance of that prior
    kernels     similarity of the documents of each block, a correlation, by name
    shared      (n, p) loading of each pair on each of p effects of one kind, by name
    standard_deviations  median, and standard deviation of the logarithm, by name of a kernel or of effects
    explained   by names of components, together: the part of their variance, in deviations, that the columns are
                expected to explain
    """

    names: tuple[str, ...]
    known: Booleans
    columns: Array
    slopes: Array
    covariance: Array
    kernels: Mapping[str, tuple[Array, ...]] = field(default_factory=dict)
    shared: Mapping[str, sparse.csr_array] = field(default_factory=dict)
    standard_deviations: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    explained: Mapping[tuple[str, ...], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n, k = self.columns.shape
        if self.known.shape != (n, len(self.names)):
            raise InputError(f"known must be ({n}, {len(self.names)}) to match columns and names")
        if self.slopes.shape != (k,) or self.covariance.shape != (k, k):
            raise InputError(f"{k} columns need ({k},) slopes and their ({k}, {k}) covariance")
        if self.kernels.keys() | self.shared.keys() != self.standard_deviations.keys():
            raise InputError("kernels and shared effects must have standard deviations, and nothing else")
        if not all(np.all(np.isfinite(part)) for part in (self.columns, self.slopes, self.covariance)):
            raise InputError("columns, slopes and their covariance must be finite")


@dataclass(frozen=True, slots=True)
class EvidenceKind:
    """One kind of evidence.

    name        letters, digits, - and _, beginning with a letter
    meaning     one line
    regressors  function of a pool and its blocks; returns None if this kind does not cover it
    """

    name: str
    meaning: str
    regressors: Callable[[Pool, Blocks], Regressors | None]

    def __post_init__(self) -> None:
        if not PIECE_NAME.fullmatch(self.name):
            raise InputError(f"the name of a kind of evidence must begin with a letter, got {self.name!r:.80}")


def beside(first: Regressors, second: Regressors) -> Regressors:
    """Regressors of two kinds together; their slopes are independent."""
    if (shared := set(first.names) & set(second.names)) != set():
        raise InputError(f"two kinds of evidence have the same name {min(shared)}")
    explained = dict(first.explained)
    for names, variance in second.explained.items():
        explained[names] = explained.get(names, 0.0) + variance
    return Regressors(
        (*first.names, *second.names),
        np.hstack([first.known, second.known]),
        np.hstack([first.columns, second.columns]),
        np.concatenate([first.slopes, second.slopes]),
        block_diag(first.covariance, second.covariance),
        {**first.kernels, **second.kernels},
        {**first.shared, **second.shared},
        {**first.standard_deviations, **second.standard_deviations},
        explained,
    )


def no_regressors(count: int) -> Regressors:
    """Regressors of `count` pairs without any evidence."""
    return Regressors((), np.empty((count, 0), dtype=np.bool_), np.empty((count, 0)), np.empty(0), np.empty((0, 0)))


MACHINE_SYSTEM = "machine_system"
OWN_ERRORS = 0.1  # smallest share of a machine's grades taken as independent of others
# components that explain, without a machine, the variation at each level
TAKEN_FROM = {"within": ("retrievers", REST), "system": ("team", "system"), "query": ("query",)}


@dataclass(frozen=True)
class SlopePrior:
    """Normal distribution over machines of the slopes of their grades: mean and standard deviation, by level.

    of       distribution at each of LEVELS, in standard deviations of a grade
    taste    median, and standard deviation of the logarithm, of the deviation of taste per unit by which a system is
             set apart
    sources  training collections
    response mean and standard deviation of the regression of a machine's mean grades of systems on people's
    favour   median, and standard deviation of the logarithm, of its further additions to systems
    """

    of: Mapping[str, tuple[float, float]]
    taste: tuple[float, float]
    sources: tuple[str, ...]
    response: tuple[float, float] = (0.8, 0.3)
    favour: tuple[float, float] = (0.2, 1.0)


@cache
def usual_slopes() -> SlopePrior:
    """The distribution shipped with the package."""
    fields = json.loads((folder("models") / "judges" / "slopes.json").read_text(encoding="utf-8"))
    slopes = {name: (mean, spread) for name, (mean, spread) in fields["slopes"].items()}
    median, spread = fields["taste"]
    response, favour = ((fields[name][0], fields[name][1]) for name in ("response", "favour"))
    return SlopePrior(slopes, (median, spread), tuple(fields["sources"]), response, favour)


def machine_regressors(machines: tuple[MachineGrades, ...], pool: Pool, prior: SlopePrior) -> Regressors:
    """Regressors of a pool's machines, by a prior of their slopes."""
    counted = pool.found
    columns, means, covariances, explained = [], [], [], dict[tuple[str, ...], float]()
    for place, level in enumerate(LEVELS):
        said = np.column_stack([one.parts[:, place] for one in machines])
        mean, spread = prior.of[level]
        weights, inverse = _weights(said[counted])
        columns.append(said)
        means.append(mean * weights)
        covariances.append(spread**2 * inverse)
        if level == "system":
            distinct = np.stack([one.scores for one in machines], axis=1) * weights
        if level in TAKEN_FROM:
            explained[TAKEN_FROM[level]] = mean**2 * float(np.var(said[counted] @ weights))
    return Regressors(
        tuple(one.name for one in machines),
        np.column_stack([one.known for one in machines]),
        np.hstack(columns),
        np.concatenate(means),
        block_diag(*covariances),
        shared={MACHINE_SYSTEM: _tastes(pool, np.sqrt((distinct**2).sum(axis=1)))},
        standard_deviations={MACHINE_SYSTEM: prior.taste},
        explained=explained,
    )


def _tastes(pool: Pool, distinct: Array) -> sparse.csr_array:
    """(n, s) loadings of the pairs on the tastes for systems: equal parts for the systems that retrieved a pair.

    distinct  (s,) distance by which machines set each system apart
    """
    found = sparse.csr_array(pool.retrieved.T)
    parts = sparse.diags_array(1 / np.maximum(1, found.sum(axis=1))) @ found
    return sparse.csr_array(parts @ sparse.diags_array(distinct))


def _weights(said: Array) -> tuple[Array, Array]:
    """(m,) D^-1 C^-1 D of ones, the weight of each of m machines beside the others, and (m, m) C^-1.

    said  (n, m) their grades of pairs
    """
    deviations = np.maximum(said.std(axis=0), 1e-9)
    centred = (said - said.mean(axis=0)) / deviations
    correlation = np.maximum(0.0, centred.T @ centred / max(1, len(said)))  # disagreement adds no credibility
    np.fill_diagonal(correlation, 1)
    shared = (1 - OWN_ERRORS) * nearest_correlation(correlation) + OWN_ERRORS * np.eye(len(correlation))
    inverse = np.linalg.inv(shared)
    return np.asarray(inverse @ deviations / deviations), np.asarray(inverse)


def machine_kind(prior: SlopePrior | None = None) -> EvidenceKind:
    """The kind of evidence for machines, by a prior of their slopes; the shipped one if None."""

    def regressors(pool: Pool, _: Blocks) -> Regressors | None:
        machines = machine_grades(pool)
        return machine_regressors(machines, pool, prior or usual_slopes()) if machines else None

    return EvidenceKind("judges", "grades of machines that judge, in the folder judges", regressors)


MACHINE_KIND = machine_kind()


# Random effects shared by the grades of a pool's pairs; a joint model gives their variances.
#
# query         the pairs of one query
# retrievers    pairs of one query that the same systems retrieved, by the cosine of the two sets of systems
# query_genre   pairs of one query with documents of one genre
# query_artist  pairs of one query with documents by one artist
# sound         pairs of one query with documents that sound alike
# genres        pairs of queries of one genre with documents of one genre
# artist        pairs with documents by one artist
# consensus     pairs, of all queries, in one band of the number of teams that retrieved them
# team, system  the pairs that a team's systems, or a system, retrieved; in equal parts if there are several
#
# A pair with an unknown value has a separate effect instead: it is as uncertain as the others, and shares nothing
# with
# them.


EFFECTS = 100  # most effects of one kind that are shared between queries; limits memory


def layout_of(pool: Pool, scale: Array, sound: bool = False, metadata: bool = True) -> Layout:
    """The components of a pool's pairs: ALWAYS, METADATA unless left out, and SOUND if requested.

    scale  (n,) above 0: deviation of each pair's grade, the unit of the components' standard deviations
    """
    order = np.argsort(pool.query, kind="stable")
    blocks = tuple(np.split(order, np.cumsum(np.bincount(pool.query, minlength=len(pool.queries)))[:-1]))
    found = short(sparse.csr_array(pool.retrieved.T).astype(np.float64))
    kernels: dict[str, Kernels] = {
        "query": SameCode(blocks, np.zeros(len(pool.pairs), dtype=np.int64)),
        "retrievers": Cosines(blocks, _same_places(found, np.ones(found.nnz, dtype=np.int8))),
    }
    shared: dict[str, Array | sparse.csr_array] = {}
    if metadata:
        shared = _metadata(pool, blocks, kernels)
    if sound:
        kernels[SOUND] = sound_kernels(pool, blocks)
    parts = _same_places(found, np.repeat(1 / np.maximum(1, found.sum(axis=1)), np.diff(found.indptr)))
    shared["consensus"] = sparse.csr_array(bands(pool))
    shared["team"] = sparse.csr_array(parts @ _indicators(pool.teams, int(pool.teams.max()) + 1))
    shared["system"] = parts
    return Layout(blocks, kernels, shared, scale)


def _same_places(like: sparse.csr_array, data: Array | NDArray[np.int8]) -> sparse.csr_array:
    """A matrix with other values at the same places. It shares the indices, which take 25 MB for a million pairs."""
    return sparse.csr_array((data, like.indices, like.indptr), shape=like.shape)


def _metadata(
    pool: Pool, blocks: tuple[Integers, ...], kernels: dict[str, Kernels]
) -> dict[str, Array | sparse.csr_array]:
    """The effects of genres and artists that queries share; adds kernels for those within a query."""
    pairing = np.where(
        (pool.query_genre == UNKNOWN) | (pool.genre == UNKNOWN),
        UNKNOWN,
        pool.query_genre * (pool.genre.max(initial=0) + 1) + pool.genre,
    )
    genres, genres_alone = _shared(pairing, pool.query)
    artist, artist_alone = _shared(pool.artist, pool.query)
    kernels["query_genre"] = SameCode(blocks, pool.genre)
    kernels["query_artist"] = SameCode(blocks, pool.artist)
    kernels["genres"] = SameCode(blocks, pairing, genres_alone)
    kernels["artist"] = SameCode(blocks, pool.artist, artist_alone)
    return {"genres": genres, "artist": artist}


def _shared(code: Integers, query: Integers) -> tuple[sparse.csr_array, Booleans]:
    """(n, p) indicator of each pair for p effects, and (n,) True for pairs without any.

    Effects belong to codes shared by pairs of several queries: the EFFECTS most frequent ones.
    """
    codes, place = np.unique(code, return_inverse=True)
    queries = query.max(initial=0) + 1
    cells = np.unique(place * queries + query) // queries
    several = (np.bincount(cells, minlength=len(codes)) > 1) & (codes != UNKNOWN)
    counts = np.bincount(place, minlength=len(codes)) * several
    chosen = np.argsort(-counts, kind="stable")[: min(EFFECTS, int(several.sum()))]
    effect = numbered(np.sort(chosen), len(codes))[place]
    return _indicators(effect, len(chosen)), effect == UNKNOWN


def _indicators(code: Integers, count: int) -> sparse.csr_array:
    """(n, count) 1 where a row has a code; rows of unknown code are empty."""
    known = np.flatnonzero(code != UNKNOWN)
    return short(sparse.csr_array((np.ones(len(known)), (known, code[known])), shape=(len(code), count)))


def sound_kernels(pool: Pool, blocks: tuple[Integers, ...]) -> tuple[Array, ...]:
    """For each block, the similarity of its recordings in sound, 1 on the diagonal: a correlation.

    See `ordinal.sound.likeness`. Pairs without a recording are similar only to themselves.
    """
    kernels = tuple(likeness(pool, rows) for rows in blocks)
    keep_closeness(pool)
    return kernels


def vector_kernels(pool: Pool, piece: Evidence, blocks: tuple[Integers, ...]) -> tuple[Array, ...]:
    """For each block, the similarity of its documents by a piece of evidence with vectors: a correlation."""
    angles = angles_of(pool, piece)
    return tuple(nearest_correlation(angles.likeness(rows)) for rows in blocks)


# Evidence of the user's own: numbers, and vectors of documents; see `collection.evidence`.
#
# By its prior it may matter as much as sound, in either direction.


OWN_SLOPE = (0.0, 0.2)  # mean and standard deviation over collections
OWN_SIZE = (0.15, 0.3)  # median, and standard deviation of the logarithm


def _regressors(pool: Pool, blocks: Blocks) -> Regressors | None:
    """Columns of a pool's informative pieces of evidence, and similarity of documents by those that are vectors."""
    columns = user_columns(pool)
    return _of_columns(pool, blocks, columns, OWN_SLOPE, OWN_SIZE) if columns else None


def _of_columns(
    pool: Pool, blocks: Blocks, columns: Sequence[Column], slope: tuple[float, float], size: tuple[float, float]
) -> Regressors:
    """Regressors of columns with independent slopes of one distribution, and kernels of sound and of vectors.

    slope  mean, and standard deviation
    size   median, and standard deviation of the logarithm, of each kernel
    """
    names = tuple(column.name for column in columns)
    known, values = (np.column_stack([getattr(one, part) for one in columns]) for part in ("known", "values"))
    kernels = {SOUND_EVIDENCE: sound_kernels(pool, blocks)} if SOUND_EVIDENCE in names else {}
    vectors = (piece for piece in pool.evidence if piece.is_vector and piece.name in names)
    kernels |= {piece.name: vector_kernels(pool, piece, blocks) for piece in vectors}
    means, covariance = np.full(len(names), slope[0]), np.diag(np.full(len(names), slope[1] ** 2))
    deviations = dict.fromkeys(kernels, size)
    return Regressors(names, known, values, means, covariance, kernels, standard_deviations=deviations)


OWN_KIND = EvidenceKind("own", "numbers and vectors that the user brings in the folder evidence", _regressors)


# Evidence of sound: closeness of a recording to the query's, and effects shared by recordings that sound alike.
#
# The prior is learned from data with both sound and relevance: the demo (slope .49 +- .08 for documents without
# metadata, .24 +- .05 with genre and artist) and 96 clips of eight games (.33 +- .03), see `benchmarks/evidence.py`.
# Its spread is the variation between collections, not the error of these estimates.
#
# Several descriptions of sound, Gaussians and vectors, carry much the same information: their standardised sum has
# the slope of a single one, and their likenesses together have its size. Judgments decide which of them is right.


SLOPE = (0.33, 0.2)  # mean and standard deviation over collections
SIZE = (0.3, 0.3)  # median, and standard deviation of the logarithm


def _sound_evidence_regressors(pool: Pool, blocks: Blocks) -> Regressors | None:
    """Nearness of the pairs of a pool with an index, and likeness of their recordings, by each of its descriptions."""
    columns = sound_columns(pool)
    if not columns:
        return None
    slope, size = (SLOPE[0] / _spread_of_sum(columns), SLOPE[1]), (SIZE[0] / math.sqrt(len(columns)), SIZE[1])
    return _of_columns(pool, blocks, columns, slope, size)


def _spread_of_sum(columns: Sequence[Column]) -> float:
    """Standard deviation of the sum of standardised columns, over rows where all are known."""
    values, known = (np.column_stack([getattr(one, part) for one in columns]) for part in ("values", "known"))
    together = values[known.all(axis=1)].sum(axis=1)
    return max(1.0, float(together.std())) if len(columns) > 1 and len(together) else float(len(columns))


SOUND_KIND = EvidenceKind(
    SOUND_EVIDENCE, "how near the recordings sound to the query's, and to each other", _sound_evidence_regressors
)


# Kinds of evidence by name.


EVIDENCE_KINDS: Mapping[str, EvidenceKind] = {kind.name: kind for kind in (SOUND_KIND, OWN_KIND, MACHINE_KIND)}


# Effects of evidence in a joint model: slopes of its columns, and effects shared by documents similar in it.
#
# deviations += columns slopes  +  likenesses,   slopes ~ N(means, covariance)
#
# in standard deviations of a grade. Judgments correct the slopes exactly, from the first one on, like all other
# effects;
# the variances of the likenesses are learned again with the others. Each kind of evidence brings its columns and the
# prior of its slopes: see `evidence_kind`.


CUTOFF = 5  # cutoff of the default measure


@dataclass(frozen=True, eq=False)
class EvidenceEffects:
    """The effects of a pool's evidence, before any judgment.

    regressors  regressors of all kinds together
    """

    regressors: Regressors

    @classmethod
    def of(cls, pool: Pool, layout: Layout, kinds: Iterable[EvidenceKind] | None = None) -> "EvidenceEffects":
        """The effects of a pool's evidence, for the pool's layout.

        kinds  kinds of evidence; None for all kinds known in this process
        """
        some = EVIDENCE_KINDS.values() if kinds is None else kinds
        found = (kind.regressors(pool, layout.blocks) for kind in some)
        return cls(reduce(beside, (one for one in found if one is not None), no_regressors(len(pool.pairs))))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the informative pieces of evidence."""
        return self.regressors.names

    @property
    def standard_deviations(self) -> Mapping[str, tuple[float, float]]:
        """Median size of each likeness and kind of effect, and the standard deviation of its logarithm."""
        return self.regressors.standard_deviations

    def onto(self, layout: Layout) -> Layout:
        """The layout with likenesses and effects added to its components, and the columns added after its trend."""
        brought = self.regressors
        trend = np.hstack([layout.fixed, brought.columns * layout.scale[:, None]])
        kernels, shared = {**brought.kernels, **layout.kernels}, {**layout.shared, **brought.shared}
        return replace(layout, kernels=kernels, shared=shared, trend=trend)

    def spoken(self, ordinal: Belief) -> tuple[tuple[Kinds, ...], Integers]:
        """Evidence used for each pair: output, the evidence of the ordinal model, and each piece of evidence; see
        `speaking.combinations`.
        """
        of_models = [set(kinds) for kinds in ordinal.evidence]
        kinds = [kind for kind in METADATA_KINDS if any(kind in of for of in of_models)]
        spoke = np.array([[kind in of for kind in kinds] for of in of_models], dtype=np.bool_)[ordinal.model]
        always = np.ones((len(spoke), 1), dtype=np.bool_)
        return combinations(("output", *kinds, *self.names), np.hstack([always, spoke, self.regressors.known]))


def prepare_closeness(folder: Path) -> None:
    """Precompute the closeness that a joint model of a collection needs, and store it beside the index of its sounds.

    folder  folder of the collection

    Its first ranking is then as fast as any other. Does nothing if the folder holds no readable collection: the
    error appears when it is read later. For pools at cutoffs other than the collection's and 5, it stores the
    references of the comparison.
    """
    with suppress(AudiosimError):
        collection = Collection.load(folder, judgments="none")
        if collection.sounds is None:
            return
        for cutoff in dict.fromkeys((collection.cutoff, CUTOFF)):
            pool = build_pool(collection, cutoff)
            EvidenceEffects.of(pool, layout_of(pool, np.ones(len(pool.pairs)), metadata=False))
