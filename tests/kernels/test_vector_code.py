"""Machine code, compared with numpy."""

import numpy as np
import pytest

from audiosim.kernels.vector_code import SIDE_BY_SIDE, Code


@pytest.mark.parametrize(("precision", "kind"), [("single", np.float32), ("double", np.float64)])
def test_a_loop_adds_what_it_is_told_to(precision, kind):
    # The roots of the sums, and the least and largest number of each column, from n rows.
    code = Code(["rows", "result"], precision)
    lanes, rows, one = SIDE_BY_SIDE[precision], code["rows"], code.constant(-1e30)

    def add(place, found):
        row = rows.take(place * lanes)
        return [found[0] + row, row.sorted_with(found[1])[1]]

    total, largest = code.fold(code.whole(0), code.count, [code.constant(0.0), one], add)
    code["result"].put(0, code.root(total))
    code["result"].put(lanes, largest)
    with code.loop(1, 4) as place:
        code["result"].put(place * lanes + lanes, rows.spread(place) * code.constant(2.0) - rows.take(0))
    values, result = np.random.default_rng(0).random((7, lanes), kind), np.empty((5, lanes), kind)
    code.translated()(7, rows=values, result=result)
    np.testing.assert_allclose(result[0], np.sqrt(values.sum(axis=0)), rtol=1e-6)
    np.testing.assert_array_equal(result[1], values.max(axis=0))
    np.testing.assert_allclose(result[2:], 2 * values[0, 1:4, None] - values[0], rtol=0, atol=1e-6)
