"""A private PostgreSQL server, on a socket in a folder, for tests and benchmarks."""

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any


def programs() -> Path | None:
    """Folder of PostgreSQL's programs; None if it is not installed."""
    found = shutil.which("initdb") or next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))), None)
    return Path(found).resolve().parent if found else None


class Cluster:
    """A private PostgreSQL server, on a socket in a separate folder, to be started, stopped and frozen."""

    def __init__(self, programs: Path, folder: Path, made: Path | None = None) -> None:
        """Create its data, but do not start it.

        programs  folder of PostgreSQL's programs
        made      folder with the `data` of a server that never ran; None to create them
        """
        self._programs, self._folder = programs, folder
        root = os.geteuid() == 0  # PostgreSQL refuses to run as root
        self._user: dict[str, Any] = {"user": "nobody", "group": "nogroup", "extra_groups": []} if root else {}
        if root:
            shutil.chown(folder, "nobody")
        if made is None:
            self._call("initdb", "-U", "audiosim", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        else:
            subprocess.run(["cp", "-a", made / "data", folder / "data"], check=True)

    @property
    def url(self) -> str:
        """URL of its only database."""
        return f"postgresql://audiosim@/postgres?host={self._folder}"

    def start(self, *, durable: bool = False) -> None:
        """Start it.

        durable  True to wait for the disk, like a production server
        """
        settings = f"-c listen_addresses='' -k {self._folder} -c fsync={'on' if durable else 'off'}"
        self._call("pg_ctl", "start", "-w", "-l", self._folder / "log", "-o", settings)

    def stop(self) -> None:
        """Stop it at once."""
        self._call("pg_ctl", "stop", "-m", "immediate")

    def signal(self, wish: signal.Signals) -> None:
        """Send a signal to all of its processes."""
        first = int((self._folder / "data" / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        children = Path(f"/proc/{first}/task/{first}/children").read_text(encoding="utf-8").split()
        for process in (first, *map(int, children)):
            os.kill(process, wish)

    def _call(self, program: str, *arguments: object) -> None:
        command = [str(self._programs / program), "-D", str(self._folder / "data"), *map(str, arguments)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self._folder, **self._user)
