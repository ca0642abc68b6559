"""A table means the same as a file of a folder, imported, sent to a served collection, or dropped on a page.

What some of these ways cannot tell, they refuse.
"""

import csv
import json
import random
from dataclasses import replace

import pandas
import pytest

from audiosim.campaign import CampaignSettings
from audiosim.collection.collection import Collection
from audiosim.collection.kinds import nameless
from audiosim.collection.pool import build_pool
from audiosim.collection.values import BROAD, FINE, Document, Run
from audiosim.errors import InputError
from audiosim.service.access.tokens import TokenStore
from audiosim.service.collections.additions import Receiver, sent_documents, sent_grades
from audiosim.service.collections.campaigns import Judging
from audiosim.service.collections.drafts import Home, place_of
from audiosim.service.collections.imports import WAITING, Import, events_of
from audiosim.service.collections.served import ServedCollection
from audiosim.service.collections.shelf import Served
from audiosim.service.types.evaluation import TablesIn

TIME = "2026-11-22T12:00:00.000Z"
RUNS = tuple(Run(name, dict.fromkeys(("q", "r"), ("a", "b", "c", "d"))) for name in ("A", "B"))
RANKED = (("q", "a", 1), ("q", "b", 3), ("q", "c", 2), ("r", "a", 2), ("r", "d", 3))
GROUPS = "".join(f"{query} {document} {number}\n" for query, document, number in RANKED)
TREC = "".join(f"{query} 0 {document} {number}\n" for query, document, number in RANKED)
TABLE = "".join(f"{query},{document},{number}\n" for query, document, number in RANKED)
JSON = '{"q": {"a": 1, "b": 3, "c": 2}, "r": {"a": 2, "d": 3}}'
LINES = "".join(f'{{"query": "{query}", "document": "{one}", "group": {number}}}\n' for query, one, number in RANKED)
BEST_FIRST = {("q", "a"): 3, ("q", "b"): 1, ("q", "c"): 2, ("r", "a"): 2, ("r", "d"): 1}
AS_GIVEN = {(query, document): number for query, document, number in RANKED}
JUDGED = {
    ("groups.tsv", GROUPS): BEST_FIRST,
    ("groups.qrels", TREC): BEST_FIRST,
    ("groups.qrel", TREC): BEST_FIRST,
    ("groups.txt", GROUPS): BEST_FIRST,
    ("Groups.tsv", GROUPS.replace(" ", "\t")): BEST_FIRST,
    ("groups.csv", f"query,document,group\n{TABLE}"): BEST_FIRST,
    ("groups.json", JSON): BEST_FIRST,
    ("groups.jsonl", LINES): BEST_FIRST,
    ("people.jsonl", LINES): BEST_FIRST,
    ("people.csv", f"query,document,group\n{TABLE}"): BEST_FIRST,
    ("people.tsv", f"query\tdocument\tgroup\n{TABLE.replace(',', chr(9))}"): BEST_FIRST,
    ("people.qrels", f"query 0 document group\n{TREC}"): BEST_FIRST,
    ("groups.csv", f"query,document,grade\n{TABLE}"): None,
    ("people.qrels", TREC): AS_GIVEN,
    ("judgments.json", JSON): AS_GIVEN,
    ("people.csv", f"query,document,grade\n{TABLE}"): AS_GIVEN,
    ("people.csv", f"query,document,grade,group\n{TABLE}".replace("\n", ",1\n").replace("group,1", "group")): None,
}


COMPARING = CampaignSettings(comparisons="some")
KIND = {"people.jsonl": "judgments"}  # told by the sender


def grades_of(judgments):
    return {(one.query, one.document): one.grade for one in judgments}


def in_folder(place, name, text, runs=RUNS):
    Collection("c", "c", FINE, 4, runs).save(place / "c")
    (place / "c" / "collection.toml").unlink()
    (place / name).write_text(text, encoding="utf-8")
    return Collection.load(place / "c", place / name)


def imported(collection, name, text, whole=False):
    """The grades, or whole judgments, in a campaign of a collection into which a file is imported by its name."""
    one = ServedCollection(replace(collection, judgments=()), "uniform", Judging())
    file = Import(1, "c", "import-1", "me", TIME, WAITING, None, 0, "")
    one.campaign.tell_all(events_of(file, nameless(name, text.encode()), one))
    return one.campaign.judgments() if whole else grades_of(one.campaign.judgments())


