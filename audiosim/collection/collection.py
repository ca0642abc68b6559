"""A collection: documents, queries, systems, runs and the judgments made so far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from audiosim.collection.arrivals import ARRIVALS, Arrivals, completed
from audiosim.collection.aspects import MEAN, Aspects, evidence_name, parted
from audiosim.collection.evidence import (
    EVIDENCE,
    Evidence,
    EvidenceOf,
    JudgeSettings,
    Key,
    MachineJudge,
    packed,
    read_evidence,
)
from audiosim.collection.facts import (
    NO_SCALE,
    Reading,
    Tables,
    check_judgments,
    check_met,
    check_tables,
    run_facts,
    settled_cutoff,
    unread_files,
)
from audiosim.collection.kinds import (
    JUDGES,
    SCHEMAS,
    Asked,
    SystemFrom,
    known_artists,
    prompt_of,
    read_asked,
    read_comparisons,
    read_documents,
    read_grades,
    read_judges,
    read_judgments,
    read_runs,
    read_systems,
    runs_in_memory,
)
from audiosim.collection.layouts import COMPARISONS, FolderFiles, prepare_folder
from audiosim.collection.settings import Settings, read_settings, settings_lines
from audiosim.collection.task import TASK_FILE, AssessorTask, check_task, read_task
from audiosim.collection.values import (
    Document,
    Exclusions,
    JudgmentSequence,
    Pair,
    PairedComparison,
    Retrieved,
    Run,
    SameArtist,
    Scale,
    as_scale,
    common_queries,
    contradicting,
    contradiction,
    deepest,
    distinct_grades,
    have_aspects,
    mean_grades,
    queries_of,
    retrieved_by,
    without_same_artist,
)
from audiosim.collection.written import (
    comparison_lines,
    document_lines,
    fits_qrels,
    judge_lines,
    judgments_csv_lines,
    qrels_lines,
    query_lines,
    run_lines,
    system_lines,
)
from audiosim.errors import ArgumentError, InputError
from audiosim.results.plots import draw_bars
from audiosim.results.value import Result
from audiosim.tables.reading import read
from audiosim.tables.table import Say, Table
from audiosim.tables.text import write_texts
from audiosim.text import counted, repeated

if TYPE_CHECKING:
    from altair import LayerChart


@dataclass(frozen=True, eq=False)
class Collection(Result):
    """One evaluation; its folder contains the files listed in the README.

    identifier       the folder's name; the service serves it under this
    name             shown to people
    task             question that a grade answers, such as "how similar the two sound"; empty: unspecified
    scale            grades that an assessor may give
    cutoff           depth of rankings for measures that name none
    runs             one per system, at least one
    documents        metadata of each recording; unlisted recordings have none
    query_documents  document of each query; an unlisted query is the document of the same name
    teams            team of each system; an unlisted system is its own team
    judgments        judgments in the order they were made; `Aspects` if each pair is judged by several
    comparisons      each of two documents for one query, in the order they were made
    not_artists      values of `artist` that do not name an artist and count as unknown
    guesses          one sentence for each setting that is missing in the files and was guessed
    readings         one line per file: its contents, and the part of them about retrieved pairs
    sound_folder     further folder of recordings that `serve` may play; not written by `save`
    sounds           folder of the index of its recordings, or None; not written by `save`
    evidence         further evidence given by the user, under distinct names
    judges           machines that judge, under distinct names
    edition_of       collection that this one is an edition of, or a name shared by its editions; empty: unspecified
    assessor_task    task.toml: the questions to assessors and their form; None: the usual questions
    system_from      source of system names in its run files, for files of runs that join it; see `load`
    same_artist      treatment of results by the query's own artist, for runs that join it; see `load`
    """

    _index: ClassVar = ("system",)
    _columns: ClassVar = ("system", "team", "queries", "depth", "judged")

    identifier: str
    name: str
    scale: Scale
    cutoff: int
    runs: tuple[Run, ...]
    documents: Mapping[str, Document] = field(default_factory=dict)
    query_documents: Mapping[str, str] = field(default_factory=dict)
    teams: Mapping[str, str] = field(default_factory=dict)
    judgments: JudgmentSequence = ()
    comparisons: tuple[PairedComparison, ...] = ()
    not_artists: frozenset[str] = frozenset()
    guesses: tuple[str, ...] = ()
    readings: tuple[Reading, ...] = ()
    sounds: Path | None = None
    evidence: tuple[Evidence, ...] = ()
    judges: tuple[MachineJudge, ...] = ()
    task: str = ""
    edition_of: str = ""
    sound_folder: Path | None = None
    assessor_task: AssessorTask | None = None
    system_from: SystemFrom | None = field(default=None, compare=False)
    same_artist: SameArtist | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not self.runs:
            raise InputError(f"collection {self.identifier} has no runs")
        systems = [run.system for run in self.runs]
        if len({*systems}) < len(systems):
            raise InputError(f"collection {self.identifier} has two runs of system {repeated(systems)}")
        if self.cutoff < 1:
            raise InputError(f"cutoff must be at least 1, got {self.cutoff}")
        for grade in distinct_grades(self.judgments) if self.judgments else ():
            self.scale.check(grade)
        if self.judgments and (both := contradiction(self.judgments)) is not None:
            one, other = (self.judgments[place] for place in both)
            raise InputError(f"collection {self.identifier}: {contradicting(one, other, '')}")
        own = () if self.aspects is None or not self.judges else map(evidence_name, self.aspects.names)
        names = [*own, *[piece.name for piece in (*self.evidence, *self.judges)]]
        if len({*names}) < len(names):
            what = "judges, pieces of evidence or aspects" if self.judges else "pieces of evidence"
            raise InputError(f"collection {self.identifier} has two {what} called {repeated(names)}")

    def __repr__(self) -> str:
        queries = retrieved_by(self.runs, self.cutoff)
        pairs = {(query, document) for query, documents in queries.items() for document in documents}
        judged = len(pairs & self.grades().keys())
        counts = (counted(len(queries), "query"), counted(len(self.runs), "system"))
        compared = f", {counted(len(self.comparisons), 'comparison')}" if self.comparisons else ""
        pairs_judged = f"{counted(len(pairs), 'pair')}, {judged:,} judged"
        return f"{self.name}: {', '.join(counts)}, {pairs_judged}{compared}"

    def rows(self) -> list[dict[str, Any]]:
        """One row per system: team, number of queries, median depth, and judged share of its results."""
        facts = ((one, one.queries + one.others) for one in run_facts(self.runs, self.cutoff, self.judgments))
        return [
            {
                "system": one.system,
                "team": self.team(one.system),
                "queries": n,
                "depth": one.depth,
                "judged": one.judged,
            }
            for one, n in facts
        ]

    def plot(self) -> "LayerChart":
        """Plot the judged share of each system's results."""
        rows = self.rows()
        return draw_bars([row["system"] for row in rows], [row["judged"] or 0.0 for row in rows], "results judged")

    @classmethod
    def load(
        cls,
        folder: str | Path,
        judgments: object = None,
        *,
        scale: Scale | str | Sequence[float] | None = None,
        system_from: SystemFrom | None = None,
        same_artist: SameArtist | None = None,
        partial: bool = False,
    ) -> "Collection":
        """The collection in a folder; an InputError if one of its files has no retrieved document, query or system.

        judgments    file of judgments, or judgments in memory, as for `from_frames`; `none` for no judgments, None for
                     the folder's own
        scale        scale of the judgments, such as "broad" or [0, 1, 2, 3]; None for the folder's
        system_from  source of system names in run files, `file` or `tag`; None for the folder's setting
        same_artist  `drop` leaves out results that are the query's own recording or by its artist; `keep` keeps them;
                     None uses the folder's setting, or else keeps them with a note in `guesses`
        partial      allows runs that answer less than 90 % of the queries that at least half of the systems answer;
                     otherwise such a run is an InputError
        """
        files = FolderFiles.find(folder, judgments)
        given_as = ((schema, files.tables[schema.what]) for schema in SCHEMAS if schema.what in files.tables)
        found = {schema.what: read(path, schema) for schema, path in given_as}
        own = read_settings(files.settings) if files.settings else Settings()
        settings = replace(
            own,
            scale=own.scale if scale is None else as_scale(scale),
            system_from=system_from or own.system_from,
            same_artist=same_artist or own.same_artist,
        )
        notes = list(files.guesses)
        given = None if isinstance(judgments, str | PathLike) else judgments
        tables = _tables_in(files, found, settings, given, notes.append)
        runs, (graded_on, judged) = tables.runs, tables.judged
        there, depth = Retrieved.of(runs), deepest(runs)
        lines = check_tables(files, tables, there, frozenset() if partial else common_queries(runs))
        lines += unread_files(files, settings)
        if given is not None:
            check_judgments(runs, judged, given, tables.documents)
        cutoff, guesses = settled_cutoff(depth, settings.cutoff, settings.scale, judged)
        made = cls._of(
            files.folder.resolve().name,
            tables,
            settings,
            cutoff,
            (*notes, *guesses),
            readings=lines,
            # The path is made absolute: worker processes may open it from another folder.
            sounds=None if files.sounds is None else files.sounds.absolute(),
            sound_folder=None if settings.sounds is None else (files.folder / settings.sounds).absolute(),
        )
        if tables.task is not None and files.task is not None:
            check_task(files.task, tables.task, graded_on, made.named())
        return _checked(made.with_arrivals(Arrivals.of(files.folder)) if (files.folder / ARRIVALS).is_dir() else made)

    @classmethod
    def _of(
        cls, identifier: str, tables: Tables, settings: Settings, cutoff: int, notes: Sequence[str], **places: Any
    ) -> "Collection":
        """A collection from its tables and its settings; `cutoff` is that of the settings, or guessed."""
        runs, asked, (scale, judgments), task = tables.runs, tables.asked, tables.judged, tables.task
        if judgments or task is not None:
            scale, judgments = parted(scale, judgments, () if task is None else task.aspects)
        if isinstance(judgments, Aspects):
            notes = *notes, f"aspects {', '.join(judgments.names)}: ranked by their mean; `aspect=NAME` ranks by one"
        return cls(
            identifier,
            identifier if settings.name is None else settings.name,
            scale,
            cutoff,
            runs,
            asked.described(tables.documents, queries_of(runs)) if asked.texts else tables.documents,
            asked.documents,
            tables.teams,
            judgments,
            tables.comparisons,
            settings.not_artists,
            tuple(notes),
            evidence=tables.evidence,
            judges=tables.judges,
            task=settings.task or "",
            edition_of=settings.edition_of or "",
            assessor_task=task,
            system_from=settings.system_from,
            same_artist=settings.same_artist,
            **places,
        )

    @classmethod
    def from_frames(
        cls,
        runs: object,
        judgments: object = None,
        documents: object = None,
        systems: object = None,
        queries: object = None,
        judges: Mapping[str, object] | None = None,
        *,
        scale: str | Sequence[float] | Scale | None = None,
        cutoff: int | None = None,
        name: str = "collection",
    ) -> "Collection":
        """A collection from objects in memory: data frames, dicts, objects of ranx or ir_measures.

        runs       a frame with columns system, query, document, and score or rank; other forms: see `collection.kinds`
        judgments  a frame with columns query, document, grade, another form, or a file; None for no judgments
        documents  a frame with columns document, artist, genre, or a dict of document -> columns
        systems    the team of each system: a frame with columns system, team, or a dict
        queries    the document of each query: a frame with columns query, document, or a dict
        judges     grades by machine, under its name; see `with_judge`
        scale      `fine`, `broad`, `binary`, or levels such as [0, 1, 2, 3]; guessed from the grades if None
        cutoff     depth of rankings; guessed from the rankings if None

            collection = Collection.from_frames(runs, judgments, scale=[0, 1, 2, 3])
            audiosim.estimate(collection)
        """
        settings = Settings(scale=None if scale is None else as_scale(scale), cutoff=cutoff)
        notes: list[str] = []
        tables = Tables(
            runs_in_memory(runs, notes.append),
            read_judgments(judgments, settings.scale, notes.append),
            {} if documents is None else read_documents(documents),
            Asked() if queries is None else read_asked(queries),
            {} if systems is None else read_systems(systems),
            judges=tuple(MachineJudge.of(one, read_grades(given)) for one, given in (judges or {}).items()),
        )
        check_judgments(tables.runs, tables.judged[1], judgments, tables.documents)
        depth, guesses = settled_cutoff(deepest(tables.runs), cutoff, settings.scale, tables.judged[1])
        return _checked(cls._of(name, tables, settings, depth, (*notes, *guesses)))

    @classmethod
    def from_runs(cls, runs: object, qrels: object = None, **more: Any) -> "Collection":
        """A collection from runs and qrels in the forms of ranx, ir_measures and pytrec_eval; see `from_frames`.

        runs   a dict of system -> query -> documents (best first, or document -> score), ranx's runs, or a dict of
               system -> ScoredDocs
        qrels  a dict of query -> document -> grade, ranx's Qrels, or ir_measures' qrels; None for no judgments
        more   further arguments of `from_frames`, such as scale=[0, 1, 2, 3]

            Collection.from_runs({"A": {"q1": ["d3", "d1"]}, "B": {"q1": ["d1", "d2"]}}, {"q1": {"d1": 2}})
        """
        return cls.from_frames(runs, qrels, **more)

    def with_arrivals(self, came: Arrivals) -> "Collection":
        """The collection with added runs, documents, teams and machines' grades; see `collection.arrivals`.

        A run replaces one of the same system, and a machine one of the same name; new ones come last. The collection's
        own metadata take precedence.
        """
        runs = {run.system: run for run in (*self.runs, *came.runs)}
        judges = {judge.name: judge for judge in self.judges}
        for one in came.judges:
            known = judges.get(one.name, one)
            judges[one.name] = one if one.settings.given else replace(one, settings=known.settings)
        documents = {name: completed(self.documents.get(name), one) for name, one in came.documents.items()}
        return replace(
            self,
            runs=tuple(runs.values()),
            documents={**self.documents, **documents},
            teams={**self.teams, **came.teams},
            judges=tuple(judges.values()),
        )

    def save(self, folder: str | Path) -> None:
        """Write a folder from which `load` gives this collection; only the identifier becomes the folder's name.

        Either all files are written or none. The folder's setting for results by a query's own artist is `keep`.
        Sound files are not copied: a relative `path` counts from the new folder.
        """
        judged, scale = (self.judgments, self.scale) if (by := self.aspects) is None else (by.every, by.scale)
        plain = fits_qrels(judged)
        judgments = "judgments.qrels" if plain else "judgments.csv"
        spell_judgments = qrels_lines if plain else judgments_csv_lines
        settings = Settings(
            self.name,
            scale,
            self.cutoff,
            self.not_artists,
            same_artist="keep",
            task=self.task or None,
            edition_of=self.edition_of or None,
            judges={judge.name: replace(judge.settings, file="") for judge in self.judges},
        )
        texts = {
            "documents.tsv": document_lines(self.documents.values()) if self.documents else None,
            "queries.tsv": query_lines(self.query_documents) if self.query_documents else None,
            "systems.tsv": system_lines(self.teams) if self.teams else None,
            "runs.trec": run_lines(self.runs),
            judgments: spell_judgments(judged) if judged else None,
            COMPARISONS: comparison_lines(self.comparisons) if self.comparisons else None,
            "collection.toml": settings_lines(settings),
            TASK_FILE: self.assessor_task.text.split("\n") if self.assessor_task is not None else None,
        }
        files: dict[str, list[str] | bytes] = {name: lines for name, lines in texts.items() if lines is not None}
        files |= {f"{EVIDENCE}/{piece.name}.npz": packed(piece) for piece in self.evidence}
        files |= {f"{JUDGES}/{judge.name}.tsv": judge_lines(judge) for judge in self.judges}
        folder = prepare_folder(folder, set(files))
        write_texts({folder / name: lines for name, lines in files.items()})

    def with_evidence(
        self, name: str, values: Mapping[Key, object] | tuple[Sequence[Key], object], about: EvidenceOf | None = None
    ) -> "Collection":
        """The collection with one more piece of evidence, which every joint model then takes into account.

        values  numbers or vectors by document, numbers by (query, document) or by system: a mapping, or keys and an
                array
        about   `document`, `pair` or `system`; by default, keys that are pairs are (query, document), others are
                documents

            collection = Collection.load("mine").with_evidence("clap", dict(zip(ids, embeddings)))
        """
        return _checked(replace(self, evidence=(*self.evidence, Evidence.of(name, values, about))))

    def with_judge(
        self, name: str, grades: object, maker: str = "", *, version: str = "", prompt: str = "", may_favour: str = ""
    ) -> "Collection":
        """The collection with one more judging machine, or with new grades of a known one.

        grades      a dict of (query, document) -> grade, or a frame: any numbers, higher for more relevant
        maker       who made it, any text, with its version and prompt
        may_favour  team or system that it may favour; its maker, if that is one of them

            collection = Collection.load("mine").with_judge("gpt", {("q1", "d1"): 3, ("q1", "d2"): 0})
        """
        settings = JudgeSettings(maker=maker, version=version, prompt=prompt, may_favour=may_favour)
        judge = MachineJudge.of(name, read_grades(grades), settings=settings)
        return _checked(replace(self, judges=(*(one for one in self.judges if one.name != name), judge)))

    def by_aspect(self, aspect: str) -> "Collection":
        """The collection with the judgments of one aspect, or with their means for `mean`.

        Grades of other aspects count as evidence if they cover further pairs; see `collection.aspects`.
        """
        if self.aspects is None:
            raise ArgumentError(
                "aspect",
                f"collection {self.identifier} has no aspects: its judgments have no column aspect, expected one, "
                "or no aspect to rank by",
            )
        judged = self.aspects.by(aspect)
        return replace(self, judgments=judged, scale=judged.seen_on)

    def with_judgments(self, judgments: object, scale: Scale | str | Sequence[float] | None = None) -> "Collection":
        """The collection with judgments of a file or of memory in place of its own.

        judgments  as for `from_frames`; they show the scale if it was only assumed, because there were none
        scale      their scale, such as "broad" or [0, 1, 2, 3]; None for that of its own
        """
        assumed, notes, by = NO_SCALE in self.guesses, list[str](), self.aspects if scale is None else None
        own = None if assumed else self.scale if by is None else by.scale
        scale, judged = read_judgments(judgments, own if scale is None else as_scale(scale), notes.append)
        check_judgments(self.runs, judged, judgments, self.documents)
        guesses = (*(one for one in self.guesses if one != NO_SCALE or not judged), *notes)
        if not have_aspects(judged):
            return replace(self.judged_by(judged), scale=scale if by is None else self.scale, guesses=guesses)
        task = self.assessor_task
        scale, judged = parted(scale, judged, () if task is None else task.aspects, self.aspect or MEAN)
        return replace(self, scale=scale, judgments=judged, guesses=guesses)

    def judged_by(self, judgments: JudgmentSequence) -> "Collection":
        """The collection with other judgments, on the same scale; grades of other aspects stay evidence."""
        return replace(self, judgments=judgments, judges=self.graders)

    @property
    def aspects(self) -> Aspects | None:
        """The judgments by aspect; None if a pair has one grade."""
        return self.judgments if isinstance(self.judgments, Aspects) else None

    @property
    def aspect(self) -> str:
        """Aspect of `judgments` and `scale`, or "mean"; empty without aspects."""
        return "" if self.aspects is None else self.aspects.aspect

    @property
    def graders(self) -> tuple[MachineJudge, ...]:
        """The judging machines, and the grades of other aspects as evidence."""
        return self.judges if self.aspects is None else (*self.judges, *self.aspects.evidence)

    def artist(self, document: str) -> str | None:
        """The artist of a document, None where unknown."""
        artist = self.documents[document].artist if document in self.documents else None
        return None if artist in self.not_artists else artist

    def genre(self, document: str) -> str | None:
        """The genre of a document, None where unknown."""
        return self.documents[document].genre if document in self.documents else None

    def named(self) -> dict[str, set[str]]:
        """The names of all queries, and of all documents: retrieved ones, and those of queries."""
        retrieved = retrieved_by(self.runs)
        own = {self.query_document(query) for query in retrieved}
        return {"query": set(retrieved), "document": own.union(*retrieved.values())}

    def query_document(self, query: str) -> str:
        """The document of a query."""
        return self.query_documents.get(query, query)

    def team(self, system: str) -> str:
        """The team of a system."""
        return self.teams.get(system, system)

    def grades(self) -> dict[Pair, float]:
        """The grade of each judged pair: the mean of the last grades by its assessors."""
        return mean_grades(self.judgments)


