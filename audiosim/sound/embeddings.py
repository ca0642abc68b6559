"""An embedding by librosa: the harmony of a recording, and the prominence of the peaks of its spectrum."""

import numpy as np
from numpy.typing import NDArray

from audiosim.sound.embedding import Embedding
from audiosim.sound.musicnn import MUSICNN
from audiosim.stats.arrays import Array

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