def dropped(home, name, text, kind="judgments", asked=None):
    """The collection made of a dropped file."""
    draft = home.begin("new")
    lines = [
        f"{q} Q0 {one} 1 {-place} {run.system}\n"
        for run in RUNS
        for q in ("q", "r")
        for place, one in enumerate("abcd")
    ]
    draft.put("all.trec", "".join(lines).encode())
    assert draft.put(name, text.encode(), asked or KIND.get(name)).kind == kind
    with draft.assembled() as (found, _):
        return found


@pytest.mark.parametrize(("name", "text"), JUDGED)
def test_judgments_mean_the_same_in_a_folder_imported_sent_and_dropped(tmp_path, name, text):
    expected = JUDGED[name, text]
    if expected is None:
        for way in (in_folder, lambda _, *file: dropped(Home(tmp_path / "home"), *file)):
            with pytest.raises(InputError):
                way(tmp_path, name, text)
        return
    collection = in_folder(tmp_path, name, text)
    assert grades_of(collection.judgments) == expected
    made = dropped(Home(tmp_path / "home"), name, text)
    assert (grades_of(made.judgments), made.scale) == (expected, collection.scale)
    sent = place_of(name, KIND.get(name), text.encode())[1]  # the name under which /files takes it
    for known in (name, sent):
        if name == "groups.json":  # no line of it can say that its numbers are groups
            with pytest.raises(InputError, match=f"^{known}: expected a header with query, document and group"):
                imported(collection, known, text)
        else:
            assert imported(collection, known, text) == expected
    if expected is BEST_FIRST and name != "groups.json":
        with pytest.raises(InputError, match="are no grades of the scale 101 levels from 0 to 100"):
            imported(replace(collection, scale=FINE, judgments=()), name, text)


PARTS = {  # kind of table: its file in a folder, its rows, and what a collection has of it
    "comparisons": (
        "comparisons",
        "query,document_a,document_b,answer,assessor\nq,a,b,a,ann\nr,c,d,=,bob\n",
        lambda one: one.comparisons,
    ),
    "queries": ("queries", "query,document\nq,a\nr,d\n", lambda one: one.query_documents),
    "systems": ("systems", "system,team\nA,red\nB,blue sky\n", lambda one: one.teams),
    "documents": ("documents", "document,artist,genre,title\na,x,jazz,one\nb,y,,two\n", lambda one: one.documents),
    "judge": ("judges/gpt", "query,document,score\nq,a,3\nr,d,.5\n", lambda one: grades_of_machines(one.judges)),
}
WRITTEN = {
    "csv": lambda text: text,
    "tsv": lambda text: text.replace(",", "\t"),
    "json": lambda text: json.dumps(list(csv.DictReader(text.splitlines()))),
    "jsonl": lambda text: "".join(f"{json.dumps(row)}\n" for row in csv.DictReader(text.splitlines())),
}


def grades_of_machines(judges):
    return [dict(zip(one.keys, one.values.tolist(), strict=True)) for one in judges]


@pytest.mark.parametrize("suffix", WRITTEN)
@pytest.mark.parametrize("kind", PARTS)
def test_other_tables_mean_the_same_in_a_folder_sent_and_dropped_under_any_name(tmp_path, kind, suffix):
    stem, table, part = PARTS[kind]
    text = WRITTEN[suffix](table)
    Collection("c", "c", FINE, 4, RUNS).save(tmp_path / "c")
    path = tmp_path / "c" / f"{stem}.{'tsv' if kind == 'judge' else suffix}"  # a machine's file has that suffix only
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    collection = Collection.load(tmp_path / "c")
    expected = part(collection)
    assert expected
    for name in (f"{stem}.{suffix}", f"mine.{suffix}"):
        assert part(dropped(Home(tmp_path / name), name, text, kind)) == expected
    if kind == "judge":
        assert grades_of_machines([sent_grades(text.encode(), "gpt")]) == expected
    if kind == "comparisons":
        one = ServedCollection(replace(collection, comparisons=()), "joint", Judging(settings=COMPARING))
        file = Import(1, "c", "import-1", "me", TIME, WAITING, None, 0, "")
        one.campaign.tell_all(events_of(file, text.encode(), one))
        assert one.campaign.comparisons.in_force()[1] == expected
    if kind in ("queries", "systems", "documents"):
        rows = list(csv.DictReader(table.splitlines()))
        key, value, *_ = rows[0]
        body = {row[key]: row[value] if kind != "documents" else dict(list(row.items())[1:]) for row in rows}
        runs = {run.system: {query: list(found) for query, found in run.rankings.items()} for run in RUNS}
        assert part(TablesIn(runs, **{kind: body}).collection) == expected


