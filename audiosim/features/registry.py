"""Features by name: the built-in ones, and those registered by a program."""

from collections.abc import Mapping
from types import MappingProxyType

from audiosim.errors import InputError
from audiosim.features import audio, judgment, output
from audiosim.features.feature import Feature

_FEATURES = {
    one.name: one for module in (output, judgment, audio) for one in vars(module).values() if isinstance(one, Feature)
}
BUILT_IN: Mapping[str, Feature] = dict(_FEATURES)
FEATURES: Mapping[str, Feature] = MappingProxyType(_FEATURES)
AUDIO = tuple(feature for feature in BUILT_IN.values() if feature.kind == "audio")


def register_feature(feature: Feature) -> None:
    """Register a new feature in this process, for use in the terms of models.

    A name that is taken is an error; registering the same feature again changes nothing.
    """
    if _FEATURES.setdefault(feature.name, feature) != feature:
        raise InputError(f"feature {feature.name} is known already, expected another name for a feature of your own")
