"""The extension points: load what packages install, and check it against its contract.

`python -m audiosim.plugins` checks all that is installed.
"""

import lazy_loader

from audiosim.deprecation import old_names

_find, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__getattr__ = old_names(__name__, _find, check_rule="check_selection_rule", find_rule="find_selection_rule")
