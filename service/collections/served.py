"""Contents of a service: collections with their campaigns, and models; results are computed once and cached."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from threading import Lock

from audiosim.campaign import DatabaseStore, Record, Store
from audiosim.campaign.decisions import last_choice, reworded_by
from audiosim.campaign.reader import judged_aspects, judgments_after
from audiosim.collection.arrivals import Stamp, arrivals_stamp
from audiosim.collection.aspects import MEAN, Aspects
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import Judgment, Pair, PairedComparison, grades_by_assessor
from audiosim.errors import InputError
from audiosim.joint.estimators import JOINT, after_judgments, hearing, make_estimator
from audiosim.joint.people import Panel
from audiosim.joint.predictions import Known
from audiosim.measures.measure import Measure, as_measure
from audiosim.ordinal.model import model_names
from audiosim.ranking.about import About
from audiosim.ranking.expected import expected_scores
from audiosim.ranking.verdicts import Verdicts
from audiosim.results.value import cached_property
from audiosim.service.access.callers import NotServedError
from audiosim.service.collections.aliases import Aliases, Called, by_name
from audiosim.service.collections.campaigns import Judging, published_models
from audiosim.service.collections.predictions import Predictor
from audiosim.service.collections.questions import Questions
from audiosim.service.collections.ranking import GroundedRanking
from audiosim.service.collections.sounds import Sounds
from audiosim.text import choices

KEPT = 8
FEW = 4  # rankings with their bases; they are large
DEEPEST_CUTOFF = 1000
REMOTE = "remote:"  # prefix of the model of another service
MOST_BEYOND = 500  # unretrieved pairs per request


class ServedCollection:
    """A collection, its campaign, and a predictor for each requested model and cutoff.

    The default cutoff is that of the campaign's measure.

    collection  as loaded
    model       as in `--model`; None for joint
    judging     settings of its campaign
    folder      folder of its sound files, or None
    store       log of its campaign; None: according to `judging`
    known       first lines of the log, as for `Campaign`
    lost_model  reason why the model is not the one chosen in the log; empty if it is
    """

    def __init__(
        self,
        collection: Collection,
        model: str | None,
        judging: Judging,
        folder: str | Path | None = None,
        store: Store | None = None,
        known: Iterable[Record] = (),
        lost_model: str = "",
    ) -> None:
        known = list(known)
        collection, self.worded = reworded_by(collection, known)  # with the texts in the log, up to that line
        self.collection, self.judging, self._known = collection, judging, Known(collection)
        self.chosen = last_choice(known)[0]  # line of the log that chose this model; 0: none
        self.stamp: Stamp = () if folder is None else arrivals_stamp(folder)  # stamp of the folder at the last check
        self.basis = ""  # digest of everything it was opened from; empty if that has changed since
        self.folder = folder
        self.sounds = self._sounds_of(collection)
        self.questions = Questions.of(collection, judging.questions)
        self.store = judging.store(collection) if store is None else store
        self.model, self.lost_model = JOINT if model is None else model, lost_model
        cutoff = judging.measure_of(collection).cutoff
        pool = build_pool(collection, cutoff)
        pool = pool.beside(judgments_after(known, collection)) if known else pool
        self.mute, self.coverage = self.sounds.mute(pool.pairs), self.sounds.coverage(pool.pairs)
        estimator = make_estimator(pool, self.model)
        self.campaign = judging.open(collection, estimator, self.store, self.mute, known, pool)
        self.listen_s = judging.listen(self.store, bool(self.sounds))
        self._making, self._ranking = Lock(), Lock()
        self._pool = lru_cache(maxsize=KEPT)(lambda cutoff: build_pool(self.collection, cutoff))
        self._predictors = lru_cache(maxsize=KEPT)(self._make_predictor)
        self._beyond = lru_cache(maxsize=KEPT)(self._make_beyond)
        self._grounded = lru_cache(maxsize=FEW)(self._rank)
        self._grounded_by_aspect = lru_cache(maxsize=FEW)(self._rank_by_aspect)
        self._cutoff = cutoff
        self._first = Predictor(self.campaign.selection.pool, estimator, self.campaign, leads=True)

    def joined_by(self, collection: Collection) -> "ServedCollection":
        """The same campaign with changed runs; its judgments stay in the log."""
        return self._opened_with(collection, self.model, self.lost_model)

    def by_model(self, model: str | None, lost_model: str = "") -> "ServedCollection":
        """The same collection and campaign with another model, which counts all judgments from the first."""
        fresh = self._opened_with(self.collection, model, lost_model)
        fresh.stamp, fresh.basis = self.stamp, self.basis
        return fresh

    def _opened_with(self, collection: Collection, model: str | None, lost_model: str) -> "ServedCollection":
        # Its log may describe the collection as it was before its additions, so it is adopted.
        judging = replace(self.judging, settings=replace(self.judging.settings, adopt=True))
        fresh = ServedCollection(
            collection, model, judging, self.folder, self.store, self.campaign.log(), lost_model=lost_model
        )
        fresh.judging, fresh.chosen = self.judging, self.chosen
        return fresh

    @property
    def stale(self) -> bool:
        """True if the log has chosen another model since this collection was opened."""
        return self.campaign.model_choices.line != self.chosen

    @property
    def reworded(self) -> bool:
        """True if the log has changes of texts that are not shown yet."""
        return self.campaign.rewording.line != self.worded

    def with_texts(self) -> "ServedCollection":
        """The collection with the texts in its log; a new object if a prompt decides which pairs can be judged."""
        records = [record for record in self.campaign.log() if record.number > self.worded]
        collection, line = reworded_by(self.collection, records)
        if self._sounds_of(collection).mute(self.campaign.selection.pool.pairs) != self.mute:
            return self.joined_by(collection)
        self.take_in(collection)
        self.questions, self.worded = Questions.of(collection, self.judging.questions), line or self.worded
        return self

    @cached_property
    def aliases(self) -> Aliases:
        """Aliases of everything that assessors may be given."""
        pool, task = self.campaign.selection.pool, self.collection.assessor_task
        lessons = () if task is None else task.table.training
        asked = {*pool.queries, *(one.query for one in lessons)}
        found = {*(pair.document for pair in pool.pairs), *(one.document for one in lessons)}
        names = asked | found | {self.collection.query_document(query) for query in asked}
        kept = (self.store.secret(),) if isinstance(self.store, DatabaseStore) else ()
        return Aliases(names, self.collection.identifier, *kept)

    def called(self, role: str) -> Called:
        """Names of queries and documents for callers with a role: assessors must not know what they hear."""
        return self.aliases.of if role == "assessor" else by_name

    def meant(self, role: str, said: str) -> str | None:
        """Name of a query or document in a caller's request; assessors may use only aliases, else None."""
        return self.aliases.name(said) if role == "assessor" else said

    def retrieves(self, document: str) -> bool:
        """True if a system retrieved a document at any depth, or if it is a query."""
        runs, asked = self.collection.runs, self.collection.query_document
        return any(
            document in ranking or asked(query) == document for run in runs for query, ranking in run.rankings.items()
        )

    def take_in(self, collection: Collection) -> None:
        """Take over new metadata of unretrieved documents, or new texts; neither changes anything for pairs."""
        with self._making:
            self.collection, self.sounds = collection, self._sounds_of(collection)
            self._beyond.cache_clear()
            self._known = Known(collection)

    def _sounds_of(self, collection: Collection) -> Sounds:
        return Sounds(collection, self.folder, self.judging.sounds, self.judging.database_file)

    def predictor(self, model: str | None = None, cutoff: int | None = None) -> Predictor:
        """The predictor for a model and a cutoff; by default those of the campaign.

        model  a published model, with or without its scale, `uniform`, or the collection's own
        """
        name = self._name(model)
        cutoff = self._cutoff if cutoff is None else cutoff
        if (name, cutoff) == (self.model, self._cutoff):
            return self._first
        with self._making:
            return self._predictors(name, cutoff)

    def _name(self, model: str | None) -> str:
        return self.model if model in {None, self.model, self._first.name} else _published(str(model))

    def beyond(self, predictor: Predictor, pairs: Sequence[Pair], model: str | None) -> Predictor | None:
        """A predictor that also covers the known ones among some unretrieved pairs.

        predictor  predictor of the model

        Returns None if none is known, or for a model of another service, which predicts only pairs of a pool. The
        predictor costs as much as opening a collection, so the number of such pairs is limited.
        """
        if self._name(model).startswith(REMOTE):
            return None
        more = self._known.among(pair for pair in pairs if pair not in predictor.pool.positions)
        if len(more) > MOST_BEYOND:
            raise InputError(
                f"a request may have at most {MOST_BEYOND} pairs that no system retrieved, got {len(more)}"
            )
        if not more:
            return None
        with self._making:
            return self._beyond(self._name(model), predictor, more)

    def _make_beyond(self, model: str, predictor: Predictor, more: tuple[Pair, ...]) -> Predictor:
        pool = build_pool(self.collection, predictor.pool.cutoff, more)
        return Predictor(pool, make_estimator(pool, model), self.campaign, within=predictor)

    def verdicts(self, text: str | None = None, about: About | None = None, aspect: str = "") -> tuple[int, Verdicts]:
        """The number of the state of the judgments, and the results of `audiosim estimate` for it.

        text    a measure, such as nDCG@5; None for the campaign's, with the campaign's settings
        about   subject of the statement; None: the subject of the campaign's ranking
        aspect  aspect to rank by; empty for the mean of all, the campaign's subject
        """
        number, grounded = self.grounded(text, aspect)
        return number, grounded.verdicts(about or self.campaign.selection.about)

    def grounded(self, text: str | None = None, aspect: str = "") -> tuple[int, GroundedRanking]:
        """The number of the state of the judgments, and the ranking for it with its basis; see `verdicts`."""
        measure = self.measure(text)
        self.campaign.refresh()
        number, selection = self.campaign.current_state
        if aspect not in ("", MEAN):
            with self._ranking:
                number, aspects = self.judged_by_aspect(aspect)
                compared = self.campaign.comparisons.in_force()[1]
                return number, self._grounded_by_aspect(measure, tuple(aspects.parts.items()), compared, aspect)
        if aspect and self.collection.aspects is None:
            self.collection.by_aspect(aspect)  # raises
        if measure == selection.measure:
            return number, GroundedRanking.of_selection(selection)
        with self._ranking:  # one at a time: this may take seconds, and the next request may be for the same
            number, judgments = self.campaign.snapshot()
            return number, self._grounded(measure, judgments, self.campaign.comparisons.in_force()[1])

    def judged_by_aspect(self, aspect: str) -> tuple[int, Aspects]:
        """Number of the log's last line, and the judgments in force after it, seen by an aspect."""
        aspects = self.collection.by_aspect(aspect).aspects
        assert aspects is not None
        log = self.campaign.log()
        return log[-1].number if log else 0, judged_aspects(log, aspects)

    def grades_by_person(self, pairs: Sequence[Pair], aspect: str = "") -> dict[Pair, dict[str, float]]:
        """The grades in force of some pairs, by person; see `verdicts`."""
        of_one = aspect not in ("", MEAN)
        judged = self.judged_by_aspect(aspect)[1] if of_one else self.campaign.judgments()
        wanted = set(pairs)
        found = grades_by_assessor(judgment for judgment in judged if judgment.pair in wanted)
        return {pair: found.get(pair, {}) for pair in pairs}

    def measure(self, text: str | None = None) -> Measure:
        """The measure with a name, if its cutoff is allowed here; None for the campaign's."""
        measure = self.campaign.selection.measure if text is None else as_measure(text, self.collection.cutoff)
        if measure.cutoff > DEEPEST_CUTOFF:
            raise InputError(f"the cutoff of a measure may be {DEEPEST_CUTOFF} here, got {measure.cutoff}")
        return measure

    def _rank(
        self, measure: Measure, judgments: tuple[Judgment, ...], _: tuple[PairedComparison, ...]
    ) -> GroundedRanking:
        """Ranking after judgments and comparisons; the predictor already has the campaign's comparisons."""
        predictor = self.predictor(None, measure.cutoff)
        learned = hearing(predictor.learned(judgments).plain, Panel.of(predictor.pool, judgments))
        expected = expected_scores(measure, predictor.pool.beside(judgments))
        return GroundedRanking.of_pool(expected, learned, judgments, self.campaign.selection.distribution)

    def _rank_by_aspect(
        self,
        measure: Measure,
        judged: tuple[tuple[str, tuple[Judgment, ...]], ...],
        comparisons: tuple[PairedComparison, ...],
        aspect: str,
    ) -> GroundedRanking:
        """Ranking by one aspect, from the campaign's log, as the commands compute it with `--aspect`."""
        assert self.collection.aspects is not None
        aspects = Aspects(self.collection.aspects.scale, dict(judged), aspect)
        own = replace(self.collection, judgments=aspects, scale=aspects.seen_on, comparisons=comparisons)
        pool = build_pool(own, measure.cutoff)
        learned = after_judgments(pool, make_estimator(pool, self.model), own.judgments)
        distribution = self.campaign.selection.distribution
        return GroundedRanking.of_pool(expected_scores(measure, pool), learned, own.judgments, distribution)

    def _make_predictor(self, model: str, cutoff: int) -> Predictor:
        pool = self._pool(cutoff)
        return Predictor(pool, make_estimator(pool, model), self.campaign)


def _published(name: str) -> str:
    """The name, checked to be one that callers may use: never a file, never an address."""
    if name not in (known := published_models()) and name not in model_names():
        raise NotServedError(f"unknown model {name!r}, expected one of {choices(name, known)}")
    return name
