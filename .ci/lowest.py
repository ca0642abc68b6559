"""The lowest versions that pyproject.toml allows, as constraints for pip: `python .ci/lowest.py [EXTRA ...]`.

For each package, the version after >=; packages without a lower bound are left to pip.
"""

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
OTHERS = ("pyparsing<3.3",)  # newer versions warn about calls from the lowest matplotlib
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)(\[[^\]]*\])?>=(?P<version>[^;,\s]+)")


def lowest(project: dict[str, object], extras: list[str]) -> list[str]:
    """The constraints, sorted; an unknown extra is an error."""
    optional = project["optional-dependencies"]
    dependencies = project["dependencies"]
    assert isinstance(optional, dict)
    assert isinstance(dependencies, list)
    wanted = [*dependencies, *(requirement for extra in extras for requirement in optional[extra])]
    found = (REQUIREMENT.match(requirement) for requirement in wanted)
    return sorted({f"{match['name']}=={match['version']}" for match in found if match}) + list(OTHERS)


if __name__ == "__main__":
    table = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    sys.stdout.write("\n".join(lowest(table, sys.argv[1:])) + "\n")
