"""Without LLVM, or without permission to generate code, the array versions give the same results; in real processes."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT = """
import sys
class Blocker:
    def find_spec(self, name, *_):
        if name.split(".")[0] == "llvmlite":
            raise ImportError("blocked")
sys.meta_path.insert(0, Blocker())
"""
# prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN): memory that can be written can never become executable.
HARDENED = "import ctypes, sys\nif ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):\n    sys.exit(77)\n"
DESCRIBE = """
import warnings
import numpy as np
warnings.simplefilter("ignore")
from audiosim.sound.decode import Signal
from audiosim.sound.frames import frames
from audiosim.sound.parameters import STANDARD_FRAMES
from audiosim.kernels.door import obstacle
from audiosim.kernels.elimination import log_determinants_of_mixtures
rng = np.random.default_rng(0)
signal = Signal(rng.normal(0, 0.1, 44100).astype(np.float32), STANDARD_FRAMES.rate_hz)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    first, second = frames(signal), frames(signal)
assert len([one for one in said if "no machine code" in str(one.message)]) == 1, said
assert np.isfinite(first.values).all() and np.array_equal(first.values, second.values)
mine, theirs = rng.random((3, 10)), rng.random((10, 4))
mine[:, [4, 7, 9]] += 9
log_determinants_of_mixtures(mine, theirs, 3, many=True)
print(obstacle())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is protected so on Linux")
@pytest.mark.parametrize(
    ("before", "reason"),
    [(WITHOUT, "llvmlite cannot be loaded: blocked"), (HARDENED, "memory may not be made executable")],
    ids=["missing", "hardened"],
)
def test_sound_is_described_without_machine_code_and_that_is_said_once(before, reason):
    ended = subprocess.run([sys.executable, "-c", before + DESCRIBE], capture_output=True, text=True)
    if ended.returncode == 77:
        pytest.skip("the kernel cannot forbid executable memory")
    assert (ended.returncode, ended.stdout) == (0, f"{reason}\n"), ended.stderr


def test_other_rooms_enter_by_the_modules_that_choose():
    root = Path(__file__).parents[2]
    texts = [
        path.read_text(encoding="utf-8")
        for folder in ("audiosim", "service")
        for path in (root / folder).rglob("*.py")
        if path.parent.name != "kernels"
    ]
    entered = {
        node.module.removeprefix("audiosim.kernels.")
        for text in texts
        if "audiosim.kernels" in text  # parsing the others would cost a second
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("audiosim.kernels")
    }
    assert entered == {"framing", "spectrum", "elimination"}
