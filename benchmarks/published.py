"""How many published numbers come out to every printed digit, by source: `audiosim reproduce` in a table.

    python benchmarks/published.py [DIR]

DIR is the folder of the public data, ../shared/data beside the checkout where it is not given.
"""

import sys
from collections import defaultdict
from pathlib import Path

from figures import Figures

from audiosim.reproduce import rows

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def main() -> None:
    """Count, and keep the table."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in rows(sys.argv[1] if len(sys.argv) > 1 else DATA):
        counts[row.source][0] += 1
        counts[row.source][1] += row.agrees
    table = [[source, *found] for source, found in counts.items()]
    table.append(["all", *map(sum, zip(*counts.values(), strict=True))])
    with Figures("published") as figures:
        figures.table("published numbers", ["source", "numbers", "agree to every digit"], table)


if __name__ == "__main__":
    main()
