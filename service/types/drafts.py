"""The wire types of drafts: collections that organisers make in the browser."""

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from audiosim.collection.collection import Collection
from audiosim.collection.facts import RunFacts
from audiosim.collection.task import TaskAspect, TaskTable
from audiosim.collection.values import retrieved_by
from audiosim.errors import InputError
from audiosim.evaluation.check import CollectionCheck, DocumentFacts, EvidenceFacts, MachineFacts, lacking
from audiosim.ranking.rules import SELECTION_RULE_POINT
from audiosim.service.collections.campaigns import CampaignFile, published_models
from audiosim.service.collections.drafts import LONGEST_TEXT, Draft, DraftSettings, Home
from audiosim.service.collections.questions import Questions
from audiosim.service.types.base import Strict, Wire
from audiosim.service.types.campaign import EffortOut, PairOut
from audiosim.service.types.judging import AskedOut
from audiosim.service.types.predictions import ScaleOut

DraftText = Annotated[str, Meta(max_length=LONGEST_TEXT)]
STOPPING_RULES = {
    "confidence=0.9": "on average 90 % sure of the order of two systems",
    "confidence=0.95": "on average 95 % sure of the order of two systems",
    "every=0.95": "95 % sure of the order of every two systems",
    "error=0.05": "every score known to 0.05",
    "judgments=200": "200 judgments, however sure the ranking is",
}
OF_TASK = ("instructions", "consent", "language", "break_after", "steps", "control")  # as in task.toml
MEASURES = ("CG", "DCG", "nDCG", "AP", "RBP", "Q", "ERR", "P")


class NewDraftIn(Strict, forbid_unknown_fields=True):
    """Collection to make.

    name  its identifier: the name of its folder, and part of its addresses
    """

    name: Annotated[str, Meta(max_length=200)]


class DraftFileOut(Wire):
    """A file of a draft.

    name     path in the collection's folder
    kind     what the file holds, such as runs or judgments
    size     size in bytes
    said     line about its contents
    partial  true if it has not arrived completely: send the rest
    sent     name as sent
    """

    name: str
    kind: str
    size: int
    said: str = ""
    partial: bool = False
    sent: str = ""


class DraftSettingsIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Settings of a draft; empty ones are guessed, or taken from the service's settings.

    title           title of the collection
    task            question that grades answer, above the clips
    scale           fine, broad, binary, or levels such as 0-3 or 0,1,2,5
    prompts         folder whose recordings are the prompts, if files came in folders
    stopping_rule   rule that ends the judging, such as confidence=0.95
    selection_rule  rule that chooses the pairs
    twice           share of the pairs that two people judge, 0 to 1
    comparisons     comparisons among the questions: none, some or only
    candidates      candidates on a page, 1 to 8
    listen          seconds to listen to each clip before an answer, at most 600
    instructions    text before the start
    consent         text to agree to before the start
    language        code of the language of these texts
    kept_until      day after which nobody may be identified, such as 2027-12-31
    break_after     answers between two suggested breaks
    grades          both to ask for two grades on the fine scale; one by default
    steps           levels that the control offers
    control         how a grade is given: buttons or slider
    labels          words of the grades, one a line
    aspects         aspects to grade, one a line: name, colon, question
    headphones      "yes" to ask only people who pass the headphone check
    languages       codes of languages: only people whose browser asks for one take part
    devices         computer, tablet or phone: only people on one of these take part
    """

    title: DraftText = ""
    task: DraftText = ""
    scale: DraftText = ""
    cutoff: int | None = None
    prompts: DraftText = ""
    measure: DraftText = ""
    stopping_rule: DraftText = ""
    selection_rule: DraftText = ""
    model: DraftText = ""
    twice: float | None = None
    comparisons: DraftText = ""
    candidates: int | None = None
    listen: float | None = None
    instructions: DraftText = ""
    consent: DraftText = ""
    language: DraftText = ""
    kept_until: DraftText = ""
    break_after: int | None = None
    grades: Literal["", "both"] = ""
    steps: int | None = None
    control: Literal["", "buttons", "slider"] = ""
    labels: DraftText = ""
    aspects: DraftText = ""
    headphones: Literal["", "yes"] = ""
    languages: DraftText = ""
    devices: DraftText = ""

    def to_domain(self) -> DraftSettings:
        """The settings, checked."""
        campaign = {name: getattr(self, name) for name in CampaignFile.__struct_fields__}
        texts = {name: getattr(self, name).strip() for name in ("title", "task", "scale")}
        own = CampaignFile(**{name: one for name, one in campaign.items() if one != ""})
        return DraftSettings(**texts, cutoff=self.cutoff, prompts=self.prompts, campaign=own, asked=self._asked())

    def _asked(self) -> TaskTable:
        """The task in the organiser's words; `labels` and `aspects` have one entry a line."""
        named = [line.partition(":") for line in self.aspects.splitlines() if line.strip()]
        return TaskTable(
            **{name: getattr(self, name) for name in OF_TASK},
            grades=self.grades,
            kept_until=_day(self.kept_until),
            labels=tuple(line.strip() for line in self.labels.splitlines()),
            aspect=tuple(TaskAspect(name.strip(), words.strip() or name.strip()) for name, _, words in named),
            headphones=self.headphones == "yes",
            languages=_codes(self.languages),
            devices=_codes(self.devices),
        )

    @classmethod
    def from_domain(cls, said: DraftSettings) -> "DraftSettingsIn":
        own, asked = said.campaign, said.asked
        campaign = {name: getattr(own, name) for name in own.__struct_fields__ if getattr(own, name) is not None}
        return cls(
            **{name: getattr(said, name) for name in ("title", "scale", "cutoff", "prompts")},
            **{name: getattr(asked, name) for name in OF_TASK},
            grades="both" if asked.grades == "both" else "",  # the scale says which one otherwise
            task=said.task or asked.question,
            kept_until="" if asked.kept_until is None else asked.kept_until.isoformat(),
            labels="\n".join(asked.labels),
            aspects="\n".join(f"{one.name}: {one.question}" for one in asked.aspect),
            headphones="yes" if asked.headphones else "",
            languages=" ".join(asked.languages),
            devices=" ".join(asked.devices),
            **campaign,
        )


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise InputError(f"kept_until: expected a day such as 2027-12-31, got {text!r:.80}") from None


def _codes(text: str) -> tuple[str, ...]:
    return tuple(text.replace(",", " ").split())


class DraftOut(Wire):
    """A draft of a collection.

    name      its identifier
    files     its files
    settings  its settings
    """

    name: str
    files: list[DraftFileOut]
    settings: DraftSettingsIn

    @classmethod
    def from_domain(cls, draft: Draft) -> "DraftOut":
        files = [DraftFileOut.of(one, partial=False) for one in draft.files()]
        return cls(draft.name, files, DraftSettingsIn.from_domain(draft.settings))


class ChoicesOut(Wire):
    """Names that settings accept.

    measures         measures, without a cutoff
    stopping_rules   stopping rules, with the meaning of each
    selection_rules  rules that choose the pairs
    models           published models
    """

    measures: tuple[str, ...]
    stopping_rules: dict[str, str]
    selection_rules: list[str]
    models: list[str]


class DraftsOut(Wire):
    """The drafts of the service.

    home     false if the service has no folder for new collections
    drafts   identifiers of the drafts
    choices  names that settings accept
    """

    home: bool
    drafts: list[str]
    choices: ChoicesOut

    @classmethod
    def from_domain(cls, home: Home | None) -> "DraftsOut":
        drafts = [] if home is None else [one.name for one in home.drafts()]
        rules, models = sorted(SELECTION_RULE_POINT.names()), published_models()
        return cls(home is not None, drafts, ChoicesOut(MEASURES, STOPPING_RULES, rules, models))


