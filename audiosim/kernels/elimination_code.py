"""Machine code for simultaneous elimination: eight pairs side by side, in double precision."""

from functools import lru_cache

from audiosim.kernels.vector_code import SIDE_BY_SIDE, Code, Lanes, NumbersInMemory, Place, Translated

PAIRS_AT_ONCE = SIDE_BY_SIDE["double"]
AT_ONCE = 4  # numbers of a row computed together, so that their common operands are read once
BEYOND = AT_ONCE + 1  # numbers that may be read or written past the end of the last row
PIVOTS_AT_ONCE = 7  # pivots multiplied before a logarithm is taken; a product of more could overflow or underflow


@lru_cache
def elimination(size: int) -> Translated:
    """Code that eliminates many symmetric matrices, each the sum of two, and multiplies their pivots seven at a time.

    size  rows of a matrix, at least 2

    The code is called with the number of rows of `mine` and these arrays:

        mine    (r, p + 5) upper triangles, row by row, p = size (size + 1) / 2
        theirs  (p + 5, 8)
        work    (size + 1, size + 1, 8), scratch space
        pivots  (r, ceil(size / 7), 8), the result: products of pivots, the very last pivot with its sign changed

    Root R of a matrix A, row by row: R_kj = (A_kj - sum over m < k of R_mk R_mj) / R_kk, with R_kk^2 the pivot.
    """
    code, last, groups = Code(["mine", "theirs", "work", "pivots"], "double"), size - 1, -(-size // PIVOTS_AT_ONCE)
    with code.loop(0, code.count) as row:
        products = code["pivots"].after(row * (groups * PAIRS_AT_ONCE))
        for group in range(groups):
            products.put(group * PAIRS_AT_ONCE, code.constant(1.0))
        _write_row(code, row, code.whole(0), size, products, above=False)
        if size > 2:
            with code.loop(1, last) as k:
                _write_row(code, row, k, size, products)
        (pivot,) = _eliminated(code, row, code.whole(last), code.whole(last), size, 1)
        _multiply(products, code.whole(last), code.constant(0.0) - pivot)
    return code.translated()


def _write_row(code: Code, row: Place, k: Place, size: int, products: NumbersInMemory, above: bool = True) -> None:
    """Write row k of the root, from the diagonal on; numbers written past its end are overwritten later."""
    first, start = _eliminated(code, row, k, k, size, AT_ONCE, above), _work_at(k, size)
    _multiply(products, k, first[0])
    share = code.constant(1.0) / code.root(first[0])
    for number, lanes in enumerate(first):
        code["work"].put((start + k + number) * PAIRS_AT_ONCE, lanes * share)
    with code.loop(k + AT_ONCE, size, AT_ONCE) as column:
        for number, lanes in enumerate(_eliminated(code, row, k, column, size, AT_ONCE, above)):
            code["work"].put((start + column + number) * PAIRS_AT_ONCE, lanes * share)


def _eliminated(
    code: Code, row: Place, k: Place, column: Place, size: int, count: int, above: bool = True
) -> list[Lanes]:
    """A_kj - sum over m < k of R_mk R_mj, for `count` values of j from a column on; the sum is 0 without rows above."""
    at = k * (code.whole(2 * size - 1) - k) // 2 + column
    mine = row * (size * (size + 1) // 2 + BEYOND) + at
    sums = [code["mine"].spread(mine + n) + code["theirs"].take((at + n) * PAIRS_AT_ONCE) for n in range(count)]

    def take_off(m: Place, found: list[Lanes]) -> list[Lanes]:
        start = _work_at(m, size)
        factor = code["work"].take((start + k) * PAIRS_AT_ONCE)
        return [
            one - factor * code["work"].take((start + column + number) * PAIRS_AT_ONCE)
            for number, one in enumerate(found)
        ]

    return code.fold(code.whole(0), k, sums, take_off) if above else sums


def _work_at(row: Place, size: int) -> Place:
    """Start of a row of the root; rows have odd length, so that the numbers of a column map to different cache sets."""
    return row * (size | 1)


def _multiply(products: NumbersInMemory, k: Place, pivot: Lanes) -> None:
    at = k // PIVOTS_AT_ONCE * PAIRS_AT_ONCE
    products.put(at, products.take(at) * pivot)
