"""Embeddings of sound from installed packages, and their contract."""

import numpy as np

from audiosim.collection.evidence import RESERVED
from audiosim.errors import InputError
from audiosim.plugins.points import ExtensionPoint
from audiosim.sound.channel import Samples
from audiosim.sound.embedding import GAUSSIANS, LEVELLED, Embedding
from audiosim.sound.embeddings import EMBEDDINGS
from audiosim.text import one_line

SECONDS = (3, 30)  # lengths of the test sounds
SAME = 1e-5  # largest angle, as 1 - cosine, between two vectors of the same sound


def _accepted(loaded: object, name: str) -> Embedding:
    if isinstance(loaded, Embedding):
        return loaded
    if not callable(loaded):
        raise InputError("a function of y and sr, or an Embedding")
    return Embedding.of(loaded, name)


EMBEDDING_POINT: ExtensionPoint[Embedding] = ExtensionPoint(
    "audiosim.embeddings", "embedding", lambda: EMBEDDINGS, _accepted, taken=frozenset((*RESERVED, GAUSSIANS, LEVELLED))
)


def find_embedding(name: str) -> Embedding:
    """The embedding named by `--with`, ready for use: one of audiosim's, or an installed one."""
    embedding = EMBEDDING_POINT.find(name)
    embedding.prepare()
    return embedding


def known_embeddings() -> list[str]:
    """Names of all installed embeddings, audiosim's first."""
    return EMBEDDING_POINT.names()


def check_embedding(embedding: Embedding, rng: np.random.Generator) -> None:
    """Check an embedding against its contract; an InputError names the violation.

    For any sound at its rate, short or long, it returns the same number of finite values, with the same angle each time
    and a different angle for a different sound; it does not modify the samples.
    """
    sizes, angles = [], []
    for seconds in SECONDS:
        samples = _sweep(seconds, embedding.rate_hz, rng)
        first, second = (_vector(embedding, samples, f"{seconds} s of sound") for _ in range(2))
        sizes.append(len(first))
        angles.append(first)
        if len(second) != len(first) or _angle_between(first, second) > SAME:
            raise InputError(f"embedding {embedding.name} gives a different vector the second time")
    if len(set(sizes)) > 1:
        raise InputError(
            f"embedding {embedding.name} gives {sizes[0]} numbers for {SECONDS[0]} s but {sizes[1]} for "
            f"{SECONDS[1]} s, expected as many for any sound"
        )
    if _angle_between(*angles) < np.finfo(float).eps:
        raise InputError(f"embedding {embedding.name} gives the same vector for two different sounds")


def _sweep(seconds: int, rate_hz: int, rng: np.random.Generator) -> Samples:
    """A rising tone over noise, different each time."""
    time = np.arange(seconds * rate_hz) / rate_hz
    pitch = rng.uniform(100, 400)
    tone = np.sin(2 * np.pi * pitch * time * (1 + time / seconds))
    return (0.3 * tone + 0.05 * rng.standard_normal(len(time))).astype(np.float32)


def _vector(embedding: Embedding, samples: Samples, what: str) -> np.ndarray:
    before = samples.copy()
    try:
        found = embedding.vector(samples)
    except InputError:
        raise
    except Exception as error:  # foreign code may raise anything
        raise InputError(f"embedding {embedding.name} fails on {what}: {one_line(error)}") from error
    if not found.any():
        raise InputError(f"embedding {embedding.name} gives a vector of length 0 for {what}")
    if not np.array_equal(samples, before):
        raise InputError(f"embedding {embedding.name} changes the samples")
    return found


def _angle_between(one: np.ndarray, other: np.ndarray) -> float:
    if len(one) != len(other):
        return 1.0
    return float(1 - one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))
