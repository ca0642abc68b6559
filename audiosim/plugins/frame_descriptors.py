"""Descriptors of sound from installed packages, and their contract."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from audiosim.errors import InputError
from audiosim.plugins.points import ExtensionPoint
from audiosim.sound.parameters import BANDS, CONTRAST, MFCC, PLAIN, STANDARD_FRAMES, Descriptor, Parameters
from audiosim.sound.store import HEAD, read_head
from audiosim.text import did_you_mean, one_line

OWN_FRAMES = {"standard": STANDARD_FRAMES, "mfcc": PLAIN}
OWN_NAMES = frozenset({*OWN_FRAMES, MFCC, CONTRAST, BANDS})
RATE_HZ, HOP = STANDARD_FRAMES.rate_hz, STANDARD_FRAMES.hop


def find_frames(text: str) -> Parameters:
    """The parameters of frames named by `--frames`: "standard", or names of descriptors joined by commas.

    audiosim's own are mfcc, contrast and bands. Others come from the entry-point group `audiosim.descriptors`, in which
    audiosim itself installs librosa's chroma, onset, rolloff and tonnetz.
    """
    if text in OWN_FRAMES:
        return OWN_FRAMES[text]
    own = (MFCC, CONTRAST, BANDS)
    names = [name.strip() for name in text.split(",")]
    known = [*own, *DESCRIPTOR_POINT.names()]
    for name in names:
        if name not in known:
            expected = f"{' or '.join(OWN_FRAMES)} alone, or some of {', '.join(known)}{did_you_mean(name, known)}"
            raise InputError(f"unknown descriptor {name!r}, expected {expected}")
    return Parameters(descriptors=tuple(name if name in own else DESCRIPTOR_POINT.find(name) for name in names))


def installed_frames(folder: Path) -> Parameters:
    """The parameters of the index in a folder, with the installed descriptors of the same names.

    STANDARD_FRAMES if there is no index.
    """
    if not (folder / HEAD).exists():
        return STANDARD_FRAMES
    parameters = read_head(folder)
    return replace(parameters, descriptors=find_frames(",".join(parameters.names)).descriptors)


def _accepted(loaded: object, name: str) -> Descriptor:
    if not callable(loaded):
        raise InputError("a function of y and sr")
    return Descriptor.of(loaded, name)


DESCRIPTOR_POINT: ExtensionPoint[Descriptor] = ExtensionPoint(
    "audiosim.descriptors", "descriptor", dict, _accepted, taken=OWN_NAMES
)


def check_descriptor(descriptor: Descriptor) -> None:
    """Check a descriptor of frames against its contract; an InputError names the violation.

    For any sound at 22,050 Hz, including silence, it returns (d, 1 + n // 512) finite numbers with a fixed d, the same
    each time, and does not modify the samples.
    """
    rng = np.random.default_rng(0)
    for name, n in (("noise", 30_000), ("noise", 22_050), ("silence", 30_000)):
        samples = (rng.standard_normal(n) if name == "noise" else np.zeros(n)).astype(np.float32)
        _check_once(descriptor, name, samples)


def _check_once(descriptor: Descriptor, name: str, samples: np.ndarray) -> None:
    expected, before = (descriptor.size, 1 + len(samples) // HOP), samples.copy()
    where = f"descriptor {descriptor.name} of {len(samples)} samples of {name}"
    if descriptor.function is None:
        raise InputError(f"descriptor {descriptor.name} has no function")
    try:
        first, second = (
            np.atleast_2d(np.asarray(descriptor.function(y=samples, sr=RATE_HZ), dtype=float)) for _ in range(2)
        )
    except Exception as error:  # foreign code may raise anything
        raise InputError(f"{where} fails: {one_line(error)}") from error
    if first.shape != expected:
        raise InputError(f"{where} gives {first.shape}, expected {expected}")
    if not np.isfinite(first).all():
        raise InputError(f"{where} gives numbers that are not finite")
    if not np.array_equal(first, second):
        raise InputError(f"{where} gives different numbers the second time")
    if not np.array_equal(samples, before):
        raise InputError(f"{where} changes the samples")