SPACED = "{}", " {}", "{} ", "\N{NO-BREAK SPACE}{}", "{}\N{NO-BREAK SPACE}"
WORDS = {  # other words for the columns
    "query": ("query", "qid", "topic"),
    "document": ("document", "docno", "doc_id", "corpus-id"),
    "grade": ("grade", "relevance", "label"),
}
RUNS_IN_BODY = {run.system: {query: list(found) for query, found in run.rankings.items()} for run in RUNS}


def drawn(rng):
    """A kind of table and its rows, drawn at random: other words, orders and spaces, and empty cells."""
    some = {
        "documents": lambda: [
            {"document": d, "artist": rng.choice("xyz"), "year": rng.choice(["", "2.0"])} for d in "abc"
        ],
        "queries": lambda: [{"query": q, "document": rng.choice("abx")} for q in "qr"],
        "systems": lambda: [{"system": s, "team": rng.choice(["NA", "blue sky"])} for s in "AB"],
        "judge": lambda: [{"query": q, "document": d, "score": rng.choice(["1", "-.5"])} for q in "qr" for d in "ab"],
        "judgments": lambda: [
            {"query": q, "document": d, value: rng.choice("012"), "assessor": rng.choice(["ann", ""])}
            | {"counts": rng.choice(["", "", "no"])}
            for value in [rng.choice(["grade", "broad"])]
            for q in "qr"
            for d in rng.sample("abcd", 3)
        ],
    }
    kind = rng.choice([*some])
    rows = some[kind]()
    words = {column: rng.choice(WORDS.get(column, (column,))) for column in rows[0]}
    columns = rng.sample([*words], len(words))
    return kind, [{words[one]: rng.choice(SPACED).format(row[one]) for one in columns} for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_random_tables_mean_the_same_in_a_folder_in_a_frame_dropped_and_sent(tmp_path, seed):
    rng = random.Random(seed)
    kind, rows = drawn(rng)
    suffix, part = rng.choice([*WRITTEN]), PARTS.get(kind, ("", "", lambda one: (told(one.judgments), one.scale)))[2]
    lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows)]
    text = rng.choice(["", "\ufeff"]) + WRITTEN[suffix]("\n".join([*lines, ""]))
    Collection("c", "c", BROAD, 4, RUNS).save(tmp_path / "c")
    (tmp_path / "c" / "collection.toml").unlink()
    path = tmp_path / "c" / ("judges/gpt.tsv" if kind == "judge" else f"{kind}.{suffix}")
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    collection = Collection.load(tmp_path / "c")
    name = f"gpt.{suffix}" if kind == "judge" else f"mine.{suffix}"
    ways = {"asked for": lambda: part(dropped(Home(tmp_path / "home"), name, text, kind, asked=kind))}
    if kind != "judge":
        ways["text"] = lambda: part(TablesIn(RUNS_IN_BODY, **{kind: text}).collection)
        ways["frame"] = lambda: part(Collection.from_frames(RUNS_IN_BODY, **{kind: pandas.DataFrame(rows)}))
    if kind == "judgments":
        ways["import"] = lambda: (told(imported(collection, name, text, whole=True)), collection.scale)
    assert part(collection)
    assert {way: found() for way, found in ways.items()} == dict.fromkeys(ways, part(collection))


def told(judgments):
    return sorted((*one.pair, one.assessor, one.grade) for one in judgments)


TASK = 'question = "Alike?"\n'


def test_a_task_means_the_same_in_a_folder_and_dropped(tmp_path):
    Collection("c", "c", FINE, 4, RUNS).save(tmp_path / "c")
    (tmp_path / "c" / "task.toml").write_text(TASK, encoding="utf-8")
    made = dropped(Home(tmp_path / "home"), "task.toml", TASK, "task")
    assert made.assessor_task is not None
    assert made.assessor_task == Collection.load(tmp_path / "c").assessor_task


def test_known_grades_are_read_on_the_scale_of_each_collection(tmp_path):
    path = tmp_path / "known"
    judging = Judging(known=path, known_share=0.1)
    for text, scale in (("q a 1\nq b 0\n", BROAD), ("query,document,fine\nq,a,1\n", FINE), ("q a 1\n", FINE)):
        path.write_text(text, encoding="utf-8")
        found = judging.knowing(Collection("c", "c", scale, 4, RUNS)).settings
        assert (found.known, found.known_grades["q", "a"]) == (0.1, 1)
    path.write_text("q a 3\n", encoding="utf-8")
    with pytest.raises(InputError, match="grade 3 is not on the broad scale"):
        judging.knowing(Collection("c", "c", BROAD, 4, RUNS))


