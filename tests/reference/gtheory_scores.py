"""The CG@5 scores of MIREX 2011 for gtheory.R: mean over the five documents of grade / 100.

python tests/reference/gtheory_scores.py COLLECTION > scores.csv
"""

import sys
from pathlib import Path

from audiosim.collection.collection import Collection


def main(folder: Path) -> None:
    """Print one row per system and query."""
    collection = Collection.load(folder)
    grades = collection.grades()
    sys.stdout.write("system,query,assessor,score\n")
    for run in collection.runs:
        for query, documents in sorted(run.rankings.items()):
            score = sum(grades[query, document] for document in documents[:5]) / 500
            sys.stdout.write(f"{run.system},{query},1,{score!r}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
