"""Files of a collection made by an earlier `collect`: a further call keeps the changes made by their owner."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from audiosim.corpus.collection_toml import Settings, read_settings, settings_lines
from audiosim.corpus.metadata_tables import read_documents, read_queries
from audiosim.corpus.model import Document
from audiosim.errors import InputError

DOCUMENTS, QUERIES, SETTINGS = "documents.tsv", "queries.tsv", "collection.toml"


@dataclass(frozen=True, slots=True)
class EditedFolder:
    """Contents of a folder's files before a call writes them; empty without files.

    documents  rows of documents.tsv, by identifier
    queries    document of each query of queries.tsv
    settings   text of collection.toml
    sounds     folder of the recordings in these settings
    """

    documents: Mapping[str, Document]
    queries: Mapping[str, str]
    settings: str
    sounds: str | None

    def edited(self, found: Document) -> Document:
        """A recording with the non-empty fields of its row; path and length are the present ones."""
        row = self.documents.get(found.identifier)
        if row is None:
            return found
        more = {**found.more, **row.more, "seconds": found.more["seconds"]}
        return Document(found.identifier, row.artist or found.artist, row.genre or found.genre, found.path, more)

    def settings_lines(self, settings: Settings) -> list[str]:
        """The lines of collection.toml, unchanged except that a missing folder of the recordings is added."""
        if not self.settings:
            return settings_lines(settings)
        lacking = settings_lines(Settings(sounds=settings.sounds)) if self.sounds is None else []
        return [*lacking, *self.settings.splitlines()]


def read_edited(folder: Path, sounds: str) -> EditedFolder:
    """The files of a folder that an earlier call wrote; an error if they belong to another folder of recordings.

    sounds  folder of the recordings, relative to the collection's
    """
    documents, queries, settings = (folder / name for name in (DOCUMENTS, QUERIES, SETTINGS))
    text = settings.read_text(encoding="utf-8-sig") if settings.exists() else ""
    before = read_settings(settings).sounds if text else None
    if before not in (None, sounds):
        raise InputError(
            f"{folder}: was made of {before}, got {sounds}; expected the same folder, or another name for the "
            f"collection. If the recordings have moved, change sounds in {settings}"
        )
    return EditedFolder(
        read_documents(documents) if documents.exists() else {},
        read_queries(queries) if queries.exists() else {},
        text,
        before,
    )
