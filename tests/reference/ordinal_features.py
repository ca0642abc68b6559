"""The MIREX 2011 features for ordinal.R: python tests/reference/ordinal_features.py COLLECTION FEATURES.csv."""

import sys

import numpy as np

from audiosim import Collection
from audiosim.collection.pool import build_pool
from audiosim.ordinal.features import columns, design

TERMS = ("fSYS", "fART", "sGEN", "fGEN", "sGEN:fGEN")


def main() -> None:
    """Print features and level of each pair with no unknown feature."""
    collection = Collection.load(sys.argv[1])
    pool = build_pool(collection)
    grades = pool.spread(collection.grades())
    features = design(columns(pool, grades, TERMS[:4]), TERMS)
    known = np.isfinite(features).all(axis=1)
    level = np.minimum(grades // 10, 9)
    rows = np.column_stack([level, features, pool.query])[known]
    header = ",".join(["level", *(term.replace(":", ".") for term in TERMS), "query"])
    np.savetxt(sys.argv[2], rows, delimiter=",", header=header, comments="", fmt="%.17g")


if __name__ == "__main__":
    main()
