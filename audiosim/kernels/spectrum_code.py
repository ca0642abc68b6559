"""Spectra of recordings by machine code, sixteen frames side by side: transforms, mel bands, extremes of octaves.

The transform of a frame of 2 m numbers is computed from that of m complex numbers, with the even numbers as real and
the odd ones as imaginary parts, by decimation in frequency with radix 4 (Cooley & Tukey 1965,
doi:10.1090/S0025-5718-1965-0178586-1; Sorensen et al. 1987, doi:10.1109/TASSP.1987.1165220). Every number stands for
sixteen, one per frame, so each step is written for a single frame. This is eight times as fast as arrays, and even
faster for contrast.
"""

from functools import lru_cache, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from audiosim.kernels.framing import OVERLAP, Floats, FrameTransform, Octaves, cut
from audiosim.kernels.vector_code import SIDE_BY_SIDE, Code, Lanes, NumbersInMemory, Place, Translated
from audiosim.stats.arrays import Integers

LANES = SIDE_BY_SIDE["single"]
RADIX = 4
WIDTH = LANES + OVERLAP  # length of a row of samples: those of sixteen frames, and of the frames that overlap the last
HUGE = 3e38

ComplexLanes = tuple[Lanes, Lanes]  # one complex number per frame


def spectrum_by_code(
    samples: Floats, transform: FrameTransform, source: Integers | None = None
) -> tuple[Floats, Floats]:
    """Spectrum of frames with machine code (see `has_code`), in the form of `spectrum_by_arrays`."""
    hop, n, samples = transform.hop, 1 + len(samples) // transform.hop, np.ascontiguousarray(samples, np.float32)
    bands, frame, octaves = len(transform.filters), len(transform.taper), transform.octaves
    code, tables = _code(transform), _tables(transform)
    groups, span, before = -(-n // LANES), (LANES + OVERLAP - 1) * hop, frame // 2
    mel, extremes = (
        np.empty((groups, bands, LANES), np.float32),
        np.empty((groups, 2 * len(octaves), LANES), np.float32),
    )
    own = dict(tables.named, source=tables.places_of(source), memory=np.empty(tables.memory, np.float32))
    inside = max(1, 1 + (len(samples) + before - span) // (LANES * hop))  # later groups end beyond the samples
    stretch = np.empty(span, np.float32)
    for first, last in [(0, 1), (1, inside), *((one, one + 1) for one in range(inside, groups))]:
        start = first * LANES * hop - before
        whole = start >= 0 and start + (last - first - 1) * LANES * hop + span <= len(samples)
        if first < last:
            part = samples[start:] if whole else cut(samples, start, stretch)
            code(last - first, samples=part, mel=mel[first:last], extremes=extremes[first:last], **own)
    return _by_frame(mel, n), _by_frame(extremes, n)


def _by_frame(found: Floats, n: int) -> Floats:
    return found.transpose(0, 2, 1).reshape(len(found) * LANES, found.shape[1])[:n]


def _strides(points: int) -> list[int]:
    """Distances between the points that each stage combines."""
    return [] if points < RADIX else [points // RADIX, *_strides(points // RADIX)]


class _Tables(NamedTuple):
    """Constants that the code reads, by the names of its memories, and the size of its working memory."""

    named: dict[str, NDArray[np.float32] | NDArray[np.int64]]
    bins: int
    memory: int

    def places_of(self, source: Integers | None) -> NDArray[np.int64]:
        """Places of the powers of bins."""
        return LANES * (np.arange(self.bins) if source is None else source).astype(np.int64)


@lru_cache
def _tables(transform: FrameTransform) -> _Tables:
    frame, filters = len(transform.taper), transform.filters
    points = frame // 2
    used = [np.flatnonzero(one) for one in filters]
    starts = [int(one[0]) if len(one) else 0 for one in used]
    stops = [int(one[-1]) + 1 if len(one) else 1 for one in used]
    widths = np.subtract(stops, starts)
    bands = np.stack([starts, stops, np.cumsum(widths) - widths], axis=1)
    order, place = np.arange(points), np.zeros(points, np.int64)
    for stride in _strides(points):
        place, order = place + order % RADIX * stride, order // RADIX
    turns = [_turns(np.arange(stride)[:, None] * np.arange(1, RADIX) / (RADIX * stride)) for stride in _strides(points)]
    named: dict[str, NDArray[np.float32] | NDArray[np.int64]] = {
        "taper": transform.taper,
        "turns": np.concatenate(turns),
        "halves": _turns(np.arange(points // 2 + 1) / frame),
        "places": LANES * place,
        "bands": bands.astype(np.int64),
        "weights": np.concatenate([one[start:stop] for one, start, stop in zip(filters, starts, stops, strict=True)]),
    }
    return _Tables(named, points + 1, transform.hop * WIDTH + (2 * points + points + 1) * LANES)


def _turns(shares: NDArray[np.float64]) -> Floats:
    """Alternating cosines and sines of fractions of a full circle, clockwise."""
    return np.stack([np.cos(2 * np.pi * shares), -np.sin(2 * np.pi * shares)], axis=-1).astype(np.float32).ravel()


@lru_cache
def _code(transform: FrameTransform) -> Translated:
    """Machine code for groups of sixteen frames; a group's samples follow those of the one before."""
    code = Code(
        ["samples", "taper", "turns", "halves", "places", "bands", "weights", "source", "memory", "mel", "extremes"]
    )
    points, hop, octaves = len(transform.taper) // 2, transform.hop, transform.octaves
    work = code["memory"].after(hop * WIDTH)
    powers = work.after(2 * points * LANES)
    with code.loop(0, code.count) as group:
        _write_rows(code, group, hop)
        _write_first_stage(code, work, points, hop)
        with code.loop(0, points, points // RADIX) as start:  # a quarter stays in cache through all further stages
            for number in range(1, len(_strides(points))):
                _write_stage(code, work, points, number, start)
        _write_powers(code, work, powers, points)
        _write_bands(code, powers, group, len(transform.filters))
        for octave in range(len(octaves)):
            _write_octave(code, powers, octaves, octave, group)
    return code.translated()


def _write_rows(code: Code, group: Place, hop: int) -> None:
    """Lay out floats so that the same sample of sixteen frames lies side by side.

    Frames are a hop apart: row r holds the samples r, r + hop, r + 2 hop and so on.
    """
    with code.loop(0, LANES + OVERLAP - 1) as column:
        samples, rows = code["samples"].after((group * LANES + column) * hop), code["memory"].after(column)
        with code.loop(0, hop) as row:
            rows.copy(row * WIDTH, samples, row)


def _write_first_stage(code: Code, work: NumbersInMemory, points: int, hop: int) -> None:
    """First stage, from samples and their taper; points a quarter of the transform apart are a hop apart in samples."""
    rows, taper, stride = code["memory"], code["taper"], points // RADIX
    with code.loop(0, stride) as place:
        four = []
        for quarter in range(RADIX):
            even, odd = place * 2 + quarter * hop, place * 2 + (quarter * hop + 1)
            real, imaginary = place * (2 * WIDTH) + quarter, place * (2 * WIDTH) + (WIDTH + quarter)
            four.append((rows.take(real) * taper.spread(even), rows.take(imaginary) * taper.spread(odd)))
        _put(work, points, place * LANES, stride, _turned(code["turns"], place, _butterfly(four)))


def _write_stage(code: Code, work: NumbersInMemory, points: int, number: int, start: Place) -> None:
    """One of the further stages, on the quarter of the points from `start` on, in place."""
    strides = _strides(points)
    stride, turns = strides[number], code["turns"].after(2 * (RADIX - 1) * sum(strides[:number]))
    with code.loop(0, points // RADIX, RADIX * stride) as block, code.loop(0, stride) as place:
        at = (start + block + place) * LANES
        four = [_point(work, points, at + quarter * stride * LANES) for quarter in range(RADIX)]
        found = _butterfly(four)
        _put(work, points, at, stride, _turned(turns, place, found) if stride > 1 else found)


def _point(work: NumbersInMemory, points: int, at: Place) -> ComplexLanes:
    """Place of a point; the real parts of all points come first."""
    return work.take(at), work.take(at + points * LANES)


def _put(work: NumbersInMemory, points: int, at: Place, stride: int, four: list[ComplexLanes]) -> None:
    for quarter, (real, imaginary) in enumerate(four):
        work.put(at + quarter * stride * LANES, real)
        work.put(at + (points + quarter * stride) * LANES, imaginary)


def _butterfly(four: list[ComplexLanes]) -> list[ComplexLanes]:
    """The transform of four points."""
    (a, ai), (b, bi), (c, ci), (d, di) = four
    even, eveni, odd, oddi = a + c, ai + ci, a - c, ai - ci
    sides, sidesi, across, acrossi = b + d, bi + di, bi - di, d - b
    return [
        (even + sides, eveni + sidesi),
        (odd + across, oddi + acrossi),
        (even - sides, eveni - sidesi),
        (odd - across, oddi - acrossi),
    ]


def _turned(turns: NumbersInMemory, place: Place, four: list[ComplexLanes]) -> list[ComplexLanes]:
    """All but the first of four points, each multiplied by the root of unity for its place."""
    roots = [turns.spread(place * (2 * (RADIX - 1)) + number) for number in range(2 * (RADIX - 1))]
    result = four[:1]
    for (real, imaginary), c, s in zip(four[1:], roots[::2], roots[1::2], strict=True):
        result.append((c * real - s * imaginary, c * imaginary + s * real))
    return result


def _write_powers(code: Code, work: NumbersInMemory, powers: NumbersInMemory, points: int) -> None:
    """|X|^2 of bins k and m - k at once, from the complex transform, whose bins are in digit-reversed order.

    X_k = E + w O,  X_(m-k) = conj(E - w O),  w = e^(-2 pi i k / 2 m): E, O the transforms of even and odd numbers
    """
    real, imaginary = _point(work, points, code.whole(0))
    total, difference = real + imaginary, real - imaginary
    powers.put(0, total * total)
    powers.put(points * LANES, difference * difference)
    quarter = code.constant(0.25)
    with code.loop(1, points // 2 + 1) as k:
        a, ai = _point(work, points, code["places"].place(k))
        b, bi = _point(work, points, code["places"].place(code.whole(points) - k))
        even, eveni, odd, oddi = a + b, ai - bi, ai + bi, b - a  # E and O, both doubled
        c, s = code["halves"].spread(k * 2), code["halves"].spread(k * 2 + 1)
        turned, turnedi = c * odd - s * oddi, c * oddi + s * odd
        x, xi, y, yi = even + turned, eveni + turnedi, even - turned, eveni - turnedi
        powers.put(k * LANES, quarter * (x * x + xi * xi))
        powers.put((code.whole(points) - k) * LANES, quarter * (y * y + yi * yi))


def _write_bands(code: Code, powers: NumbersInMemory, group: Place, bands: int) -> None:
    """The powers of mel bands: for each, the sum of weight times power over its bins."""
    with code.loop(0, bands) as band:
        start, stop, at = (code["bands"].place(band * 3 + number) for number in range(3))
        weights = code["weights"].after(at - start)

        def add(k: Place, total: list[Lanes], weights: NumbersInMemory = weights) -> list[Lanes]:
            return [total[0] + weights.spread(k) * powers.take(code["source"].place(k))]

        (power,) = code.fold(start, stop, [code.constant(0.0)], add)
        code["mel"].put((group * bands + band) * LANES, power)


def _write_octave(code: Code, powers: NumbersInMemory, octaves: Octaves, number: int, group: Place) -> None:
    """Mean magnitude of the loudest bins of an octave, and of the softest; each bin is inserted into a sorted list."""
    bins, kept = octaves[number]
    start, share = code.whole(bins.start), code.constant(1 / kept)
    for loudest in (True, False):

        def insert(k: Place, found: list[Lanes], loudest: bool = loudest) -> list[Lanes]:
            power, result = powers.take(code["source"].place(k)), []
            for other in found:
                smaller, larger = power.sorted_with(other)
                keep, power = (larger, smaller) if loudest else (smaller, larger)
                result.append(keep)
            return result

        extremes = code.fold(
            start, start + (bins.stop - bins.start), [code.constant(-1.0 if loudest else HUGE)] * kept, insert
        )
        total = reduce(Lanes.__add__, map(code.root, extremes))
        code["extremes"].put(
            (group * (2 * len(octaves)) + (number + (0 if loudest else len(octaves)))) * LANES, share * total
        )
