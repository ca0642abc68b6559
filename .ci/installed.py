"""Wheel and sdist, each installed in an empty environment of every named Python, and tried there.

    python .ci/installed.py dist python3.11 python3.12 python3.13

Needs a package registry. Each environment gets the file with audiosim[all], without constraints, beside another package
called `service`. It runs the demo, and the demo's report must exist. Prints a line for each; a Python that is not
installed is named. The exit code is 1 if one fails.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLEAN = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
ASKED = "import service, audiosim.service.app, audiosim; assert service.NAME == 'theirs'; print(audiosim.__version__)"


def run(*command: object, folder: Path) -> str:
    """The output of a command; if it fails, an error with the last line of its own."""
    done = subprocess.run([*map(str, command)], cwd=folder, env=CLEAN, capture_output=True, text=True)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
        raise RuntimeError(f"{Path(str(command[0])).name} {command[1]}: {lines[-1]}")
    return done.stdout.strip()


def tried(file: Path, python: str, folder: Path) -> str:
    """Version of the file's package in a new environment, after the demo ran there."""
    run(python, "-m", "venv", folder / "venv", folder=folder)
    programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    pip = [programs / "python", "-m", "pip", "--disable-pip-version-check", "--quiet"]
    run(*pip, "install", f"{file}[all]", folder=folder)
    run(*pip, "check", folder=folder)
    site = run(programs / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=folder)
    Path(site, "service.py").write_text("NAME = 'theirs'\n", encoding="utf-8")
    run(programs / "audiosim", "demo", "mine", folder=folder)
    if not (folder / "mine" / "report.html").is_file():
        raise RuntimeError("the demo left no report.html")
    return run(programs / "python", "-c", ASKED, folder=folder)


def main() -> int:
    """Try each file with each Python."""
    files = sorted(Path(sys.argv[1]).resolve().glob("audiosim-*"))
    failed = not files
    for python in sys.argv[2:]:
        if shutil.which(python) is None or subprocess.run([python, "--version"], capture_output=True).returncode:
            print(f"{python}: not installed here")
            continue
        for file in files:
            begun = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                try:
                    said = f"audiosim {tried(file, python, Path(folder))} runs the demo"
                except RuntimeError as error:
                    said, failed = f"FAILED: {error}", True
            print(f"{python}, {file.name}: {said}, {time.monotonic() - begun:.0f} s", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
