"""A private PostgreSQL server, and a pooler before it, on sockets in folders, for tests and benchmarks."""

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any


def programs() -> Path | None:
    """Folder of PostgreSQL's programs; None if it is not installed."""
    found = shutil.which("initdb") or next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))), None)
    return Path(found).resolve().parent if found else None


class Cluster:
    """A private PostgreSQL server, on a socket in a separate folder, to be started, stopped and frozen.

    user  the account that its processes need, as arguments of subprocess
    """

    def __init__(self, programs: Path, folder: Path, made: Path | None = None) -> None:
        """Create its data, but do not start it.

        programs  folder of PostgreSQL's programs
        made      folder with the `data` of a server that never ran; None to create them
        """
        self._programs, self.folder = programs, folder
        root = os.geteuid() == 0  # PostgreSQL refuses to run as root
        self.user: dict[str, Any] = {"user": "nobody", "group": "nogroup", "extra_groups": []} if root else {}
        if root:
            shutil.chown(folder, "nobody")
        if made is None:
            self._call("initdb", "-U", "audiosim", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        else:
            subprocess.run(["cp", "-a", made / "data", folder / "data"], check=True)

    @property
    def url(self) -> str:
        """URL of its only database."""
        return f"postgresql://audiosim@/postgres?host={self.folder}"

    def start(self, *more: str, durable: bool = False) -> None:
        """Start it.

        more     further settings, such as "synchronous_commit=off"
        durable  True to wait for the disk, like a production server
        """
        settings = "".join(f"-c {one} " for one in more)
        settings += f"-c listen_addresses='' -k {self.folder} -c fsync={'on' if durable else 'off'}"
        self._call("pg_ctl", "start", "-w", "-l", self.folder / "log", "-o", settings)

    def stop(self) -> None:
        """Stop it at once."""
        self._call("pg_ctl", "stop", "-m", "immediate")

    def signal(self, wish: signal.Signals) -> None:
        """Send a signal to all of its processes."""
        first = int((self.folder / "data" / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        children = Path(f"/proc/{first}/task/{first}/children").read_text(encoding="utf-8").split()
        for process in (first, *map(int, children)):
            os.kill(process, wish)

    def _call(self, program: str, *arguments: object) -> None:
        command = [str(self._programs / program), "-D", str(self.folder / "data"), *map(str, arguments)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self.folder, **self.user)


class Pooler:
    """PgBouncer in transaction mode before a private server: each transaction may run in another of two sessions."""

    def __init__(self, program: str, cluster: Cluster, folder: Path) -> None:
        """Start it.

        program  path of PgBouncer
        folder   folder for its socket and log, of its own
        """
        self.cluster = cluster
        self.url = f"postgresql://audiosim@/postgres?host={folder}&port=6432"
        settings = folder / "pgbouncer.ini"
        options = {
            "pool_mode": "transaction",
            "auth_type": "any",
            "listen_addr": "",
            "unix_socket_dir": folder,
            "logfile": folder / "log",
            "default_pool_size": 2,
            "server_login_retry": 1,
        }
        lines = "".join(f"{name} = {value}\n" for name, value in options.items())
        settings.write_text(
            f"[databases]\npostgres = host={cluster.folder} user=audiosim\n[pgbouncer]\n{lines}", "utf-8"
        )
        if os.geteuid() == 0:  # it refuses to run as root, too
            shutil.chown(folder, "nobody")
        self._process = subprocess.Popen([program, "-q", settings], stderr=subprocess.DEVNULL, **cluster.user)
        while self._process.poll() is None and not _listens(folder / ".s.PGSQL.6432"):
            time.sleep(0.01)

    def stop(self) -> None:
        """Stop it at once."""
        self._process.kill()
        self._process.wait()


def _listens(path: Path) -> bool:
    """True if a server accepts connections at a socket, whose file exists a moment before."""
    with socket.socket(socket.AF_UNIX) as one:
        return one.connect_ex(str(path)) == 0
