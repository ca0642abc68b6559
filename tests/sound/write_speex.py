"""Three notes of two thirds of a second, 220, 440 and 880 Hz, as Speex: notes.spx.

    python tests/sound/write_speex.py

Needs speexenc, of Debian's package speex (version 1.2.1 wrote the file): no Python package writes Speex.
"""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import soundfile

NOTES_HZ, RATE_HZ = (220, 440, 880), 8_000

if __name__ == "__main__":
    time = np.arange(2 * RATE_HZ // 3) / RATE_HZ
    notes = np.concatenate([0.5 * np.sin(2 * np.pi * hertz * time) for hertz in NOTES_HZ])
    with TemporaryDirectory() as folder:
        soundfile.write(f"{folder}/notes.wav", notes, RATE_HZ)
        command = ["speexenc", "--quality", "4", f"{folder}/notes.wav", str(Path(__file__).with_name("notes.spx"))]
        subprocess.run(command, check=True)
