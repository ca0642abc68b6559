"""Texts of a running campaign, read and changed by the organiser: its title, its task's words, and prompts."""

from typing import Annotated

from fastapi import Body

from audiosim.service.http.exchange import FreshDep, ServedDep, chapter
from audiosim.service.operations.judging import WRITES, WritingDep
from audiosim.service.types.collections import PromptIn, PromptsOut, TextsIn, TextsOut
from audiosim.service.types.judging import RecordOut

router = chapter("campaign")


@router.get("/collections/{collection}/texts")
def show_texts(one: FreshDep) -> TextsOut:
    """Show the texts of a campaign that may be changed while it runs, and who changed one last."""
    return TextsOut.from_domain(one)


@router.post("/collections/{collection}/texts", **WRITES)
def change_texts(writing: WritingDep, served: ServedDep, said: Annotated[TextsIn, Body()]) -> RecordOut:
    """Change texts of a running campaign: title, question, instructions, consent, language, languages.

    Judgments stay and count as before. The scale and its words cannot be changed. If the consent text changes, people
    are asked again. The log records who changed what, so that every server, a restart and the exports have the same
    texts.
    """
    name, by = writing.one.collection.identifier, writing.caller.name
    return writing.written(served.change_texts(name, said.texts, by, said.reason, writing.key))


@router.get("/collections/{collection}/prompts")
def show_prompts(one: FreshDep) -> PromptsOut:
    """Show the prompts of a collection by query."""
    return PromptsOut.from_domain(one)


@router.post("/collections/{collection}/prompts", **WRITES)
def change_prompt(writing: WritingDep, served: ServedDep, said: Annotated[PromptIn, Body()]) -> RecordOut:
    """Change or add the prompt of a query; judgments stay, and people read the new text from now on.

    To add queries, add runs that answer them.
    """
    name, by = writing.one.collection.identifier, writing.caller.name
    return writing.written(served.change_texts(name, said.texts, by, said.reason, writing.key))
