"""Models that organisers trained here or sent as files, kept in the database beside the campaigns."""

import hashlib
import re
import secrets
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from weakref import finalize

import sqlalchemy as sql
from sqlalchemy import exc

from audiosim.campaign.engine import open_engine, reporting
from audiosim.campaign.event import utc_now, write_time
from audiosim.campaign.schema import locked
from audiosim.campaign.tables import KEPT_MODELS
from audiosim.corpus.lines import write_text
from audiosim.errors import FormatError, InputError
from audiosim.relevance.model_files import Model, load_model, model_names
from audiosim.service.campaigns.campaign_file import published_models

TIMEOUT_S = 2.0
MOST_MODELS = 200
MOST_BYTES = 2 * 2**20
LONGEST_NAME = 64
ALL_BUT_CONTENT = [column for column in KEPT_MODELS.c if column.name != "content"]


@dataclass(frozen=True, slots=True)
class KeptModel:
    """A model kept by a service.

    origin  where it comes from, in words
    """

    name: str
    version: str
    scale: str
    time: str
    by: str
    origin: str


class KeptModels:
    """The models that a service keeps, by name; a name is used once and its model never changes.

    A kept model also lies in a file of this process, because everything else takes models by their files.
    """

    def __init__(self, url: str | None) -> None:
        """Open the database; its table is made with the first model.

        url  of the database; None for one that lasts as long as this process
        """
        self._folder = Path(tempfile.gettempdir()) / f"audiosim-{secrets.token_hex(8)}"
        self._lasting, self._there = url is not None, False
        self._engine = open_engine(url or f"sqlite:///{self._folder}/models.db", TIMEOUT_S)
        finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        finalize(self, self._engine.dispose)

    def add(self, content: bytes, by: str, origin: str) -> KeptModel:
        """Keep a model; one that is kept already is returned.

        content  of a model file
        """
        model, text = self._parsed(content)
        check_model_name(model.name)
        known = {one.name: one for one in self.all()}
        if model.name in known:
            return self._same(known[model.name], model)
        if len(known) >= MOST_MODELS:
            raise InputError(f"this service keeps {MOST_MODELS} models already, the most that it takes")
        made = KeptModel(model.name, model.version, model.scale, write_time(utc_now()), by, origin)
        row = {name: getattr(made, name) for name in KeptModel.__slots__}
        self._folder.mkdir(mode=0o700, exist_ok=True)
        try:
            with reporting(self._engine), locked(self._engine) as connection:
                KEPT_MODELS.create(connection, checkfirst=True)
                connection.execute(sql.insert(KEPT_MODELS), [{**row, "content": text}])
        except exc.IntegrityError:  # another server kept one of this name at the same moment
            return self.add(content, by, origin)
        return made

    def all(self) -> list[KeptModel]:
        """The kept models, by name."""
        if not self._exists():
            return []
        with reporting(self._engine), self._engine.connect() as connection:
            rows = connection.execute(sql.select(*ALL_BUT_CONTENT).order_by(KEPT_MODELS.c.name)).all()
        return [KeptModel(**row._mapping) for row in rows]

    def content(self, name: str) -> str:
        """The file of a kept model, as text."""
        if self._exists():
            wanted = sql.select(KEPT_MODELS.c.content).where(KEPT_MODELS.c.name == name)
            with reporting(self._engine), self._engine.connect() as connection:
                found = connection.execute(wanted).scalar()
            if found is not None:
                return str(found)
        raise InputError(f"this service keeps no model {name!r:.80}")

    def file_of(self, name: str) -> str:
        """Value of `--model` for a model: the name of a published one unchanged, the file of a kept one."""
        if name in published_models() or name in model_names():
            return name
        plain = re.sub("[^A-Za-z0-9_-]", "_", name[:LONGEST_NAME])
        digest = hashlib.sha256(name.encode()).hexdigest()[:8]
        path = self._folder / f"{plain}-{digest}.json"
        if not path.is_file():
            lines = self.content(name).splitlines()
            self._folder.mkdir(mode=0o700, exist_ok=True)
            write_text(path, lines)
        return str(path)

    def _parsed(self, content: bytes) -> tuple[Model, str]:
        """The model of a file, and the file as text."""
        if len(content) > MOST_BYTES:
            raise InputError(f"a model file may have {MOST_BYTES:,} bytes at most, got {len(content):,}")
        with tempfile.TemporaryDirectory(prefix="audiosim-") as folder:
            path = Path(folder) / "model.json"
            path.write_bytes(content)
            try:
                model = load_model(str(path))
            except FormatError as error:
                raise InputError(f"line {error.line}: {error.problem}") from None
        return model, content.decode("utf-8")

    @staticmethod
    def _same(kept: KeptModel, model: Model) -> KeptModel:
        if kept.version != model.version:
            raise InputError(f"there is another model called {kept.name} already: choose another name")
        return kept

    def _exists(self) -> bool:
        """True if there ever was a kept model: another server may have kept one since the last check."""
        if not self._there and (self._lasting or self._folder.is_dir()):
            with reporting(self._engine):
                self._there = sql.inspect(self._engine).has_table(KEPT_MODELS.name)
        return self._there


def check_model_name(name: str) -> None:
    """Raise an error for a name unfit for a model that a service keeps."""
    if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        raise InputError(f"expected a model's name of 1 to {LONGEST_NAME} printable characters, got {name!r:.80}")
    if name in published_models() or name in model_names() or name.endswith(".json") or ":" in name:
        raise InputError(f"a model cannot be called {name}: that names another, a file or an address")
