"""The extension points: load what packages install, and check it against its contract.

`python -m audiosim.plugins` checks all that is installed.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
