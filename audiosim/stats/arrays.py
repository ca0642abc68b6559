"""Array types for signatures; docstrings give the shapes."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
Precision = Literal["single", "double"]
