"""Embeddings by name, their contract, and one by librosa: harmony and prominence of the spectrum's peaks."""

import numpy as np
from numpy.typing import NDArray

from audiosim.errors import InputError, of_argument
from audiosim.plugins import ExtensionPoint
from audiosim.sound.channel import Samples
from audiosim.sound.embedding import Embedding
from audiosim.sound.musicnn import MUSICNN
from audiosim.stats.arrays import Array
from audiosim.text import one_line

SECONDS = (3, 30)  # lengths of the test sounds
SAME = 1e-5  # largest angle, as 1 - cosine, between two vectors of the same sound

# Means over 96 clips of the music of eight games, and standard deviations between clips, in the mean over dimensions.
CHROMA, CHROMA_SPREAD = 0.36, 0.16
TONNETZ_SPREAD = 0.07  # with a usual mean of 0
CONTRAST_DB, CONTRAST_SPREAD_DB = np.array([19.5, 16.0, 19.7, 21.4, 24.0, 26.0, 31.5]), 4.8


def tonal_vector(y: NDArray[np.float32], sr: int) -> Array:
    """(25,) means over time of 12 pitch classes, 6 dimensions of the tonal centroid, and contrast in 7 octaves.

    Each of the three is centred on its usual value and divided by its usual spread and by the root of its length, so
    that none dominates the angle between two recordings because of its unit. From librosa.feature: chroma_stft, its
    tonnetz, and spectral_contrast.
    """
    from librosa.feature import chroma_stft, spectral_contrast, tonnetz

    chroma = chroma_stft(y=y, sr=sr, tuning=0.0)
    parts = chroma, tonnetz(chroma=chroma, sr=sr), spectral_contrast(y=y, sr=sr)
    classes, centroid, contrast = (part.mean(axis=1, dtype=np.float64) for part in parts)
    scaled = (
        (classes - CHROMA) / CHROMA_SPREAD,
        centroid / TONNETZ_SPREAD,
        (contrast - CONTRAST_DB) / CONTRAST_SPREAD_DB,
    )
    return np.concatenate([part / np.sqrt(len(part)) for part in scaled])


TONAL = Embedding("tonal", tonal_vector)
EMBEDDINGS = {TONAL.name: TONAL, MUSICNN.name: MUSICNN}


def _accepted(loaded: object, name: str) -> Embedding:
    if isinstance(loaded, Embedding):
        return loaded
    if not callable(loaded):
        raise InputError("a function of y and sr, or an Embedding")
    return Embedding.of(loaded, name)


EMBEDDING_POINT: ExtensionPoint[Embedding] = ExtensionPoint(
    "audiosim.embeddings", "embedding", lambda: EMBEDDINGS, _accepted
)


@of_argument("embeddings")
def find_embedding(name: str) -> Embedding:
    """The embedding named by `--with`, ready for use: one of audiosim's, or an installed one."""
    embedding = EMBEDDING_POINT.find(name)
    embedding.prepare()
    return embedding


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


def _vector(embedding: Embedding, samples: Samples, what: str) -> Array:
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


def _angle_between(one: Array, other: Array) -> float:
    if len(one) != len(other):
        return 1.0
    return float(1 - one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))
