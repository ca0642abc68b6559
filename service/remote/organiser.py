"""An organiser's requests about a campaign: on its model, its texts, and disputed pairs; see `audiosim.Client`."""

import time
from collections.abc import Callable
from typing import Any

import msgspec

from audiosim.errors import InputError
from audiosim.service.campaigns.training_store import DONE, RUNNING
from audiosim.service.remote.address import path_of
from audiosim.service.remote.transport import Transport, checked_body, new_key
from audiosim.service.wire.judge_types import AdjudicationIn, AdjudicationsOut
from audiosim.service.wire.judgment_types import RecordOut
from audiosim.service.wire.model_types import (
    KeptModelOut,
    ModelChoiceOut,
    ModelEffectOut,
    ModelIn,
    ModelTrainingOut,
    ModelTrainingsOut,
    TrainingIn,
)
from audiosim.service.wire.text_types import PromptIn, PromptsOut, TextsIn, TextsOut

POLL_S = 0.5


class Organiser:
    """An organiser's requests, over the connection of a client, as `client.organiser`."""

    def __init__(self, there: Transport) -> None:
        self._there = there

    def model_choice(self, collection: str) -> ModelChoiceOut:
        """The model of a campaign, who chose it, and the models to choose from."""
        return self._there.get(path_of(collection, "model"), ModelChoiceOut)

    def model_effect(self, collection: str, model: str = "") -> ModelEffectOut:
        """The ranking by another model from the same judgments, beside the present one; empty: the usual model."""
        return self._there.get(path_of(collection, "model-effect"), ModelEffectOut, {"model": model})

    def choose_model(self, collection: str, model: str, reason: str = "", *, key: str | None = None) -> RecordOut:
        """Choose another model for a running campaign; see `model_effect` first. Empty: the usual model."""
        path, body = path_of(collection, "model"), msgspec.json.encode(ModelIn(model, reason))
        return self._there.ask("POST", path, RecordOut, {}, body, key or new_key())

    def add_model(self, collection: str, content: str | bytes) -> KeptModelOut:
        """Send the content of a model file; the service keeps the model for all collections of its scale."""
        body = content.encode() if isinstance(content, str) else content
        return self._there.ask("POST", path_of(collection, "models"), KeptModelOut, {}, body)

    def delete_model(self, collection: str, name: str) -> None:
        """Delete a kept model; the service refuses if a campaign uses it."""
        self._there.delete(path_of(collection, "models"), {"name": name})

    def train(
        self,
        collection: str,
        name: str,
        features: str = "joint",
        *,
        progress: Callable[[ModelTrainingOut], object] = id,
        **more: Any,
    ) -> ModelTrainingOut:
        """Train a model on the judgments so far and wait for it; the service keeps it under its name.

        progress  called repeatedly with the progress
        more      folds, eliminate, others, as in `TrainingIn`
        """
        body = msgspec.json.encode(checked_body(TrainingIn, {"name": name, "features": features, **more}))
        path = path_of(collection, "trainings")
        now = self._there.ask("POST", path, ModelTrainingOut, {}, body)
        while now.status == RUNNING:
            progress(now)
            time.sleep(POLL_S)
            found = self._there.get(path, ModelTrainingsOut).training
            if found is None or found.began != now.began:
                raise InputError(f"{self._there.url} has another training under way: {name} was cancelled")
            now = found
        if now.status != DONE:
            raise InputError(f"{self._there.url}: {name} was not trained: {now.problem or now.status}")
        return now

    def texts(self, collection: str) -> TextsOut:
        """The texts of a campaign that may be changed while it runs."""
        return self._there.get(path_of(collection, "texts"), TextsOut)

    def change_texts(self, collection: str, *, reason: str = "", key: str | None = None, **texts: str) -> RecordOut:
        """Change texts of a running campaign: title, question, instructions, consent, language, languages.

        Judgments stay; a new consent text is put to everybody again.
        """
        body = msgspec.json.encode(checked_body(TextsIn, {**texts, "reason": reason}))
        return self._there.ask("POST", path_of(collection, "texts"), RecordOut, {}, body, key or new_key())

    def prompts(self, collection: str) -> PromptsOut:
        """The queries of a collection, and their prompts."""
        return self._there.get(path_of(collection, "prompts"), PromptsOut)

    def change_prompt(
        self, collection: str, query: str, prompt: str, reason: str = "", *, key: str | None = None
    ) -> RecordOut:
        """Change or add the prompt of a query during a campaign."""
        body = msgspec.json.encode(PromptIn(query, prompt, reason))
        return self._there.ask("POST", path_of(collection, "prompts"), RecordOut, {}, body, key or new_key())

    def adjudications(self, collection: str) -> AdjudicationsOut:
        """Pairs that organisers gave to particular people: those still open, and the decisions."""
        return self._there.get(path_of(collection, "adjudications"), AdjudicationsOut)

    def ask_adjudication(self, collection: str, query: str, document: str, assessor: str) -> RecordOut:
        """Put a pair first in a person's queue, as "Ask..." on the organiser's page does; see `adjudications`."""
        body = msgspec.json.encode(AdjudicationIn(query, document, assessor))
        return self._there.ask("POST", path_of(collection, "adjudications"), RecordOut, {}, body)
