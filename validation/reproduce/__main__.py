"""Every published number that public data allows, beside the publication's: `make reproduce`.

    PYTHONPATH=validation python -m reproduce DIR [--format table|json|csv]

DIR holds the public data: mirex2011, a collection, and preferences/answers.tsv. Numbers without data are named.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.text import Text

from audiosim.cli.options import Format, print_result
from audiosim.errors import AudiosimError
from audiosim.report.screen import PlainTable
from reproduce.publications import rows

if TYPE_CHECKING:
    from rich.console import RenderableType


def reproduction_view(rows: Sequence[Mapping[str, Any]]) -> "RenderableType":
    """For each source, the count of reproduced numbers, and the others."""
    table = PlainTable(("Source", "left"), "Numbers", "Agree")
    for source in dict.fromkeys(row["source"] for row in rows):
        own = [row["agrees"] for row in rows if row["source"] == source]
        table.add_row(source, str(len(own)), str(sum(own)))
    disagreeing = [row for row in rows if not row["agrees"]]
    if not disagreeing:
        return table
    parts: list[RenderableType] = [table, Text("\nThose that do not, and why:")]
    for reason in dict.fromkeys(row["reason"] for row in disagreeing):
        differing = PlainTable(("Source", "left"), ("Quantity", "left"), "Printed", "Here")
        for row in (row for row in disagreeing if row["reason"] == reason):
            here = "no data" if row["computed"] is None else f"{row['computed']:.4g}"
            differing.add_row(row["source"], row["quantity"], f"{row['printed']:g}", here)
        parts += [Text(f"\n{reason}"), differing]
    return Group(*parts)


def main() -> None:
    """Print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--format", type=Format, default=Format.table)
    options = parser.parse_args()
    try:
        found = [row.to_dict() for row in rows(options.folder)]
    except AudiosimError as error:
        sys.exit(str(error))
    print_result(options.format, found, found, lambda: reproduction_view(found))
    if missing := sum(row["computed"] is None for row in found):
        sys.stderr.write(
            f"note: the data for {missing} of {len(found)} numbers is not in {options.folder}, expected mirex2011, a "
            "collection, and preferences/answers.tsv there\n"
        )


if __name__ == "__main__":
    main()