def _tables_in(
    files: FolderFiles, found: Mapping[str, Table], settings: Settings, judgments: object, say: Say
) -> Tables:
    """The tables in a folder, of those found in its files; `judgments` are given in memory, or None."""
    documents = read_documents(found["documents"]) if "documents" in found else {}
    asked = read_asked(found["queries"]) if "queries" in found else Asked()
    teams = read_systems(found["systems"]) if "systems" in found else {}
    exclusions = Exclusions(asked.documents, known_artists(documents, settings.not_artists))
    runs = read_runs(files.runs, exclusions, settings.system_from, say)
    scale, judged = read_judgments(found.get("judgments", judgments), settings.scale, say)
    judged = settings.counting(judged, say) if settings.set_aside else judged
    runs, said = without_same_artist(runs, exclusions, settings.same_artist)
    if said is not None:
        say(said)
    pieces = (files.folder / EVIDENCE).is_dir() or files.sounds or settings.evidence
    return Tables(
        runs,
        (scale, judged),
        documents,
        asked,
        teams,
        read_comparisons(found["comparisons"]) if "comparisons" in found else (),
        read_judges(files.folder, settings.judges) if (files.folder / JUDGES).is_dir() or settings.judges else (),
        read_evidence(files.folder, settings.evidence, files.sounds) if pieces else (),
        None if files.task is None else read_task(files.task),
    )


def _checked(collection: Collection) -> Collection:
    """The collection; an error if a piece of evidence or a judge covers nothing in it."""
    if collection.evidence or collection.judges:
        teams = {collection.team(run.system) for run in collection.runs}
        check_met(collection.runs, collection.documents, teams, (*collection.evidence, *collection.judges))
    return collection


def prompts_of(collection: Collection) -> dict[str, str]:
    """The prompt of each query that has one."""
    found = {
        query: prompt_of(collection.documents, collection.query_document(query))
        for query in queries_of(collection.runs)
    }
    return {query: text for query, text in found.items() if text}
