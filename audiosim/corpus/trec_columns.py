"""The columns of large TREC files, as arrays; files that are not plain are left to the line-by-line readers.

Plain means ASCII, a fixed number of columns with one space or tab between, and every line ended by LF. The slow readers
give the same result for plain files, and report all errors.
"""

import math
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from audiosim.arrays import Array, Booleans, Integers
from audiosim.corpus.lines import most_unpacked, open_bytes

WORD = 8
WIDEST = 8 * WORD
PLAIN_DIGITS = 16
TENS = 10.0 ** np.arange(PLAIN_DIGITS)
ZEROS = np.uint64(int.from_bytes(b"0" * WORD))
Words = np.ndarray[tuple[int, ...], np.dtype[np.uint64]]
Bytes = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
KEPT = np.array([(1 << 8 * n) - 1 for n in range(WORD)] + [2**64 - 1], dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class Columns:
    """The fields of a file, by line and column.

    text    the bytes of the file, padded with zeros
    starts  (lines, columns) where each field starts
    ends    (lines, columns) where it ends
    """

    text: Bytes
    starts: Integers
    ends: Integers

    @classmethod
    def read(cls, path: Path, columns: int) -> "Columns | None":
        """The fields of a file, None where it is not plain or unreadable."""
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
        """The fields of ASCII text, None where it is not plain."""
        text = np.frombuffer(data + b"\n" * (not data.endswith(b"\n")) + bytes(WIDEST), dtype=np.uint8)
        ends = np.flatnonzero(text[:-WIDEST] <= ord(" "))
        if not len(ends) or len(ends) % columns:
            return None
        starts = np.concatenate([[0], ends[:-1] + 1])
        marks = text[ends].reshape(-1, columns)
        blank = (marks[:, :-1] == ord(" ")) | (marks[:, :-1] == ord("\t"))
        plain = bool(blank.all() and (marks[:, -1] == ord("\n")).all() and (ends > starts).all())
        return cls(text, starts.reshape(-1, columns), ends.reshape(-1, columns)) if plain else None

    def width(self, column: int) -> int:
        """The length of the longest field of a column."""
        return int((self.ends[:, column] - self.starts[:, column]).max())

    def narrow(self, *columns: int) -> bool:
        """True if every field of some columns is narrow enough for `words`."""
        return all(self.width(column) <= WIDEST for column in columns)

    def words(self, column: int) -> Words:
        """(lines, w) the bytes of each field, eight per word, padded with zeros; for narrow columns."""
        starts, ends = self.starts[:, column], self.ends[:, column]
        # A word starts at every byte of the text: they overlap.
        everywhere = np.ndarray((len(self.text) - WORD + 1,), np.dtype("<u8"), self.text, strides=(1,))
        words = np.empty((len(starts), -(-self.width(column) // WORD)), dtype=np.uint64)
        for i in range(words.shape[1]):
            left = np.clip(ends - starts - i * WORD, 0, WORD)
            words[:, i] = everywhere[np.minimum(starts + i * WORD, len(everywhere) - 1)] & KEPT[left]
        return words

    def name(self, line: int, column: int) -> str:
        """One field as text."""
        return self.text[self.starts[line, column] : self.ends[line, column]].tobytes().decode("ascii")

    def numbers(self, column: int) -> Array | None:
        """(lines,) the numbers of a column, None if one is not a finite number."""
        if not self.narrow(column):
            return None
        letters = self._letters(column)
        plain = _decimals(letters) if letters.shape[1] <= PLAIN_DIGITS else None
        return _floats(letters) if plain is None else plain

    def whole_numbers(self, column: int) -> Integers | None:
        """(lines,) the whole numbers of a column, None if one does not have one to eight digits."""
        if self.width(column) > WORD:
            return None
        numbers = _eight_digits(self.words(column)[:, 0], self.ends[:, column] - self.starts[:, column])
        return None if numbers is None else numbers.astype(np.int64)

    def _letters(self, column: int) -> Bytes:
        return self.words(column).astype("<u8").view(np.uint8)[:, : self.width(column)]


def _decimals(letters: Bytes) -> Array | None:
    """Numbers without exponent, None if others occur; with few enough digits that the division rounds only once."""
    minus = letters[:, 0] == ord("-")
    whole = np.zeros(len(letters), dtype=np.int64)
    places, points, digits = (np.zeros(len(letters), dtype=np.int8) for _ in range(3))
    for i, letter in enumerate(np.ascontiguousarray(letters.T)):
        digit = letter - np.uint8(ord("0"))
        is_digit, is_point = digit < 10, letter == ord(".")
        if not (is_digit | is_point | (letter == 0) | (minus & (i == 0))).all():
            return None
        whole = np.where(is_digit, whole * 10 + digit, whole)
        places += is_digit & (points > 0)
        digits += is_digit
        points += is_point
    if (points > 1).any() or not digits.all():
        return None
    return np.asarray(np.where(minus, -whole, whole) / TENS[places])


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
    gap = (8 * (WORD - lengths)).astype(np.uint64)
    digits = (words - (ZEROS >> gap)) << gap
    if ((digits | (digits + np.uint64(0x0606060606060606))) & np.uint64(0xF0F0F0F0F0F0F0F0)).any():
        return None
    digits = (digits * np.uint64(10) + (digits >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    digits = (digits * np.uint64(100) + (digits >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    return (digits * np.uint64(10_000) + (digits >> np.uint64(32))) & np.uint64(0xFFFFFFFF)


def coded_words(words: Words) -> tuple[Words, NDArray[np.int32]]:
    """Distinct fields (d, w), and (lines,) the index of each line's field among them.

    Uses a hash table with as many places as lines. Each line writes its number at the place of its hash; a line whose
    field equals that of the line found there is done, the others try another hash. Several times as fast as sorting.
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


def names_of(words: Words) -> list[str]:
    """Fields as text."""
    letters = np.ascontiguousarray(words.astype("<u8")).view(f"S{WORD * words.shape[1]}")
    return letters[:, 0].astype(str).tolist() if len(words) else []


def words_by_appearance(words: Words) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Distinct fields in order of first appearance, and (lines,) the place of each line's field among them."""
    distinct, codes = coded_words(words)
    first = np.empty(len(distinct), dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # the last to write is the first line
    order: Integers = np.argsort(first)
    moved = np.empty(len(order), dtype=np.int32)
    moved[order] = np.arange(len(order), dtype=np.int32)
    return tuple(names_of(distinct[order])), moved[codes]
