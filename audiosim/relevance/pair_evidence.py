"""Evidence used for a pair: output, genre, artist, sound, judgments, or the user's own."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from audiosim.arrays import Booleans, Integers
from audiosim.corpus.pool import UNKNOWN, Pool
from audiosim.features.feature import Feature
from audiosim.relevance.belief import Belief

METADATA_KINDS = ("genre", "artist", "judgments")  # kinds that an ordinal model may use besides output
ORDER = ("output", "genre", "artist", "sound", "judgments")
Kinds = tuple[str, ...]


def kinds_of(feature: Feature) -> tuple[str, ...]:
    """Kinds of evidence that a feature uses: sGEN uses genre, aGEN judgments and genre, qSIM sound."""
    judgments = () if feature.reads == "nothing" else ("judgments",)
    if feature.kind == "audio":
        return (*judgments, "sound")
    return judgments or ("output",) if feature.about == "retrieval" else (*judgments, feature.about)


def evidence_of(features: Iterable[Feature]) -> Kinds:
    """Kinds of evidence that several features use together."""
    kinds = {kind for feature in features for kind in kinds_of(feature)}
    return tuple(kind for kind in ORDER if kind in kinds)


def in_words(kinds: Kinds) -> str:
    """Kinds of evidence as text for people and programs, such as "output, genre"."""
    return ", ".join(kinds)


def of_words(text: str) -> Kinds:
    """Kinds of evidence parsed from another program's text."""
    return tuple(text.split(", ")) if text else ()


def evidence_counts(belief: Belief) -> dict[str, int]:
    """Number of pairs for which each piece of evidence was used; empty if the estimator does not report it."""
    if belief.spoke is None:
        return {}
    counts: dict[str, int] = {}
    for kinds, count in zip(belief.evidence, np.bincount(belief.spoke, minlength=len(belief.evidence)), strict=True):
        for name in kinds:
            counts[name] = counts.get(name, 0) + int(count)
    return {name: count for name, count in counts.items() if count}


def what_lacks(belief: Belief, pool: Pool) -> tuple[str, ...]:
    """Sentences on missing evidence of a joint model, and on evidence of the user's own that it has but cannot use."""
    if belief.spoke is None or not belief.prior.correlated:
        return ()
    counts = evidence_counts(belief)
    silent = (
        f"evidence {piece.name} is not informative: it is known for fewer than two of the pairs, or is the same for all"
        for piece in pool.evidence
        if piece.name not in counts
    )
    return (*_lacking(pool, counts.get("sound", 0)), *silent)


def _lacking(pool: Pool, sounds: int) -> Iterator[str]:
    """Sentences on what is unknown of the pairs; none if nothing is.

    sounds  number of pairs with known sound
    """
    count, genre, of_query = len(pool.pairs), pool.genre == UNKNOWN, pool.query_genre == UNKNOWN
    compared = of_query.all() and not genre.all()
    without = {
        "genre": int((genre if compared else genre | of_query).sum()),
        "artist": int((pool.artist == UNKNOWN).sum()),
        "sound": count - sounds,
    }
    if all(number == count for number in without.values()):
        lacking = f"no genre, artist or sound is known for these {count:,} pairs"
        yield f"{lacking}; predictions use the systems' results alone"
        return
    if compared:
        yield "the genre of every query is unknown: there is no recording to compare the documents' genres with"
    parts = [(kind, "all" if number == count else f"{number:,}") for kind, number in without.items() if number]
    if parts:
        (kind, number), *others = parts
        pairs = f"{number} {count:,} pairs" if number == "all" else f"{number} of the {count:,} pairs"
        yield ", ".join([f"{kind} is unknown for {pairs}", *(f"{kind} for {number}" for kind, number in others)])


def combinations(kinds: Sequence[str], spoke: Booleans) -> tuple[tuple[Kinds, ...], Integers]:
    """The distinct combinations of evidence, such as output and genre, and (n,) the index of each pair's.

    kinds  k names
    spoke  (n, k) True where a kind was used for a pair
    """
    number = (
        spoke @ (1 << np.arange(len(kinds), dtype=np.int64)) if len(kinds) else np.zeros(len(spoke), dtype=np.int64)
    )
    different, code = np.unique(number, return_inverse=True)
    found = tuple(tuple(kind for place, kind in enumerate(kinds) if one >> place & 1) for one in different.tolist())
    return found, code.reshape(-1)
