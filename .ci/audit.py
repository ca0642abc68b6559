"""Report the findings of pip-audit: `pip-audit --format json ... | python .ci/audit.py`.

pip-audit skips packages unknown to every advisory service, and succeeds if none can be reached; both are reported here.
"""

import json
import sys
from typing import Any


def summary(text: str) -> tuple[int, list[str]]:
    """Exit status and lines for people, from the JSON of pip-audit; without JSON, no advisory service answered."""
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