class DraftPairOut(PairOut):
    """A pair as assessors would see it.

    query_file     sound file of the query; null if there is none
    document_file  sound file of the document; null if there is none
    """

    query_file: str | None
    document_file: str | None


class DraftLessonOut(DraftPairOut):
    """A training pair with its known grade.

    query_file     sound file of the query; null if there is none
    document_file  sound file of the document; null if there is none
    grade          known grade
    text           text to show after the answer
    """

    grade: float
    text: str


class CheckOut(Wire):
    """A collection as `audiosim check` reads it.

    collection   name of the collection
    scale        scale of the grades
    queries      number of queries that at least half of the systems answer
    runs         facts about each system's results
    judged       number of retrieved pairs that are judged
    pool         number of retrieved pairs
    comparisons  number of comparisons of two documents of a query
    documents    facts about the documents
    evidence     facts about each piece of evidence of the organiser's own
    judges       facts about each judging machine
    problems     likely mistakes
    notes        guesses and peculiarities
    """

    collection: str
    scale: ScaleOut
    cutoff: int
    queries: int
    runs: list[RunFacts]
    judged: int
    pool: int
    comparisons: int
    documents: DocumentFacts
    evidence: list[EvidenceFacts]
    judges: list[MachineFacts]
    problems: list[str]
    notes: list[str]


class DraftCheckOut(AskedOut, kw_only=True):
    """A draft as every command would read it, and what assessors would be shown.

    error         reason why it cannot be read; else empty
    check         how it was read, and likely mistakes; null if it cannot be read
    readings      a line for each file
    example       a pair that would be asked; null if there is none
    training      pairs with known answers, to begin with
    lacks         a sentence on each thing that a listening test needs and that is missing
    """

    error: str = ""
    check: CheckOut | None = None
    readings: list[str] = field(default_factory=list)
    example: DraftPairOut | None = None
    training: list[DraftLessonOut] = field(default_factory=list)
    lacks: list[str] = field(default_factory=list)

    @classmethod
    def from_domain(
        cls, found: Collection, said: CollectionCheck, readings: Sequence[str], comparisons: str
    ) -> "DraftCheckOut":
        table = TaskTable() if found.assessor_task is None else found.assessor_task.table
        return cls.of(
            table,
            error="",
            check=msgspec.convert(said.to_dict(), CheckOut),
            readings=list(readings),
            task=found.task,
            heading=table.question or found.task,
            questions=Questions.of(found).asked(),
            example=_example(found),
            training=[
                DraftLessonOut(*_recorded(found, one.query, one.document), one.grade, one.text)
                for one in table.training
            ],
            comparisons=comparisons,
            lacks=list(lacking(found)),
        )


def _example(found: Collection) -> DraftPairOut | None:
    """A pair, with sound on both sides where possible."""
    pairs = [(query, name) for query, names in retrieved_by(found.runs, found.cutoff).items() for name in sorted(names)]
    if not pairs:
        return None
    recorded = (_recorded(found, *pair) for pair in pairs)
    return DraftPairOut(*next((one for one in recorded if all(one)), _recorded(found, *pairs[0])))


def _recorded(found: Collection, query: str, document: str) -> tuple[str, str, str | None, str | None]:
    """A pair with the files of its recordings."""
    files = {name: one.path for name, one in found.documents.items()}
    return query, document, files.get(found.query_document(query)), files.get(document)


class StoppingRuleIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """A stopping rule to plan for.

    stopping_rule  the rule, such as confidence=0.95
    listeners      number of people who judge at the same time
    """

    stopping_rule: DraftText
    listeners: Annotated[int, Meta(ge=1, le=10_000)] = 1


class DraftPlanOut(EffortOut):
    """Effort until a stopping rule is met in a draft."""

    pool: int


class CreatedOut(Wire):
    """The new collection; its campaign is paused until the organiser opens it."""

    collection: str
