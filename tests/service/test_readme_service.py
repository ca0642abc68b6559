"""All examples of docs/service.md work as shown, with a live server."""

import multiprocessing
import os
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Thread

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECTION = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
SHELL, KEEPING, IMPORTING, TOKEN, PROXIED = re.findall(r"```sh\n(.*?)```", SECTION, re.DOTALL)
RESTORED = "sqlite:///restored.db"
(PYTHON,) = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)

FORKS = multiprocessing.get_context("forkserver")  # its imports in advance: see tests/conftest.py

# The command that is on the path: says where and how it was called, hands over its files, and ends as the process does.
ON_PATH = """#!{python} -IS
import os, signal, socket, sys
with socket.socket(socket.AF_UNIX) as there:
    there.connect({address!r})
    socket.send_fds(there, ["\\0".join([os.getcwd(), *sys.argv]).encode()], [0, 1, 2])
    said = there.makefile()
    process = int(said.readline())
    signal.signal(signal.SIGTERM, lambda *_: os.kill(process, signal.SIGTERM))
    sys.exit(int(said.readline()))
"""

# That process, forked from one that has imported everything.
CALLED = """
import gc, os, socket, sys
gc.freeze()  # as in tests/conftest.py
said, files, *_ = socket.recv_fds(caller, 10_000, 3)
for number, file in enumerate(files):
    os.dup2(file, number)
    os.close(file)
folder, *sys.argv = said.decode().split("\\0")
os.chdir(folder)
caller.sendall(b"%d\\n" % os.getpid())
from audiosim.cli import main
main()
"""


def answer(calls):
    """Fork a process for every call, until `calls` is shut down."""

    def follow(caller):
        with caller:
            process = FORKS.Process(target=exec, args=(CALLED, {"caller": caller}), daemon=True)
            process.start()
            process.join()
            caller.sendall(b"%d\n" % process.exitcode)

    while True:
        try:
            caller, _ = calls.accept()
        except OSError:
            return
        Thread(target=follow, args=(caller,), daemon=True).start()


@pytest.fixture
def command():
    """The folder of a command `audiosim` that needs no second for its imports."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as calls:
        address, program = f"{folder}/calls", Path(folder, "audiosim")
        program.write_text(ON_PATH.format(python=sys.executable, address=address), encoding="utf-8")
        program.chmod(0o700)
        calls.bind(address)
        calls.listen()
        thread = Thread(target=answer, args=(calls,))
        thread.start()
        yield folder
        calls.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.fixture
def shown(tmp_path, port, command):
    """Runs an example in its own folder and on its own port, with the command on the path."""
    (tmp_path / "demo").symlink_to(ROOT / "fixtures" / "demo")
    path = f"{command}:{os.environ['PATH']}"

    def run(*program):
        # A busy machine may take longer for the start than a reader would wait.
        call = [part.replace("8000", str(port)).replace("--retry 30 ", "--retry 300 ") for part in program]
        variables = os.environ | {"PATH": path}
        done = subprocess.run(
            call, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False, env=variables
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.slow
def test_the_service_is_started_asked_and_judged_for_as_the_page_shows(shown):
    python = f"{sys.executable} -W error - <<'END'\n{PYTHON}END\n"
    keeping = KEEPING.replace("postgresql://me@host/name", RESTORED) + f"audiosim verify {RESTORED}\n"
    importing = f"curl -s localhost:8000/v1/collections/demo/judgments > monday.csv\n{IMPORTING}"
    script = f"set -eu\ntrap 'kill %1; wait' EXIT\nset -m\n{SHELL}\necho\n{python}{keeping}{importing}"
    said = shown("bash", "-c", script)
    assert '"document_sound":"/v1/documents/' in said
    assert '"measure":"nDCG@5"' in said
    assert "SystemOut(system=" in said
    assert re.search(r"\nquery,document,grade,assessor,time,fine,.*\nq\d\d,d\d\d\d,70,ann,\d{4}-[^,]*,70,", said)
    assert "demo has the file's 1 judgment\n" in said
    logs = re.findall(r"^demo +(\d+ +[0-9a-f]{64})$", said, re.MULTILINE)
    assert len(logs) == 4  # backed up, verified, restored, verified
    assert len(set(logs)) == 1


@pytest.mark.slow
def test_a_token_is_made_and_a_service_behind_a_proxy_started_as_the_page_shows(shown):
    serve = PROXIED.strip().replace("mirex2011", "demo")
    ready = "curl -sf --retry 30 --retry-all-errors --retry-delay 1 -o /dev/null localhost:8000/health/ready"
    status = "curl -s -o /dev/null -w '%{http_code} ' localhost:8000/v1/models"
    asks = "\n".join(f"{status} -H 'Host: {host}.example.org'" for host in ("judge", "other"))
    script = f"set -eu\ntrap 'kill %1; wait' EXIT\nset -m\n{TOKEN}{serve} --port 8000 &\n{ready}\n{asks}"
    assert re.fullmatch(r"audiosim_[A-Za-z0-9_-]{43}\n401 421 ", shown("bash", "-c", script))
