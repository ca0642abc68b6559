"""
Which recording sounds most like this one?
==========================================

Two recordings are described by their sound, and compared. Play them.
"""

import base64

import audiosim
from audiosim.package_files import folder

sounds = folder("fixtures") / "demo" / "sounds"
paths = [sounds / f"d{number:03}.ogg" for number in range(1, 13)]
index = audiosim.extract(paths, n_jobs=1)
(query, *others) = index.ids
(found,) = index.neighbours([query], 1)[query]
nearest = found.identifier
print(f"{query} sounds most like {nearest}: Jensen-Shannon divergence {found.divergence:.2f}")

# %%
# The two as pictures: frequency over time, with loud parts bright.

chart = audiosim.plot_recording(sounds / f"{query}.ogg") & audiosim.plot_recording(sounds / f"{nearest}.ogg")

# %%
# And as sound.


class Players:
    """Two recordings, as a page plays them."""

    def _repr_html_(self):
        parts = []
        for name in (query, nearest):
            sound = base64.b64encode((sounds / f"{name}.ogg").read_bytes()).decode()
            parts.append(f'<p>{name}<br><audio controls src="data:audio/ogg;base64,{sound}"></audio></p>')
        return "".join(parts)


Players()