FILES = {  # runs of a third system; the file names the system of some
    "C.trec": "".join(f"{q} Q0 {d} 1 {-rank} tag\n" for q in "qr" for rank, d in enumerate("dcba")),
    "C.json": '{"q": {"d": 3, "a": 2}, "r": {"c": 2, "b": 1}}',
    "C.txt": "".join(f"tag {q} {d}\n" for q in "qr" for d in "dabc"),
}


@pytest.mark.parametrize("settings", ["", 'system_from = "file"\n', 'same_artist = "drop"\n'])
@pytest.mark.parametrize("name", FILES)
def test_runs_that_join_are_those_of_a_file_in_the_folder(tmp_path, name, settings):
    documents = {one: Document(one, artist) for one, artist in zip("qrabcd", "xyxzyz", strict=True)}
    for folder in (tmp_path / "there", tmp_path / "joined"):
        Collection("c", "c", FINE, 4, RUNS, documents).save(folder)
        text = (folder / "runs.trec").read_text(encoding="utf-8")
        (folder / "runs.trec").unlink()
        (folder / "runs").mkdir()
        for run in RUNS:
            own = "".join(line for line in text.splitlines(keepends=True) if line.split()[-1] == run.system)
            (folder / "runs" / f"{run.system}.trec").write_text(own, encoding="utf-8")
        (folder / "collection.toml").write_text(f"cutoff = 4\n{settings}", encoding="utf-8")
    (tmp_path / "there" / "runs" / name).write_text(FILES[name], encoding="utf-8")
    expected = {run.system: run.rankings for run in Collection.load(tmp_path / "there").runs}
    served = Served([Collection.load(tmp_path / "joined")], {}, Judging(), {"joined": tmp_path / "joined"})
    receiver = Receiver(served)
    try:
        if name == "C.json" or "system_from" in settings:
            with pytest.raises(InputError, match=r"sent without one: expected \?system=NAME"):
                receiver.take_runs("joined", FILES[name].encode())
        receiver.take_runs("joined", FILES[name].encode(), file=name)
        assert {run.system: run.rankings for run in served.collection("joined").collection.runs} == expected
        assert {run.system: run.rankings for run in Collection.load(tmp_path / "joined").runs} == expected
    finally:
        receiver.stop()


def test_the_path_of_a_recording_is_known_or_refused_and_never_dropped():
    known = {"a": Document("a", path="sounds/a.wav")}
    assert sent_documents(b"document\tgenre\tpath\na\tjazz\tsounds/a.wav\n", known) == (Document("a", genre="jazz"),)
    for row in (b"a\tjazz\tother.wav", b"b\tjazz\tsounds/b.wav"):
        with pytest.raises(InputError, match=r"^document [ab]: its path is not followed here: send the recording"):
            sent_documents(b"document\tgenre\tpath\n" + row + b"\n", known)


@pytest.mark.slow
def test_names_in_bodies_are_trimmed_as_in_files_or_refused(another, small):
    query, document = build_pool(small).pairs[0]
    with another.client() as http:
        for padded in ({"query": f" {query}"}, {"document": f"{document} "}):
            said = {"query": query, "document": document, "assessor": "ann", "grade": 1} | padded
            assert http.post("/v1/collections/small/judgments", json=said).status_code == 422
        for name in (" ann", "ann ", "\u00a0ann", "\ufeffann"):
            said = {"query": query, "document": document, "assessor": name, "grade": 1}
            assert http.post("/v1/collections/small/judgments", json=said).json()["assessor"] == "ann"
            for path, more in (("invitations", {}), ("open-links", {"people": 2})):
                assert http.post(f"/v1/collections/small/{path}", json={"name": name} | more).status_code == 422
            with pytest.raises(InputError, match="a token needs a name "):
                TokenStore("sqlite://").create(name, "client")
    tables = {"documents": {" a ": {"artist": " x "}}, "queries": {" q ": " a "}, "systems": {" A ": " T "}}
    made = TablesIn({" A ": {" q ": [" a ", "b"]}}, **tables).collection
    assert [(run.system, run.rankings) for run in made.runs] == [("A", {"q": ("a", "b")})]
    assert (made.documents["a"].artist, made.query_documents, made.teams) == ("x", {"q": "a"}, {"A": "T"})
