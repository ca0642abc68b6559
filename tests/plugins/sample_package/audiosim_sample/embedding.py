"""An embedding: frequency and strength of note onsets, by librosa."""

import numpy as np


def rhythm(y, sr):
    """(24, frames) strength of onsets that recur after .1 s, .2 s, and so on; audiosim takes the mean over frames."""
    from librosa.onset import onset_strength

    onsets = onset_strength(y=y, sr=sr)
    frames_per_s = len(onsets) / (len(y) / sr)
    lags = np.rint(np.arange(1, 25) * 0.1 * frames_per_s).astype(int)
    least = len(onsets) - lags[-1]
    if least < 1:
        return np.ones((24, 1))
    return np.array([onsets[:least] * onsets[lag : lag + least] for lag in lags])
