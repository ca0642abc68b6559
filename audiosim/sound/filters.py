"""The arrays that turn spectra into bands and coefficients: librosa's and scipy's, made once and kept.

Importing librosa takes two seconds of processor time in every worker process. Therefore the arrays are kept in the
user's cache folder, one file per set of parameters and version of librosa; librosa is imported only if that file is
missing.
"""

import hashlib
import os
import warnings
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from platformdirs import user_cache_path

from audiosim.errors import InputError
from audiosim.sound.channel import Samples
from audiosim.sound.parameters import Parameters
from audiosim.stats.arrays import Array
from audiosim.tables.arrays import npz_bytes
from audiosim.tables.text import write_texts

CACHE = "AUDIOSIM_CACHE"  # environment variable that names another folder for the arrays


@dataclass(frozen=True, eq=False)
class FilterBanks:
    """Arrays of one set of parameters: frequencies in double precision, the arrays applied to frames in single.

    window      (frame,) periodic Hann window; librosa.filters.get_window
    mel         (bands, frame / 2 + 1) triangles of area 1, evenly spaced in mel; librosa.filters.mel
    cosines     (bands, coefficients) orthonormal DCT-II of the coefficients that are kept; scipy.fft.dct
    bins_hz     (frame / 2 + 1,) frequency of each bin; librosa.fft_frequencies
    centres_hz  (bands,) frequency at which each triangle is highest; librosa.mel_frequencies

    McFee et al. (2015), doi:10.25080/Majora-7b98e3ed-003; Slaney (1998), Auditory Toolbox.
    """

    window: Samples
    mel: Samples
    cosines: Samples
    bins_hz: Array
    centres_hz: Array


@lru_cache
def filter_banks(parameters: Parameters) -> FilterBanks:
    """The arrays for these parameters, from the cache folder if it has them, else from librosa."""
    path = _cache_folder() / f"{_key(parameters)}.npz"
    return _read(path) or _keep(path, _made(parameters))


def _cache_folder() -> Path:
    given = os.environ.get(CACHE)
    return Path(given) if given else user_cache_path("audiosim")


def _key(parameters: Parameters) -> str:
    one = parameters
    numbers = (one.rate_hz, one.frame, one.bands, one.coefficients, int(one.first))
    return hashlib.sha256(repr(("filter banks 1", numbers, version("librosa"))).encode()).hexdigest()[:16]


def _made(parameters: Parameters) -> FilterBanks:
    from librosa import fft_frequencies, mel_frequencies
    from librosa.filters import get_window, mel
    from scipy.fft import dct

    rate, frame, bands = parameters.rate_hz, parameters.frame, parameters.bands
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # warns of bands narrower than a bin, which stay empty
        filters = mel(sr=rate, n_fft=frame, n_mels=bands)
    start = 0 if parameters.first else 1
    kept = slice(start, start + parameters.coefficients)
    cosines = _single(dct(np.eye(bands), norm="ortho")[:, kept])
    centres = mel_frequencies(bands + 2, fmax=rate / 2)[1:-1]
    window = _single(get_window("hann", frame))
    return FilterBanks(window, _single(filters), cosines, fft_frequencies(sr=rate, n_fft=frame), centres)


def _single(array: Any) -> Samples:
    return np.ascontiguousarray(array, np.float32)


def _read(path: Path) -> FilterBanks | None:
    # A file that was cut short or cannot be read counts as none.
    # numpy does not close a file of its own that is broken.
    with suppress(OSError, ValueError, KeyError, EOFError, BadZipFile), path.open("rb") as file, np.load(file) as kept:
        return FilterBanks(**{field.name: kept[field.name] for field in fields(FilterBanks)})
    return None


def _keep(path: Path, made: FilterBanks) -> FilterBanks:
    """Write the arrays to the cache and return them; without permission to write, they are computed again next time."""
    with suppress(OSError, InputError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_texts({path: npz_bytes(vars(made))})
    return made
