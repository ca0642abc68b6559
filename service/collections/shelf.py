"""Everything that a service serves: collections, some of them open, and models."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from threading import RLock

from audiosim.campaign import MemoryStore, Record, Store
from audiosim.campaign.decisions import check_new, last_choice, reworded
from audiosim.campaign.tables import KeptModel
from audiosim.collection.collection import Collection
from audiosim.collection.folder import file_stamp
from audiosim.errors import InputError
from audiosim.ordinal.model import Model, load_model, model_names
from audiosim.service.access.callers import NotServedError
from audiosim.service.collections.campaigns import CampaignFile, Judging, published_models
from audiosim.service.collections.models import KeptModels
from audiosim.service.collections.open import KEEP_OPEN, THIS_PROCESS, CollectionSource, OpenCollections
from audiosim.service.collections.served import ServedCollection
from audiosim.text import choices, repeated

LOG = logging.getLogger("service")


class Served:
    """Collections and models of a service.

    collections  by name, a limited number of them open
    judging      settings of their campaigns
    models       models by name: the published ones, and those of the collections' model files
    kept_models  models that organisers trained here, or sent
    changing     held while a collection is replaced by a changed one
    """

    def __init__(
        self,
        collections: Sequence[Collection | CollectionSource],
        models: Mapping[str, str],
        judging: Judging | None = None,
        folders: Mapping[str, str | Path] | None = None,
        keep_open: int = KEEP_OPEN,
        may_be_none: bool = False,
        default_model: str | None = None,
    ) -> None:
        """Open everything, or only the first collection if not all may be open at the same time.

        models   as in `--model`, by identifier; others get the default; campaign.toml takes precedence over both
        judging  settings of the campaigns; None: in memory
        folders  folders of the sound files, by identifier
        keep_open  number of collections open at a time
        may_be_none  True if there may be no collection yet
        default_model  as in `--model`, for all collections without their own; None: joint
        """
        names = [collection.identifier for collection in collections]
        _check_names(names, models, may_be_none)
        judging, folders = judging or Judging(), folders or {}

        def made(source: CollectionSource, collection: Collection, store: Store | None) -> ServedCollection:
            settings = CampaignFile.of(source.folder).of_judging(judging).knowing(collection)
            store = settings.store(collection) if store is None else store
            known = records_of(store)
            model, lost = self._model_of(source.identifier, source.folder, last_choice(known)[1])
            return ServedCollection(collection, model, settings, source.folder, store, known, lost)

        sources = [
            CollectionSource.of(one, folders.get(one.identifier)) if isinstance(one, Collection) else one
            for one in collections
        ]
        self.judging, self.default_model, self.changing = judging, default_model, RLock()
        self.kept_models = KeptModels(judging.database)
        self._tried: tuple[ServedCollection, str, ServedCollection] | None = None  # last one tried with another model
        self._given = dict(models)
        self.collections = OpenCollections(sources, made, keep_open, self._basis)
        load = lru_cache(maxsize=None)(load_model)  # many collections may share a model
        every = dict.fromkeys(names, default_model) | dict(models)
        self._files = {name: file for name, file in every.items() if file is not None and file.endswith(".json")}
        self._shipped = {name: load(name) for name in model_names()}
        self._own = {name: load(file) for name, file in self._files.items()}
        self.models = self._models_by_name()
        self.collections.open_now()

    def usual_model(self, name: str, folder: str | Path | None) -> str | None:
        """Model of a collection if its log has no choice, as in `--model`."""
        return CampaignFile.of(folder).model or self._given.get(name, self.default_model)

    def _model_of(self, name: str, folder: str | Path | None, chosen: str) -> tuple[str | None, str]:
        """Model of a collection, and the reason why it is not the chosen one, if so.

        chosen  name in the log; empty: the usual one
        """
        if not chosen:
            return self.usual_model(name, folder), ""
        try:
            return self.kept_models.file_of(chosen), ""
        except InputError as error:  # such as after restoring a log without the models kept beside it
            lost = f"{error}; until its file is sent, {name} is served by its usual model"
            LOG.warning("%s: %s", name, lost)
            return self.usual_model(name, folder), lost

    def tried(self, name: str, model: str) -> tuple[ServedCollection, ServedCollection]:
        """A collection as it is served, and as it would be with another model; only the caller has the second.

        model  name of a published or kept model; empty for the usual one
        """
        with self.collections.held(name) as one:
            tried = self._tried
            if tried is None or tried[:2] != (one, model):
                usual = self.usual_model(name, one.folder)
                tried = one, model, one.by_model(self.kept_models.file_of(model) if model else usual)
                self._tried = tried
        other = tried[2]
        other.campaign.sync()
        return one, other

    def choose_model(self, name: str, model: str, by: str, reason: str = "", key: str = "") -> Record:
        """Serve a collection by another model from now on, and record this in its log; see `tried`.

        Assessors are served by the earlier model until the new one has counted all judgments.
        """
        self.tried(name, model)  # slow, so done first and cached: others may change collections meanwhile
        with self.changing:
            one, other = self.tried(name, model)
            self.kept_models.check_there(model)  # another server may have deleted it after it was tried
            version = other.predictor().version or ""
            record = one.campaign.model_choices.make({"model": model, "version": version}, by, reason, key)
            if not record.replayed:
                self._replace(name, other, record.number)
            return record

    def follow_choice(self, name: str) -> None:
        """Serve a collection by the model chosen in its log, if that is another one."""
        with self.changing, self.collections.held(name) as one:
            if one.stale or one.lost_model:
                line, chosen = last_choice(one.campaign.log())
                self._replace(name, one.by_model(*self._model_of(name, one.folder, chosen)), line)

    def change_texts(self, name: str, texts: Mapping[str, str], by: str, reason: str = "", key: str = "") -> Record:
        """Change texts of a campaign, and record this in its log; see `audiosim.campaign.decisions.reworded`."""
        with self.changing, self.collections.held(name) as one:
            one.campaign.refresh()
            self._show_texts(name, one)
            if not one.campaign.rewording.made(by, key):
                check_new(one.collection, reworded(one.collection, texts))
            record = one.campaign.rewording.make(texts, by, reason, key)
            self._show_texts(name, one)
            return record

    def follow_texts(self, name: str) -> None:
        """Show the texts of a collection as changed in its log."""
        with self.changing, self.collections.held(name) as one:
            self._show_texts(name, one)

    def _show_texts(self, name: str, one: ServedCollection) -> None:
        if one.reworded:
            fresh = one.with_texts()
            if fresh is not one:
                fresh.stamp = one.stamp
                self.collections.put(name, fresh)

    def keep_model(self, content: bytes, by: str, origin: str) -> KeptModel:
        """Keep a model, and use it for collections that chose it before it was here; see `KeptModels.add`."""
        kept = self.kept_models.add(content, by, origin)
        for name, one in self.collections.open.items():
            if one.lost_model:
                self.follow_choice(name)
        return kept

    def delete_model(self, model: str) -> None:
        """Delete a kept model; an error if a campaign uses it."""
        with self.changing:
            self.kept_models.delete(model, self._users_in_memory(model))
            self._tried = None

    def _users_in_memory(self, model: str) -> list[str]:
        """Collections with a log in memory whose last choice was this model."""
        logs = {name: store for name, store in self.collections.logs().items() if isinstance(store, MemoryStore)}
        chosen = {name: last_choice(records_of(store))[1] for name, store in logs.items()}
        return [name for name in self.collections.names if chosen.get(name) == model]

    def _replace(self, name: str, fresh: ServedCollection, line: int) -> None:
        """Serve a collection in place of the open one, once it has counted the whole log.

        line  line of the log that chose its model
        """
        fresh.campaign.sync()
        fresh.chosen, self._tried = line, None
        if fresh.reworded:  # changed since it was tried
            fresh = fresh.with_texts()
        self.collections.put(name, fresh)

    def _basis(self, source: CollectionSource) -> str:
        """Digest of everything that a collection would be opened from now; campaign.toml is part of its folder."""
        model = self._given.get(source.identifier, self.default_model)
        settings = [self.judging.measure or "", model or ""]
        if model is not None and model.endswith(".json"):
            settings.append(file_stamp(model))
        elif model is not None and model not in published_models():  # such as another service's, whose model may change
            settings.append(THIS_PROCESS)
        return source.basis(" ".join(settings), self.judging.database_file)

    def _models_by_name(self) -> dict[str, Model]:
        return self._shipped | {model.name: model for model in self._own.values()}

    def prove(self, collection: Collection, folder: Path) -> None:
        """Raise an error if a collection in a folder could not be served, as when its model is for another scale."""
        own = CampaignFile.of(folder)
        judging = replace(own.of_judging(self.judging), database=None)
        ServedCollection(collection, own.model or self.default_model, judging, folder)

    def add(self, source: CollectionSource, prepare: Callable[[ServedCollection], object]) -> None:
        """Serve a further collection, with the default model or its own, after calling `prepare` with it."""
        if self.default_model is not None and self.default_model.endswith(".json"):
            self._own[source.identifier] = load_model(self.default_model)
            self._files[source.identifier] = self.default_model
            self.models = self._models_by_name()
        self.collections.add(source, prepare)

    def reload(self, name: str) -> ServedCollection:
        """Serve a collection by the current contents of its model file; an invalid file changes nothing."""
        with self.collections.held(name) as one:
            own = {name: load_model(self._files[name])} if name in self._files else {}
            fresh = one.by_model(one.model, one.lost_model)
            self._own |= own
            self.models = self._models_by_name()
            self.collections.put(name, fresh)
            return fresh

    def collection(self, name: str) -> ServedCollection:
        """The collection with a name, opened if need be."""
        return self.collections.get(name)

    def model(self, name: str) -> Model:
        """The model with a name, including its scale."""
        if name not in self.models:
            raise NotServedError(f"unknown model {name!r}, expected one of {choices(name, self.models)}")
        return self.models[name]


def records_of(store: Store) -> list[Record]:
    """The lines of a log."""
    return [Record(number, event) for number, event in store.read()]


def _check_names(names: Sequence[str], models: Mapping[str, str], may_be_none: bool) -> None:
    if not names and not may_be_none:
        raise InputError("there is no collection to serve")
    if (twice := repeated(names)) is not None:
        raise InputError(f"two collections are called {twice}; a collection is served under its folder's name")
    for name in models:
        if name not in names:
            raise InputError(f"a model is given for collection {name!r}, which is not among {', '.join(names)}")
