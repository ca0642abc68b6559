"""Gathering of what decoders give: block by block -> all of a recording, mixed down."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audiosim.audio.completeness import Completeness

Samples = NDArray[np.float32]
Block = NDArray[np.float32] | NDArray[np.int16]

FULL_SCALE = 1 - 2.0**-15  # the highest sample of 16 bits; lower depths reach it on the negative side
ROOM = 2**22  # frames that there is room for at first; doubled when it is full, since a header may lie


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """All that could be decoded of a file.

    samples       (n,) mean of the channels
    peak          largest absolute value over all channels, NaN if one is
    at_full_scale share of samples at full scale, over all channels
    gave_up       whether the decoder did, before the end
    known         how much of the promised sound this is, once the container has been asked
    """

    samples: Samples
    rate_hz: int
    peak: float
    at_full_scale: float
    gave_up: bool
    known: Completeness


class Gathering:
    """Blocks of samples, mixed down as they arrive.

    expected  frames that the header promises
    check     called with the number of frames before they are kept; it may raise an error
    unit      of the numbers in the blocks, in full scales
    """

    def __init__(self, expected: int, check: Callable[[int], None], unit: float = 1.0) -> None:
        self._samples, self._check, self._unit = np.empty(min(ROOM, expected), np.float32), check, unit
        self.frames = self._full = self._numbers = 0
        self._peaks = [0.0]

    def add(self, block: Block) -> None:
        """Keep the next frames, (n, channels)."""
        if not len(block):
            return
        n, unit = self.frames, self._unit
        self._check(n + len(block))
        if n + len(block) > len(self._samples):
            more = np.empty(max(n, len(block)), np.float32)
            self._samples = np.concatenate([self._samples[:n], more])
        _mix(block, unit, self._samples[n : n + len(block)])
        self.frames, self._numbers = n + len(block), self._numbers + block.size
        self._peaks.append(unit * max(float(block.max()), -float(block.min())))
        if self._peaks[-1] >= FULL_SCALE:
            self._full += int(np.count_nonzero((block >= FULL_SCALE / unit) | (block <= -FULL_SCALE / unit)))

    def result(self, rate_hz: int, gave_up: bool) -> Decoded:
        """All there was."""
        share = self._full / max(1, self._numbers)
        return Decoded(
            self._samples[: self.frames], rate_hz, float(np.max(self._peaks)), share, gave_up, Completeness()
        )


def _mix(block: Block, unit: float, mean: Samples) -> None:
    """The mean of the channels; summed one by one, since numpy takes 30 times as long for a mean over a short axis."""
    scale = np.float32(unit / block.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):  # infinities are refused later
        if block.shape[1] == 1:
            np.multiply(block[:, 0], scale, out=mean)
            return
        np.add(block[:, 0], block[:, 1], out=mean, dtype=np.float32)
        for channel in block.T[2:]:
            np.add(mean, channel, out=mean)
        np.multiply(mean, scale, out=mean)
