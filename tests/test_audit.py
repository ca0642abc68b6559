"""`make audit` reports its findings, and says so if it could not look."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / ".ci" / "audit.py"

# The output format of pip-audit --format json, as in its README: https://github.com/pypa/pip-audit#examples
FLASK = {
    "name": "flask",
    "version": "0.5",
    "vulns": [{"id": "PYSEC-2019-179", "fix_versions": ["1.0"], "description": "..."}],
}
JINJA = {"name": "jinja2", "version": "3.0.2", "vulns": []}
UNKNOWN = {"name": "ours", "skip_reason": "Dependency not found on PyPI and could not be audited: ours (1)"}


@pytest.mark.parametrize(
    ("dependencies", "status", "lines"),
    [
        ([JINJA], 0, ["0 known holes in 1 packages"]),
        ([FLASK, JINJA], 1, ["flask 0.5: PYSEC-2019-179, mended in 1.0", "1 known holes in 2 packages"]),
        ([JINJA, UNKNOWN], 0, ["0 known holes in 1 packages; passed over: ours"]),
        ([UNKNOWN], 0, ["nothing was audited: no advisory service could be reached (1 packages passed over)"]),
    ],
)
def test_what_was_found_is_said(dependencies, status, lines):
    said = runpy.run_path(str(SCRIPT))["summary"](json.dumps({"dependencies": dependencies, "fixes": []}))
    assert said == (status, lines)


def test_no_answer_is_said():
    ended = subprocess.run([sys.executable, SCRIPT], input="", capture_output=True, text=True)
    said = "nothing was audited: no advisory service could be reached (0 packages passed over)\n"
    assert (ended.returncode, ended.stdout) == (0, said)
