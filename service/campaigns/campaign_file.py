"""campaign.toml in a collection's folder: settings of its campaign that replace the service's."""

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
from msgspec import Struct

from audiosim.corpus.lines import every_line
from audiosim.errors import InputError
from audiosim.plugins import find_measure, find_stopping_rule
from audiosim.relevance.model_files import model_names
from audiosim.selection import SELECTION_RULES
from audiosim.service.campaigns.campaigns import Judging

FILE = "campaign.toml"


class CampaignFile(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Settings of one collection's campaign; None: the service's.

    measure         measure that ranks the systems, such as nDCG@10
    stopping_rule   condition under which judging may stop, such as confidence=0.95
    selection_rule  rule that chooses the pairs to judge, such as drawn
    model           published model, such as joint
    """

    measure: str | None = None
    stopping_rule: str | None = None
    selection_rule: str | None = None
    model: str | None = None

    def __post_init__(self) -> None:
        if self.measure is not None:
            find_measure(self.measure, 1)
        if self.stopping_rule is not None:
            find_stopping_rule(self.stopping_rule)
        if self.selection_rule is not None:
            _check_known("selection rule", self.selection_rule, sorted(SELECTION_RULES))
        if self.model is not None:
            _check_known("model", self.model, published_models())

    @classmethod
    def of(cls, folder: str | Path | None) -> "CampaignFile":
        """The settings in a collection's folder; all None without a file."""
        path = None if folder is None else Path(folder) / FILE
        if path is None or not path.is_file():
            return cls()
        text = "\n".join(line for _, line in every_line(path))
        try:
            return msgspec.convert(tomllib.loads(text), cls)
        except (tomllib.TOMLDecodeError, msgspec.ValidationError, InputError) as error:
            raise InputError(f"{path}: {error}") from None

    def of_judging(self, judging: Judging) -> Judging:
        """The service's settings, replaced by these where given."""
        settings = judging.settings
        if self.selection_rule is not None:
            settings = replace(settings, selection_rule=self.selection_rule)
        rule = judging.stopping_rule if self.stopping_rule is None else find_stopping_rule(self.stopping_rule)
        return replace(judging, measure=self.measure or judging.measure, stopping_rule=rule, settings=settings)

    def lines(self) -> list[str]:
        """The lines of the file."""
        said = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return [f"{name} = {msgspec.json.encode(value).decode()}" for name, value in said if value is not None]


def published_models() -> list[str]:
    """Names of the models that a campaign may have, without their scales."""
    return sorted({"uniform", *(name.rpartition("-")[0] for name in model_names())})


def _check_known(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise InputError(f"unknown {what} {name!r:.80}, expected one of {', '.join(known)}")
