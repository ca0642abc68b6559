"""Contents of a recording's frames, and their parameters; only frames with equal parameters can be compared."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np

from audiosim.errors import InputError
from audiosim.sound.decode import RATE_HZ
from audiosim.stats.arrays import Array
from audiosim.text import one_line

FrameFeature = Callable[..., Array]  # as librosa's: called with y=samples, sr=rate_hz, gives (d, frames) or (frames,)

MFCC, CONTRAST, BANDS = "mfcc", "contrast", "bands"
MOST = {"rate_hz": 1_000_000, "frame": 65_536, "bands": 1_024}  # they size filters, and come from files too
MOST_DIMENSIONS = 4_096
OCTAVES = 7  # number of octaves for spectral contrast
LOWEST_OCTAVE_HZ = 200.0
BAND_DESCRIPTORS = ("flatness", "onset flux", "centroid of power", "centroid of magnitude")


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A frame feature from outside audiosim.

    name      beginning of the names of its dimensions
    size      d, number of dimensions
    function  y=(n,) float32, sr=rate in Hz -> (d, frames), with as many frames as MFCC; None if only its results are
              known, as in an opened index. It is ignored in comparisons
    """

    name: str
    size: int
    function: FrameFeature | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.name or not self.name.isprintable() or self.name in (MFCC, CONTRAST, BANDS):
            raise InputError(f"a descriptor must have a unique, printable name, got {self.name!r}")
        if type(self.size) is not int or not 1 <= self.size <= MOST_DIMENSIONS:
            raise InputError(f"descriptor {self.name} must have 1 to {MOST_DIMENSIONS} dimensions, got {self.size!r}")

    @classmethod
    def of(cls, function: FrameFeature, name: str | None = None, rate_hz: int = RATE_HZ) -> Self:
        """A function as a descriptor; its number of dimensions is found by a trial on a second of noise.

        name  None: that of the function
        """
        called = name or str(getattr(function, "__name__", ""))
        noise = np.random.default_rng(0).standard_normal(rate_hz).astype(np.float32)
        try:
            found = np.atleast_2d(np.asarray(function(y=noise, sr=rate_hz), dtype=float))
        except Exception as error:  # foreign code may raise anything
            raise InputError(f"descriptor {called} fails on a second of noise ({one_line(error)})") from error
        if found.ndim != 2 or not np.isfinite(found).all():
            raise InputError(f"descriptor {called} must give finite numbers (d, frames), got {found.shape}")
        return cls(called, len(found), function)


