"""Say what pip-audit found: `pip-audit --format json ... | python .ci/audit.py`.

pip-audit passes over what no advisory service knows, and ends well where none can be reached; here both are said.
"""

import json
import sys
from typing import Any


def summary(text: str) -> tuple[int, list[str]]:
    """Exit status and lines for people, from the JSON of pip-audit; no JSON is no answer of an advisory service."""
    try:
        found: list[dict[str, Any]] = json.loads(text)["dependencies"]
    except (ValueError, KeyError, TypeError):
        found = []
    audited = [one for one in found if "vulns" in one]
    if not audited:
        return 0, [f"nothing was audited: no advisory service could be reached ({len(found)} packages passed over)"]
    lines = [
        f"{one['name']} {one['version']}: {hole['id']}, mended in {', '.join(hole['fix_versions']) or 'no version yet'}"
        for one in audited
        for hole in one["vulns"]
    ]
    passed_over = [one["name"] for one in found if "vulns" not in one]
    known = f"{len(lines)} known holes in {len(audited)} packages"
    return int(bool(lines)), [*lines, f"{known}; passed over: {', '.join(passed_over)}" if passed_over else known]


if __name__ == "__main__":
    status, lines = summary(sys.stdin.read())
    sys.stdout.write("\n".join(lines) + "\n")
    sys.exit(status)
