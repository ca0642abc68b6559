"""Models that organisers trained here or sent as files, kept in the database beside the campaigns."""

import hashlib
import re
from collections.abc import Iterable
from contextlib import suppress

from sqlalchemy import exc

from audiosim.campaign.event import utc_now, write_time
from audiosim.campaign.schema import TablesBeside
from audiosim.campaign.tables import (
    KEPT_MODELS,
    KeptModel,
    campaigns_with_model,
    delete_kept,
    keep_model_row,
    kept_content,
    kept_models,
)
from audiosim.errors import ClosedError, InputError
from audiosim.ordinal.model import Model, load_model, model_names
from audiosim.service.access.tokens import check_new_name
from audiosim.service.collections.campaigns import published_models
from audiosim.service.process.time_limit import sent_file
from audiosim.tables.text import write_text

MOST_MODELS = 200
MOST_BYTES = 2 * 2**20
LONGEST_NAME = 64


class KeptModels:
    """The models that a service keeps, by name; a kept model never changes.

    Each model is also written to a file of this process, because all other code reads models from files.
    """

    def __init__(self, url: str | None) -> None:
        """Open the database; its table is created with the first model.

        url  of the database; None for one that lasts as long as this process
        """
        self._tables = TablesBeside(url, KEPT_MODELS)

    def add(self, content: bytes, by: str, origin: str) -> KeptModel:
        """Keep a model, and return it; a model that is kept already stays unchanged.

        content  of a model file
        """
        model, text = self._parsed(content)
        check_model_name(model.name)
        known = {one.name: one for one in self.all()}
        if model.name in known:
            if known[model.name].version != model.version:
                raise InputError(f"there is another model called {model.name} already: choose another name")
            return known[model.name]
        if len(known) >= MOST_MODELS:
            raise InputError(f"this service keeps {MOST_MODELS} models already, the most that it takes")
        made = KeptModel(model.name, model.version, model.scale, write_time(utc_now()), by, origin)
        try:
            with self._tables.adding() as connection:
                keep_model_row(connection, made, text)
        except exc.IntegrityError:  # another server kept one of this name at the same moment
            return self.add(content, by, origin)
        return made

    def delete(self, name: str, also: Iterable[str] = ()) -> None:
        """Delete a model that no campaign uses; a campaign could not be opened without its model.

        also  collections whose campaigns use it, but have logs outside the database
        """
        self.content(name)
        with self._tables.adding() as connection:
            users = [*campaigns_with_model(connection, name), *also]
            if users:
                raise ClosedError(f"{name} is the model of {', '.join(users)}: choose another model there first")
            delete_kept(connection, name)

    def all(self) -> list[KeptModel]:
        """The kept models, by name."""
        with self._tables.connected() as connection:
            return kept_models(connection)

    def content(self, name: str) -> str:
        """The file of a kept model, as text."""
        with self._tables.connected() as connection, suppress(KeyError):
            return kept_content(connection, name)
        raise InputError(f"this service keeps no model {name!r:.80}")

    def check_there(self, name: str) -> None:
        """Raise an error unless a model is published or kept; an empty name stands for the usual model."""
        if name and not _is_published(name):
            self.content(name)

    def file_of(self, name: str) -> str:
        """Value of `--model` for a model: the name of a published one unchanged, the file of a kept one."""
        if _is_published(name):
            return name
        content = self.content(name)
        plain = re.sub("[^A-Za-z0-9_-]", "_", name[:LONGEST_NAME])
        digest = hashlib.sha256(content.encode()).hexdigest()[:8]  # a deleted model's name may be given to another
        path = self._tables.folder / f"{plain}-{digest}.json"
        if not path.is_file():
            self._tables.make_folder()
            write_text(path, content.splitlines())
        return str(path)

    def _parsed(self, content: bytes) -> tuple[Model, str]:
        """The model of a file, and the file as text."""
        if len(content) > MOST_BYTES:
            raise InputError(f"a model file may have {MOST_BYTES:,} bytes at most, got {len(content):,}")
        with sent_file(content, "model.json") as path:
            return load_model(str(path)), content.decode("utf-8")


def check_model_name(name: str) -> None:
    """Raise an error for a name unfit for a model that a service keeps."""
    check_new_name(name, "a model", LONGEST_NAME)
    if _is_published(name) or name.endswith(".json") or ":" in name:
        raise InputError(f"a model cannot be called {name}: that is the name of another model, a file or an address")


def _is_published(name: str) -> bool:
    return name in published_models() or name in model_names()
