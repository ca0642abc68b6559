"""Wire types of the texts that an organiser may change during a campaign."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from audiosim.campaign.words import texts_of
from audiosim.corpus.model import queries_of
from audiosim.corpus.prompts import prompts_of
from audiosim.errors import InputError
from audiosim.service.shelf.served_collection import ServedCollection
from audiosim.service.wire.base import Strict, Wire
from audiosim.service.wire.judgment_types import Name, RecordOut, Text

OF_SCALE = ("scale", "grades", "control", "labels", "steps", "aspect")


class TextsOut(Wire):
    """The texts of a campaign that may be changed while it runs; `languages` has codes separated by commas.

    `changed` is the last line of the log that changed a text, null if none did.
    """

    collection: str
    state: int
    title: str
    question: str
    instructions: str
    consent: str
    language: str
    languages: str
    changed: RecordOut | None

    @classmethod
    def from_domain(cls, one: ServedCollection) -> "TextsOut":
        last = one.campaign.rewording.last
        return cls(
            collection=one.collection.identifier,
            state=one.campaign.number,
            **texts_of(one.collection),
            changed=None if last is None else RecordOut.from_domain(last),
        )


class TextsIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """New texts of a campaign; omitted ones stay. `languages` has codes separated by commas.

    The scale and its words (grades, control, labels, steps, aspect) are accepted here only to be refused with a reason.
    """

    title: Text | UnsetType = UNSET
    question: Text | UnsetType = UNSET
    instructions: Text | UnsetType = UNSET
    consent: Text | UnsetType = UNSET
    language: Text | UnsetType = UNSET
    languages: Text | UnsetType = UNSET
    reason: Text = ""
    scale: Any = UNSET
    grades: Any = UNSET
    control: Any = UNSET
    labels: Any = UNSET
    steps: Any = UNSET
    aspect: Any = UNSET

    @property
    def texts(self) -> dict[str, str]:
        """The texts by name; an error if other fields or no fields are to be changed."""
        said = {name: getattr(self, name) for name in self.__struct_fields__ if name != "reason"}
        given = {name: text for name, text in said.items() if text is not UNSET}
        wrong = [name for name in OF_SCALE if name in given]
        if wrong:
            raise InputError(
                f"{wrong[0]} belongs to the scale, which a campaign cannot change, as its grades are on it: "
                "make another collection"
            )
        if not given:
            raise InputError("expected a text to change: title, question, instructions, consent, language or languages")
        return given


class PromptsOut(Wire):
    """The prompts of a collection, by query; `queries` lists all queries, with or without a prompt."""

    collection: str
    state: int
    prompts: dict[str, str]
    queries: list[str]

    @classmethod
    def from_domain(cls, one: ServedCollection) -> "PromptsOut":
        return cls(
            one.collection.identifier,
            one.campaign.number,
            prompts_of(one.collection),
            list(queries_of(one.collection.runs)),
        )


class PromptIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """The new prompt of a query, and the reason for the change."""

    query: Annotated[Name, Meta(min_length=1)]
    prompt: Text
    reason: Text = ""

    @property
    def texts(self) -> dict[str, str]:
        """The change by name, as in the log."""
        fields = msgspec.structs.asdict(self)
        return {name: fields[name] for name in ("query", "prompt")}
