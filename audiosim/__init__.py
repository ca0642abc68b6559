"""Rank music-similarity systems from as few human judgments as possible, and say how sure the ranking is.

The names in `__all__` and the modules listed in docs/public.md are public; everything else may change in any version.
"""

import lazy_loader

__version__ = "0.1.0"
_find, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    """A public name, imported when first asked for; an unknown name is an error that suggests the nearest one."""
    if name in __all__:
        return _find(name)
    from audiosim.text import did_you_mean

    # Without `obj` Python adds no hint of its own. Notebooks would not show it, and elsewhere the hint would appear
    # twice.
    raise AttributeError(
        f"module 'audiosim' has no attribute {name!r}{did_you_mean(name, __all__)}", name=name, obj=None
    )
