"""The extension points: load plugins of installed packages, and check them against their contracts.

`python -m audiosim.plugins` checks all installed plugins.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
