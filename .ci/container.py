"""The Dockerfile without a container runtime: its own commands, as root, on a layer above this machine's files.

`python .ci/container.py`, on Linux, as root. All writes go to memory and are gone at the end. Then it serves the
collection that comes with audiosim as the image would, with the Dockerfile's user, environment, entry point and health
check, and a read-only root as in compose.yaml. It uses the image's version of Python if installed, otherwise this one.
"""

import json
import os
import re
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OURS = {"PIP_", "SSL_", "REQUESTS_CA", "http", "HTTP", "no_proxy", "NO_PROXY"}  # variables for access to packages
PATIENCE_S = 120


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Instructions of a Dockerfile with their arguments."""
    joined = re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    for line in filter(str.strip, joined.splitlines()):
        name, _, rest = line.strip().partition(" ")
        yield name, rest.strip()


@dataclass
class Image:
    """Settings of the running container from the instructions, and the root in which they are carried out."""

    root: Path
    path: str
    variables: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = "0"
    entry: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)

    def command(self, *words: str) -> list[str]:
        """A command in the container: run by its user, in its folder, without this machine's environment."""
        given = {name: value for name, value in os.environ.items() if any(map(name.startswith, OURS))}
        path = {"PATH": f"{self.path}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/nonexistent"}
        told = [f"{name}={value}" for name, value in (given | path | self.variables).items()]
        moved = ["sh", "-c", 'cd "$0" && exec "$@"', self.folder]
        drop = ["setpriv", "--reuid", self.user, "--regid", self.user, "--clear-groups"] if self.user != "0" else []
        return ["chroot", str(self.root), *drop, "env", "-i", *told, *moved, *words]

    def carry_out(self, name: str, rest: str) -> None:
        """Carry out one instruction."""
        if name == "FROM":
            self.variables, self.folder, self.user = {}, "/", "0"
        elif name == "WORKDIR":
            self.folder = rest
            self.inside(rest).mkdir(parents=True, exist_ok=True)
        elif name == "COPY" and not rest.startswith("--from"):
            *sources, target = rest.split()
            self._copy(sources, self.inside(self.folder) / target)
        elif name == "RUN":
            subprocess.run(self.command("sh", "-c", rest), check=True)
        elif name == "ENV":
            known = self.variables | {"PATH": f"{self.path}:/usr/bin:/bin"}
            for word in shlex.split(rest):
                key, _, value = word.partition("=")
                self.variables[key] = re.sub(r"\$(\w+)", lambda found: known.get(found[1], ""), value)
        elif name == "USER":
            self.user = rest
        elif name in ("ENTRYPOINT", "CMD"):
            self.entry += json.loads(rest)
        elif name == "HEALTHCHECK":
            self.health = json.loads(rest.partition("CMD ")[2])

    def inside(self, path: str) -> Path:
        """Path on this machine of a path in the container."""
        return self.root / path.lstrip("/")

    @staticmethod
    def _copy(sources: list[str], target: Path) -> None:
        for source in sources:
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / source, target)


def layer(folder: Path) -> Path:
    """A root that shows all files of this machine, and keeps writes in memory."""
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)
    upper, work, root = (folder / name for name in ("upper", "work", "root"))
    for one in (upper, work, root):
        one.mkdir()
    options = f"lowerdir=/,upperdir={upper},workdir={work}"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, root], check=True)
    subprocess.run(["mount", "--bind", "/dev", root / "dev"], check=True)
    subprocess.run(["mount", "-t", "proc", "proc", root / "proc"], check=True)
    return root


def interpreter(text: str) -> Path:
    """The image's version of Python, or this one."""
    (version,) = set(re.findall(r"^FROM python:(\d+\.\d+)", text, re.MULTILINE))
    kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    found = shutil.which(f"python{version}") if not kept else str(kept[-1])
    if found is None:
        sys.stdout.write(f"there is no Python {version} here: the image's commands run with {sys.version.split()[0]}\n")
    return Path(found or sys.executable).resolve()


def build(root: Path, text: str) -> Image:
    """Carry out all instructions."""
    python = interpreter(text)
    for folder in python.parents:  # the image's user needs access, too
        inside = root / str(folder).lstrip("/")
        inside.chmod(inside.stat().st_mode | 0o011)
    image = Image(root, str(python.parent))
    for name, rest in instructions(text):
        image.carry_out(name, rest)
    return image


def serve(image: Image) -> None:
    """Start the service as the image does, with a token, and send it requests."""
    collections = image.inside("/collections")
    shutil.copytree(ROOT / "fixtures", collections)
    subprocess.run(["mount", "-o", "remount,ro", image.root], check=True)
    for writable in ("/tmp", "/data"):
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", image.inside(writable)], check=True)
    os.chown(image.inside("/data"), int(image.user), -1)
    image.inside("/tmp").chmod(0o1777)
    image.variables |= {"AUDIOSIM_COLLECTIONS": "/collections/demo", "AUDIOSIM_DB": "sqlite:////data/campaign.db"}
    told, port = image.variables["AUDIOSIM_PORT"], _free_port()  # another program may use the image's port
    image.variables["AUDIOSIM_PORT"] = str(port)
    well = [word.replace(f":{told}/", f":{port}/") for word in image.health]
    token = _said(image, image.entry[0], "token", "create", "--role", "organiser", "--name", "me").split()[-1]
    server = subprocess.Popen(image.command(*image.entry))
    try:
        end = time.monotonic() + PATIENCE_S
        while subprocess.run(image.command(*well), stderr=subprocess.DEVNULL, check=False).returncode:
            if time.monotonic() > end or server.poll() is not None:
                raise SystemExit("the service never became healthy")
            time.sleep(0.5)
        address = f"http://127.0.0.1:{port}/v1/collections/demo"
        asked = urllib.request.Request(address, headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(asked, timeout=30) as answer:
            assert json.load(answer)["name"]
        assert _said(image, "id", "-u").strip() == image.user
        assert "Read-only" in _said(image, "sh", "-c", "touch /x 2>&1 || true")
    finally:
        server.terminate()
        server.wait(PATIENCE_S)
    assert server.returncode == 0, f"the service ended with {server.returncode}"


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _said(image: Image, *words: str) -> str:
    return subprocess.run(image.command(*words), stdout=subprocess.PIPE, text=True, check=True).stdout


def main() -> None:
    """Build in a separate mount namespace, then serve."""
    if sys.platform != "linux" or os.geteuid() != 0:
        raise SystemExit("this needs Linux and root, to mount file systems and create a user")
    if sys.argv[1:] != ["--apart"]:
        os.execvp("unshare", ["unshare", "--mount", sys.executable, __file__, "--apart"])
    folder = Path("/mnt") / f"audiosim-{secrets.token_hex(4)}"
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    begun = time.monotonic()
    try:
        serve(build(layer(folder), text))
    finally:
        subprocess.run(["umount", "--lazy", folder], check=False)
        folder.rmdir()
    sys.stdout.write(f"the Dockerfile's commands gave a healthy service, in {time.monotonic() - begun:.0f} s\n")


if __name__ == "__main__":
    main()
