"""Check the documentation's links to other sites, by Sphinx; without a network, report that nothing was checked.

    python .ci/links.py

The exit code is 1 if a page is gone.
"""

import socket
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
HOST = ("www.python.org", 443)


def online() -> bool:
    """True if a well-known server answers."""
    try:
        socket.create_connection(HOST, timeout=5).close()
    except OSError:
        return False
    return True


def main() -> int:
    """Check the links."""
    if not online():
        sys.stdout.write(f"links skipped: {HOST[0]} cannot be reached, so that no link could be checked\n")
        return 0
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "linkcheck", DOCS, DOCS / "_build" / "links"]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
