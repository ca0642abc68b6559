"""The columns of large TREC files, as arrays; files that are not plain are left to the line-by-line readers.

Plain means ASCII, a fixed number of columns with one space or tab between, and every line ended by LF. The slow readers
give the same result for plain files, and report all errors.
"""

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from audiosim.stats.arrays import Array, Booleans, Integers
from audiosim.tables.text import most_unpacked, open_bytes

WORD = 8
WIDEST = 8 * WORD
PLAIN_DIGITS = 16
TENS = 10.0 ** np.arange(PLAIN_DIGITS + 1)
WHOLE_TENS = 10 ** np.arange(PLAIN_DIGITS + 1)
ZEROS, POINTS = np.uint64(int.from_bytes(b"0" * WORD)), np.uint64(int.from_bytes(b"." * WORD))
Words = np.ndarray[tuple[int, ...], np.dtype[np.uint64]]
Bytes = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
KEPT = np.array([(1 << 8 * n) - 1 for n in range(WORD)] + [2**64 - 1], dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class Columns:
    """The fields of a file, by column and line.

    text    the bytes of the file, padded with zeros
    starts  (columns, lines) where each field starts
    ends    (columns, lines) where it ends
    """

    text: Bytes
    starts: Integers
    ends: Integers

    @classmethod
    def read(cls, path: Path, columns: int) -> "Columns | None":
        """The fields of a file, None if it is not plain or not readable."""
        try:
            with open_bytes(path) as file:
                most = most_unpacked(path)
                data = file.read() if most == math.inf else file.read(int(most) + 1)
        except (OSError, EOFError, zlib.error):
            return None
        if len(data) > most:
            return None
        return cls.split(data, columns) if data.isascii() else None

    @classmethod
    def split(cls, data: bytes, columns: int) -> "Columns | None":
        """The fields of ASCII text; None if it is not plain."""
        text = np.frombuffer(data + b"\n" * (not data.endswith(b"\n")) + bytes(WIDEST), dtype=np.uint8)
        written = text[:-WIDEST]
        blank = written <= ord(" ")
        ends = np.flatnonzero(blank)
        # Passes over all bytes are cheaper here than one over the blanks, which would need gathering.
        lines = np.count_nonzero(written == ord("\n"))
        between = np.count_nonzero((written == ord(" ")) | (written == ord("\t")))
        if not lines or lines * columns != len(ends) or lines + between != len(ends):
            return None
        if blank[0] or (blank[1:] & blank[:-1]).any() or (text[ends[columns - 1 :: columns]] != ord("\n")).any():
            return None
        starts = np.empty_like(ends)
        starts[0], starts[1:] = 0, ends[:-1] + 1
        # Each column is contiguous, because all later steps work by column.
        return cls(text, starts.reshape(-1, columns).T.copy(), ends.reshape(-1, columns).T.copy())

    def lengths(self, column: int) -> Integers:
        """(lines,) the length of each field of a column."""
        return np.asarray(self.ends[column] - self.starts[column])

    def width(self, column: int) -> int:
        """The length of the longest field of a column."""
        return int(self.lengths(column).max())

    def narrow(self, *columns: int) -> bool:
        """True if every field of some columns is narrow enough for `words`."""
        return all(self.width(column) <= WIDEST for column in columns)

    def words(self, column: int) -> Words:
        """(lines, w) the bytes of each field, eight per word, padded with zeros; for narrow columns."""
        lengths = self.lengths(column)
        words = np.empty((len(lengths), -(-int(lengths.max()) // WORD)), dtype=np.uint64)
        for i in range(words.shape[1]):
            words[:, i] = self._word(self.starts[column] + i * WORD, lengths - i * WORD)
        return words

    def _word(self, starts: Integers, lengths: Integers) -> Words:
        """(lines,) up to eight bytes from each of some places; no bytes if a length is not above 0."""
        # A word starts at every byte of the text: they overlap.
        everywhere = np.ndarray((len(self.text) - WORD + 1,), np.dtype("<u8"), self.text, strides=(1,))
        # A length outside the table takes its nearest end: the mask of no byte, or of all eight.
        return everywhere[starts] & KEPT.take(lengths, mode="clip")

    def numbers(self, column: int) -> Array | None:
        """(lines,) numbers of a column; None if one is not a finite number."""
        if not self.narrow(column):
            return None
        plain = self._decimals(column) if self.width(column) <= PLAIN_DIGITS else None
        return _floats(self._letters(column)) if plain is None else plain

    def whole_numbers(self, column: int) -> Integers | None:
        """(lines,) whole numbers of a column; None if one does not have one to eight digits."""
        if self.width(column) > WORD:
            return None
        return self._digits(self.starts[column], self.lengths(column))

    def _decimals(self, column: int) -> Array | None:
        """Numbers without exponents, with so few digits that the division rounds only once; None if others occur."""
        starts, lengths = self.starts[column], self.lengths(column)
        minus = self.text[starts] == ord("-")
        starts, lengths = starts + minus, lengths - minus
        before = _places_of_point(self._word(starts, lengths))
        if lengths.max(initial=0) > WORD:
            further = _places_of_point(self._word(starts + WORD, lengths - WORD))
            before = np.where(before < WORD, before, WORD + further)
        before = np.minimum(before, lengths)
        after = np.maximum(lengths - before - 1, 0)
        if not (before + after).all():
            return None
        whole, rest = self._digits(starts, before), self._digits(starts + before + 1, after)
        if whole is None or rest is None:
            return None
        value = (whole * WHOLE_TENS[after] + rest) / TENS[after]
        return np.asarray(np.where(minus & (value != 0), -value, value))

    def _digits(self, starts: Integers, lengths: Integers) -> Integers | None:
        """(lines,) the numbers spelled by up to sixteen digits from each of some places; None for other characters."""
        first = _eight_digits(self._word(starts, lengths), np.minimum(lengths, WORD))
        if first is None or lengths.max(initial=0) <= WORD:
            return None if first is None else first.astype(np.int64)
        left = np.maximum(lengths - WORD, 0)
        second = _eight_digits(self._word(starts + WORD, left), left)
        return None if second is None else first.astype(np.int64) * WHOLE_TENS[left] + second.astype(np.int64)

    def _letters(self, column: int) -> Bytes:
        return self.words(column).astype("<u8").view(np.uint8)[:, : self.width(column)]


def _places_of_point(words: Words) -> Integers:
    """(lines,) the place of the first point among the bytes of each word, 8 where there is none.

    A byte is zero if its highest bit is set in (x - 0x01..) & ~x & 0x80..; if several are, only the lowest is certain.
    """
    off = words ^ POINTS
    found = (off - np.uint64(0x0101010101010101)) & ~off & np.uint64(0x8080808080808080)
    lowest = found & (~found + np.uint64(1))
    # The exponent of a power of two gives the place of its bit.
    exponent = (lowest.astype(np.float64).view(np.int64) >> 52) - 1023
    return np.where(lowest == 0, WORD, exponent >> 3)


def _floats(letters: Bytes) -> Array | None:
    """Numbers as Python reads them, except underscores; None if one is not a finite number."""
    if (letters == ord("_")).any():
        return None
    try:
        values = np.ascontiguousarray(letters).view(f"S{letters.shape[1]}")[:, 0].astype(np.float64)
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


def changes(words: Words) -> Booleans:
    """(lines,) True where a field differs from the line above, and for the first line."""
    return np.concatenate([[True], (words[1:] != words[:-1]).any(axis=1)])


def hashes(words: Words, codes: Integers, kinds: int) -> Words:
    """(lines,) hash of each field, prefixed by its code from 0 to kinds - 1 so that hashes sort by code."""
    bits = np.uint64(max(1, (kinds - 1).bit_length()))
    mixed = np.zeros(len(words), dtype=np.uint64)
    for i in range(words.shape[1]):
        mixed = (mixed ^ words[:, i]) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> bits) | (codes.astype(np.uint64) << (np.uint64(64) - bits))


def _eight_digits(words: Words, lengths: Integers) -> Words | None:
    """The numbers spelled by words of up to eight digits, None if there is another character.

    Converts all eight digits at once: neighbours combine to numbers of two digits, these to four, these to eight.
    """
    gap = (8 * (WORD - lengths)).astype(np.uint64)  # 64 without any digit: NumPy shifts everything out
    digits = (words - (ZEROS >> gap)) << gap
    if ((digits | (digits + np.uint64(0x0606060606060606))) & np.uint64(0xF0F0F0F0F0F0F0F0)).any():
        return None
    digits = (digits * np.uint64(10) + (digits >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    digits = (digits * np.uint64(100) + (digits >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    return (digits * np.uint64(10_000) + (digits >> np.uint64(32))) & np.uint64(0xFFFFFFFF)


def coded_words(words: Words) -> tuple[Words, NDArray[np.int32]]:
    """Distinct fields (d, w), and (lines,) the index of each line's field among them.

    Uses a hash table with as many places as lines. Each line writes its number at the place of its hash. A line is done
    if its field equals that of the line found there; the others try another hash. Several times as fast as sorting.
    """
    lines = len(words)
    bits = np.uint64(64 - max(4, (2 * lines - 1).bit_length()))
    owner, left = np.empty(lines, dtype=np.int32), np.arange(lines, dtype=np.int32)
    mixed = hashes(words, np.zeros(lines, dtype=np.int64), 1)
    table = np.zeros(2 ** (64 - int(bits)), dtype=np.int32)
    while len(left):
        place = mixed >> bits
        table[place] = left
        first = table[place]
        same = (words[first] == words[left]).all(axis=1)
        owner[left[same]] = first[same]
        left, mixed = left[~same], mixed[~same] * np.uint64(0x9E3779B97F4A7C15) + np.uint64(1)
    chosen = np.zeros(lines, dtype=np.bool_)
    chosen[owner] = True
    code = np.cumsum(chosen, dtype=np.int32) - np.int32(1)
    return words[chosen], code[owner]


def stacked(parts: Sequence[Words]) -> Words:
    """The fields of several parts, one part after the other."""
    found = np.zeros((sum(map(len, parts)), max(part.shape[1] for part in parts)), dtype=np.uint64)
    end = 0
    for part in parts:
        start, end = end, end + len(part)
        found[start:end, : part.shape[1]] = part
    return found


def names_of(words: Words) -> list[str]:
    """Fields as text."""
    letters = np.ascontiguousarray(words.astype("<u8")).view(f"S{WORD * words.shape[1]}")
    return letters[:, 0].astype(str).tolist() if len(words) else []


def words_by_appearance(words: Words) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Distinct fields in order of first appearance, and (lines,) the place of each line's field among them."""
    distinct, codes = coded_words(words)
    first = np.empty(len(distinct), dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # the first line writes last
    order: Integers = np.argsort(first)
    moved = np.empty(len(order), dtype=np.int32)
    moved[order] = np.arange(len(order), dtype=np.int32)
    return tuple(names_of(distinct[order])), moved[codes]