Chosen = str | Descriptor


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters of frames.

    rate_hz       sampling rate of the signal
    frame         samples per frame, Hann window
    hop           samples between the starts of two frames
    bands         Slaney's mel bands from 0 Hz to half the rate
    coefficients  number of MFCC kept from the cosine transform
    first         True to keep the first coefficient, the level; otherwise the second is the first kept
    descriptors   contents of a frame, in this order: "mfcc"; "contrast", the spectral contrast of seven octaves;
                  "bands", four descriptors of the mel bands; and those of other packages

    Plain MFCC by default; `extract` makes STANDARD_FRAMES.
    """

    rate_hz: int = RATE_HZ
    frame: int = 2048
    hop: int = 512
    bands: int = 128
    coefficients: int = 20
    first: bool = True
    descriptors: tuple[Chosen, ...] = (MFCC,)

    def __post_init__(self) -> None:
        numbers = (self.rate_hz, self.frame, self.hop, self.bands, self.coefficients)
        if not all(type(value) is int and value >= 1 for value in numbers):
            raise InputError(f"the parameters of frames must be whole numbers from 1, got {self}")
        if over := next((name for name, most in MOST.items() if getattr(self, name) > most), None):
            raise InputError(f"{over} of frames must be at most {MOST[over]:,}, got {getattr(self, over)}")
        if not isinstance(self.first, bool):
            raise InputError(f"whether the first coefficient is kept must be true or false, got {self.first!r}")
        if self.coefficients > self.bands - (not self.first):
            most = f"{self.bands} bands" if self.first else f"{self.bands - 1} beyond the first of {self.bands} bands"
            raise InputError(f"coefficients must be at most the {most}, got {self.coefficients}")
        if self.frame % 2 or self.hop > self.frame:
            raise InputError(
                f"a frame must have an even number of samples, at least the hop of {self.hop}, got {self.frame}"
            )
        self._check_descriptors()

    def _check_descriptors(self) -> None:
        names = self.names
        if not names or len(set(names)) < len(names):
            raise InputError(f"descriptors must be one or more, each once, got {', '.join(names) or 'none'}")
        unknown = [one for one in self.descriptors if isinstance(one, str) and one not in (MFCC, CONTRAST, BANDS)]
        if unknown:
            raise InputError(f"unknown descriptor {unknown[0]!r}, expected {MFCC}, {CONTRAST}, {BANDS} or a Descriptor")
        highest, spacing = LOWEST_OCTAVE_HZ * 2 ** (OCTAVES - 2), self.rate_hz / self.frame
        if CONTRAST in names and (self.rate_hz <= 2 * highest or spacing > LOWEST_OCTAVE_HZ / 2):
            needed = f"a rate above {2 * highest:.0f} Hz and a frame of at least {2 / LOWEST_OCTAVE_HZ:.2f} s"
            raise InputError(f"spectral contrast needs {needed}, got {self.rate_hz} Hz and {self.frame} samples")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the descriptors."""
        return tuple(one if isinstance(one, str) else one.name for one in self.descriptors)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """(d) names of a frame's numbers."""
        return tuple(name for one in self.descriptors for name in self._dimensions_of(one))

    @property
    def dimension(self) -> int:
        """d, the number of values in a frame."""
        return len(self.dimensions)

    @property
    def plain(self) -> bool:
        """True if frames are MFCC and nothing else."""
        return self.descriptors == (MFCC,)

    def _dimensions_of(self, one: Chosen) -> Iterator[str]:
        if isinstance(one, Descriptor):
            yield from (f"{one.name} {number}" for number in range(one.size))
        elif one == MFCC:
            start = 0 if self.first else 1
            yield from (f"mfcc {number}" for number in range(start, start + self.coefficients))
        elif one == CONTRAST:
            yield from (f"contrast {number}" for number in range(OCTAVES))
        else:
            yield from BAND_DESCRIPTORS

    def check_comparable(self, other: Self) -> None:
        """Raise an error unless frames with other parameters can be compared with these."""
        if other != self:
            raise InputError(f"cannot compare frames of other parameters ({other}), expected {self}")

    def to_json(self) -> dict[str, Any]:
        """The parameters as plain values."""
        known = {name: value for name, value in asdict(self).items() if name != "descriptors"}
        listed = [one if isinstance(one, str) else {"name": one.name, "size": one.size} for one in self.descriptors]
        return known | {"descriptors": listed}

    def portable(self, wrap: Callable[[FrameFeature], FrameFeature]) -> Self:
        """The parameters with the functions of their descriptors wrapped, so that another process can receive them."""
        wrapped = (
            replace(one, function=wrap(one.function)) if isinstance(one, Descriptor) and one.function else one
            for one in self.descriptors
        )
        return replace(self, descriptors=tuple(wrapped))

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The parameters in plain values."""
        listed = values["descriptors"]
        chosen = tuple(one if isinstance(one, str) else Descriptor(one["name"], one["size"]) for one in listed)
        return cls(**{**values, "descriptors": chosen})

    def __str__(self) -> str:
        made = f"{self.rate_hz} Hz, frame {self.frame}, hop {self.hop}, {self.bands} bands"
        kept = "" if self.first else " without the first"
        words = {
            MFCC: f"{self.coefficients} coefficients{kept}",
            CONTRAST: "spectral contrast",
            BANDS: "band descriptors",
        }
        return ", ".join([made, *(words.get(name, name) for name in self.names)])


PLAIN = Parameters()
STANDARD_FRAMES = Parameters(descriptors=(MFCC, CONTRAST, BANDS))


def described_by(*chosen: str | Descriptor | FrameFeature) -> Parameters:
    """The parameters of frames that hold some descriptors: "mfcc", "contrast", "bands", or frame features.

        extract("music/", parameters=described_by("mfcc", librosa.feature.chroma_stft))

    A frame feature is a function of y=samples and sr=rate in Hz that returns (d, frames), like librosa's; with a hop of
    512 it has as many frames as MFCC.
    """
    return Parameters(descriptors=tuple(Descriptor.of(one) if callable(one) else one for one in chosen))
