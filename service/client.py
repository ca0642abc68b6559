"""A typed client of the service."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from audiosim.collection.values import Pair
from audiosim.errors import InputError
from audiosim.service.collections.imports import ENDED, FAILED
from audiosim.service.collections.trainings import DONE, RUNNING
from audiosim.service.transport import AS_JSON, COLLECTIONS, Transport, checked_body, new_key, path_of, query_of
from audiosim.service.types.answer_checks import LONGEST_S, MOST_BYTES
from audiosim.service.types.campaign import CampaignOut, ImportOut, RankingOut, ResultsOut
from audiosim.service.types.collections import DocumentIn, DocumentOut, PromptIn, PromptsOut, RunsOut, TextsIn, TextsOut
from audiosim.service.types.judging import (
    ComparisonIn,
    JudgmentIn,
    NextComparisonsIn,
    NextComparisonsOut,
    NextIn,
    NextOut,
    RecordOut,
    UndoIn,
)
from audiosim.service.types.models import (
    KeptModelOut,
    ModelChoiceOut,
    ModelEffectOut,
    ModelIn,
    ModelTrainingOut,
    ModelTrainingsOut,
    TrainingIn,
)
from audiosim.service.types.people import AdjudicationIn, AdjudicationsOut, NamedJudgeIn
from audiosim.service.types.predictions import (
    CollectionOut,
    FeaturesIn,
    JudgmentsIn,
    ModelOut,
    PredictionsIn,
    PredictionsOut,
    PriorIn,
    ScaleOut,
)

# An organiser's requests about a campaign: on its model, its texts, and disputed pairs; see `audiosim.Client`.


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
        return self._there.tell(path_of(collection, "model"), ModelIn(model, reason), key)

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
        path, asked = path_of(collection, "trainings"), {"name": name, "features": features, **more}
        now = self._there.post(path, ModelTrainingOut, checked_body(TrainingIn, asked))
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
        return self._there.tell(path_of(collection, "texts"), checked_body(TextsIn, {**texts, "reason": reason}), key)

    def prompts(self, collection: str) -> PromptsOut:
        """The queries of a collection, and their prompts."""
        return self._there.get(path_of(collection, "prompts"), PromptsOut)

    def change_prompt(
        self, collection: str, query: str, prompt: str, reason: str = "", *, key: str | None = None
    ) -> RecordOut:
        """Change or add the prompt of a query during a campaign."""
        return self._there.tell(path_of(collection, "prompts"), PromptIn(query, prompt, reason), key)

    def adjudications(self, collection: str) -> AdjudicationsOut:
        """Pairs that organisers gave to particular people: those still open, and the decisions."""
        return self._there.get(path_of(collection, "adjudications"), AdjudicationsOut)

    def ask_adjudication(self, collection: str, query: str, document: str, assessor: str) -> RecordOut:
        """Put a pair first in a person's queue, as "Ask..." on the organiser's page does; see `adjudications`."""
        return self._there.post(
            path_of(collection, "adjudications"), RecordOut, AdjudicationIn(query, document, assessor)
        )


BATCH = 10_000
Answer = TypeVar("Answer")


class Client:
    """Client of a service; its connection stays open until `close`, or the end of a `with`.

    Each write carries its own key, so every request is safe to repeat: the client retries if a connection fails or
    the service is busy. Raises InputError if the service refuses a request, ServiceError if it is unreachable or its
    answer is invalid.

    url         root of the service, such as http://127.0.0.1:8000
    timeout_s   longest wait for an answer to begin, and between its parts
    token       from `audiosim token`; None: AUDIOSIM_TOKEN, but only for this machine and for AUDIOSIM_TOKEN_HOST
    longest_s   limit for receiving one answer
    most_bytes  limit for one answer
    """

    def __init__(
        self,
        url: str,
        timeout_s: float = 60.0,
        token: str | None = None,
        *,
        longest_s: float = LONGEST_S,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._there = Transport(url, timeout_s, token, longest_s, most_bytes)
        self.organiser = Organiser(self._there)

    @property
    def url(self) -> str:
        """Root of the service."""
        return self._there.url

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._there.close()

    def models(self) -> list[ModelOut]:
        """The models that are served."""
        return self._there.get("/v1/models", list[ModelOut])

    def model(self, name: str) -> ModelOut:
        """One model, such as "mout-fine"."""
        return self._there.get(f"/v1/models/{quote(name, safe='')}", ModelOut)

    def collections(self) -> list[CollectionOut]:
        """The collections that are served."""
        return self._there.get(COLLECTIONS, list[CollectionOut])

    def collection(self, name: str, model: str | None = None, cutoff: int | None = None) -> CollectionOut:
        """One collection, for a model and a cutoff; by default its own."""
        return self._there.get(path_of(name), CollectionOut, query_of(model=model, cutoff=cutoff))

    def scales(self) -> list[ScaleOut]:
        """The scales of the collections, each with its levels, listed once."""
        return self._there.get("/v1/scales", list[ScaleOut])

    def predict(
        self,
        collection: str,
        pairs: Sequence[tuple[str, str]],
        *,
        grades: Mapping[Pair, float] | None = None,
        probabilities: bool = False,
        covariance: bool = False,
        model: str | None = None,
        cutoff: int | None = None,
    ) -> PredictionsOut:
        """Predictions for pairs of a collection, row by row.

        pairs          query and document of each
        grades         predict as if exactly these judgments had been made; None for those of the service
        probabilities  True to include the probabilities of the levels
        covariance     True to include the covariance of the grades, for at most 1,000 pairs
        model, cutoff  default: the collection's
        """
        asked = PredictionsIn.from_domain(pairs, grades, probabilities, covariance)
        return self._there.post(
            path_of(collection, "predictions"), PredictionsOut, asked, query_of(model=model, cutoff=cutoff)
        )

    def prior(
        self,
        collection: str,
        learned: Mapping[Pair, float] | None = None,
        *,
        model: str | None = None,
        cutoff: int | None = None,
    ) -> bytes:
        """File with the belief about pairs before any judgment, in the format of `audiosim.service.types.prior_file`.

        learned        judgments from which the model learns first
        model, cutoff  default: the collection's
        """
        asked = PriorIn(None if learned is None else JudgmentsIn.from_domain(learned))
        query, content = query_of(model=model, cutoff=cutoff), msgspec.json.encode(asked)
        return self._there.send("POST", path_of(collection, "prior"), params=query, content=content, headers=AS_JSON)

    def predict_features(
        self, model: str, features: Mapping[str, Sequence[float | None]], *, probabilities: bool = False
    ) -> PredictionsOut:
        """Predictions of a model such as "mout-fine" from rows of features, in named columns; None is unknown."""
        asked = FeaturesIn.from_domain(features, probabilities)
        return self._there.post(f"/v1/models/{quote(model, safe='')}/predictions", PredictionsOut, asked)

    def next(self, collection: str, count: int = 1, *, assessor: str | None = None, by_query: bool = False) -> NextOut:
        """Pairs to judge, leased to the assessor for a time.

        assessor  not needed if the token identifies them
        by_query  True for pairs of as few queries as possible
        """
        return self._there.post(path_of(collection, "next"), NextOut, NextIn(assessor, count, by_query))

    def judge(
        self,
        collection: str,
        query: str,
        document: str,
        *,
        fine: float | None = None,
        broad: float | None = None,
        grade: float | None = None,
        assessor: str | None = None,
        key: str | None = None,
        **more: Any,
    ) -> RecordOut:
        """Record how relevant a document is to a query; when this returns, the judgment is safely stored.

        grade  on the collection's scale
        key    key of this judgment, so that sending it again changes nothing; None: a new one
        more   `query_played_s` and `document_played_s`, without which the answer may be marked as rushed, `seconds`,
               `note` and so on, as in `JudgmentIn`
        """
        said = {"fine": fine, "broad": broad, "grade": grade, "assessor": assessor} | more
        answer = checked_body(JudgmentIn, {"query": query, "document": document} | said)
        return self._there.tell(path_of(collection, "judgments"), answer, key)

    def cannot(
        self,
        collection: str,
        query: str,
        document: str,
        reason: str,
        *,
        assessor: str | None = None,
        key: str | None = None,
    ) -> RecordOut:
        """Record that a pair cannot be judged, and why."""
        return self.judge(collection, query, document, cannot=reason, assessor=assessor, key=key)

    def next_comparisons(self, collection: str, count: int = 1, *, assessor: str | None = None) -> NextComparisonsOut:
        """The comparisons to answer next, if they give more information per minute than grades."""
        asked = checked_body(NextComparisonsIn, {"assessor": assessor, "count": count})
        return self._there.post(path_of(collection, "comparisons", "next"), NextComparisonsOut, asked)

    def compare(
        self,
        collection: str,
        query: str,
        document_a: str,
        document_b: str,
        answer: str,
        *,
        assessor: str | None = None,
        key: str | None = None,
        **more: Any,
    ) -> RecordOut:
        """Record which of two documents is closer to the query: "a", "b", or "=" for neither.

        more  seconds, query_played_s, a_played_s, b_played_s, time, note
        """
        named = {"query": query, "document_a": document_a, "document_b": document_b, "answer": answer}
        said = checked_body(ComparisonIn, {**named, "assessor": assessor, **more})
        return self._there.tell(path_of(collection, "comparisons"), said, key)

    def comparisons(self, collection: str) -> Iterator[str]:
        """The lines of a comparisons.tsv with the comparisons in force, as they arrive."""
        return self._there.lines(path_of(collection, "comparisons"), {})

    def undo(
        self, collection: str, number: int | None = None, *, assessor: str | None = None, key: str | None = None
    ) -> RecordOut:
        """Withdraw an answer: by its number, or the assessor's last."""
        return self._there.tell(path_of(collection, "undo"), UndoIn(assessor, number), key)

    def set_aside(self, collection: str, judge: str, reason: str = "", *, key: str | None = None) -> RecordOut:
        """Ignore a person's past and future answers, until `take_back`."""
        return self._there.tell(path_of(collection, "set-aside"), NamedJudgeIn(judge, reason), key)

    def take_back(self, collection: str, judge: str, reason: str = "", *, key: str | None = None) -> RecordOut:
        """Count the answers of a person again, after `set_aside`."""
        return self._there.tell(path_of(collection, "take-back"), NamedJudgeIn(judge, reason), key)

    def ranking(self, collection: str, measure: str | None = None) -> RankingOut:
        """The systems ranked from the judgments so far, by a measure such as "nDCG@5"; None: the campaign's."""
        return self._there.get(path_of(collection, "ranking"), RankingOut, query_of(measure=measure))

    def results(self, collection: str) -> ResultsOut:
        """The ranking and the progress of judging: everything that a link to the results shows."""
        return self._there.get(path_of(collection, "results"), ResultsOut)

    def campaign(self, collection: str) -> CampaignOut:
        """Progress of the judging of a collection."""
        return self._there.get(path_of(collection, "campaign"), CampaignOut)

    def export(self, collection: str, form: str = "csv") -> Iterator[str]:
        """The lines of a file with the judgments in force, as they arrive.

        form  csv, qrels, jsonl, or log for all events
        """
        return self._there.lines(path_of(collection, "judgments"), {"format": form})

    def import_judgments(
        self,
        collection: str,
        text: str | bytes,
        *,
        key: str | None = None,
        progress: Callable[[ImportOut], object] = id,
    ) -> ImportOut:
        """Import the text of a file of judgments, in any form that a collection's folder may have: all or nothing.

        progress  called repeatedly with the progress; judgments already taken stay safe if this is interrupted
        """
        return self._imported(collection, "judgments", text, key, progress)

    def import_comparisons(
        self,
        collection: str,
        text: str | bytes,
        *,
        key: str | None = None,
        progress: Callable[[ImportOut], object] = id,
    ) -> ImportOut:
        """Import the text of a comparisons.tsv: all or nothing.

        progress  as for `import_judgments`
        """
        return self._imported(collection, "comparisons", text, key, progress)

    def _imported(
        self, collection: str, kind: str, text: str | bytes, key: str | None, progress: Callable[[ImportOut], object]
    ) -> ImportOut:
        key, path = key or new_key(), path_of(collection, kind, "import")
        now = self._there.ask("POST", path, ImportOut, {}, text.encode() if isinstance(text, str) else text, key)
        while now.status not in ENDED:
            progress(now)
            time.sleep(POLL_S)
            now = self._there.get(path_of(collection, "imports", str(now.number)), ImportOut)
        if now.status == FAILED:
            raise InputError(f"{self.url} refuses: {now.problem}")
        return now

    def add_runs(
        self,
        collection: str,
        text: str,
        *,
        system: str | None = None,
        team: str | None = None,
        replace: bool = False,
        partial: bool = False,
        key: str | None = None,
    ) -> RunsOut:
        """Send the text of a file of runs, for new systems or in place of earlier runs.

        system   its name, if the file holds one run
        team     team of the systems
        replace  allows a run to replace one with many more queries
        partial  allows runs with fewer than 90 % of the queries
        key      key of this file, so that sending it again changes nothing; None: a new one
        """
        flags = {"replace": "true" if replace else None, "partial": "true" if partial else None}
        query = query_of(system=system, team=team, **flags)
        path, key = path_of(collection, "runs"), key or new_key()
        return self._there.ask("POST", path, RunsOut, query, text.encode(), key, "text/plain")

    def add_document(
        self,
        collection: str,
        document: str,
        *,
        artist: str | None = None,
        genre: str | None = None,
        sound: bytes | None = None,
        media_type: str = "application/octet-stream",
        **more: str,
    ) -> DocumentOut:
        """Send a recording's metadata, and its sound if given; its relevance to any query is then predicted.

        sound, media_type  the bytes of its file, and their kind, such as audio/mpeg
        more               further columns; only without sound
        """
        known, path = query_of(document=document, artist=artist, genre=genre), path_of(collection, "documents")
        if sound is None:
            return self._there.post(path, DocumentOut, checked_body(DocumentIn, {**known, "more": more}))
        if more:
            raise InputError(f"further columns are sent without sound, got {', '.join(more)}")
        return self._there.ask("POST", path, DocumentOut, known, sound, None, media_type)
