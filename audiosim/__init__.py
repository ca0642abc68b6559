"""Rank music-similarity systems honestly from as few human judgments as will do.

Public are the names in `__all__` and the modules that docs/public.md lists; everything else may change in any version.
"""

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
