"""No number in a file sizes an allocation: with any number, a file is read in little memory, or refused in one line."""

import json
import subprocess
import sys
from pathlib import Path

from audiosim.campaign.archive import FORMAT
from audiosim.campaign.store import FIRST
from audiosim.sound.parameters import PLAIN
from audiosim.sound.store import RELEASED

HUGE = ("999999", "1000000000", "1000000000000", "9223372036854775808", "1e12", "1e308")
QUERIES, DOCUMENTS, SYSTEMS = ("q0", "q1", "q2"), tuple(f"d{place}" for place in range(9)), ("A", "B", "C")
JUDGED = [(query, one, (int(query[1]) + place) % 3) for query in QUERIES for place, one in enumerate(DOCUMENTS)]
FOUND = [(s, q, DOCUMENTS[(2 * a + b + rank) % 9], rank) for a, s in enumerate(SYSTEMS) for b, q in enumerate(QUERIES)
         for rank in range(1, 5)]  # fmt: skip


def table(separator, header, rows):
    return "".join(separator.join(map(str, row)) + "\n" for row in ([header, *rows] if header else rows))


RUN = table(" ", (), [(q, "Q0", d, rank, 9 - rank, s) for s, q, d, rank in FOUND])
QRELS = table(" ", (), [(q, 0, d, grade) for q, d, grade in JUDGED])


def head(said, dimensions):
    """The head of an index, with {} in the place of 777."""
    known = {"version": RELEASED, "parameters": PLAIN.to_json() | said, "dimensions": dimensions}
    return json.dumps(known).replace("777", "{}")


ANSWERS = ("answer", "query", *(f"{one}{rank}" for one in "AB" for rank in (1, 2)))
GRADED = (*ANSWERS, *(f"fine_{one}" for one in ANSWERS[2:]))
LINE = '{"query": "q0", "document": "%s", "%s": %s}\n'
# Each file has one number in the place of {}; the runs and judgments of the others stand beside it.
FILES = {
    "runs.trec": RUN.replace(" 1 8 A", " {} 8 A", 1),
    "runs.trec scores": RUN.replace(" 1 8 A", " 1 {} A", 1),
    "runs/a.json": '{"q0": {"d1": {}, "d2": 3, "d3": 1.5}}',
    "runs/a.mirex": "A system 1\n{}\t/x/q0.wav\n2\t/x/d1.wav\nQ/R\t{}\t2\n{}\t0\t1\n2\t1\t0\n",
    "runs/a.mirex distances": "A system 1\n1\t/x/q0.wav\n2\t/x/d1.wav\nQ/R\t1\t2\n1\t0\t{}\n2\t1\t0\n",
    "runs/a.sparse": "A system\nq0.wav\td1.wav,0.5\td2.wav,{}\n",
    "judgments.qrels": QRELS.replace("0 d3 0", "0 d3 {}", 1),
    "judgments.csv": table(",", ("query", "document", "fine", "assessor"), [(*one, "ann") for one in JUDGED])
    + "q0,d1,{},ann\n",
    "judgments.tsv": table("\t", ("query", "document", "grade"), [*JUDGED, ("q0", "d1", "{}")]),
    "judgments.jsonl": LINE % ("d1", "grade", 2) + LINE % ("d2", "grade", "{}"),
    "judgments.json": '{"q0": {"d1": 2, "d2": {}}}',
    "judgments.xml": '<r><j query="q0" doc="d1" grade="2"/><j query="q0" doc="d2" grade="{}"/></r>\n',
    "groups.tsv": table(" ", (), [(q, d, grade + 1) for q, d, grade in JUDGED[:-1]]) + "q2 d8 {}\n",
    "judgments.csv groups": "query,document,group\nq0,d1,{}\nq0,d2,1\n",
    "judgments.jsonl groups": LINE % ("d1", "group", 1) + LINE % ("d2", "group", "{}"),
    "comparisons.tsv": "query\tdocument_a\tdocument_b\tanswer\tseconds\nq0\td1\td2\ta\t{}\n",
    "judges/gpt.tsv": table("\t", ("query", "document", "score"), [*JUDGED[:-1], ("q2", "d8", "{}")]),
    "evidence/tags.csv": table(",", ("document", "x0", "x1"), [(d, 1, place) for place, d in enumerate(DOCUMENTS[:-1])])
    + "d8,1,{}\n",
    "evidence/tags.csv header": "document,x{},x1\nd1,1,2\nd2,2,1\n",
    "evidence/clicks.csv": "query,document,count\nq0,d1,1\nq0,d2,{}\n",
    "evidence/systems.csv": "system,count\nA,1\nB,{}\n",
    "collection.toml": "cutoff = {}\n",
    "collection.toml levels": "scale = [0, 1, 2, {}]\n",
    "collection.toml ends": 'scale = "0-{}"\n',
    "task.toml": 'question = "How?"\nsteps = {}\n',
    "task.toml range": '[[before]]\nname = "age"\nkind = "slider"\ntext = "Age?"\nrange = [0, {}]\n',
    "campaign.toml": 'measure = "nDCG@{}"\nstopping_rule = "judgments={}"\n',
    "questions": '[[question]]\nname = "mood"\nkind = "slider"\ntext = "Mood?"\nrange = [0, {}]\n',
    "pairs": "query\tdocument\nq0\td{}\n",
    "answers": table("\t", GRADED, [("a", "q0", "d1", "d2", "d3", "d4", 70, 20, 10, "{}")]),
    "answers header": table("\t", GRADED, [("a", "q0", "d1", "d2", "d3", "d4", 70, 20, 10, 5)]).replace("B2", "B{}", 1),
    "backup": json.dumps({"format": FORMAT, "campaigns": 777}).replace("777", "{}") + '\n{"end": 0}\n',
    "backup events": json.dumps({"format": FORMAT, "campaigns": 1}) + "\n" + json.dumps(
        {"collection": "c", "events": 777, "digest": FIRST, "about": {}, "rules": {}}
    ).replace("777", "{}") + '\n{"end": 0}\n',
    **{
        f"index {name}": head({name: 777}, list(PLAIN.dimensions))
        for name in ("rate_hz", "frame", "hop", "bands", "coefficients")
    },
    "index both": head({"bands": 777, "coefficients": 777}, list(PLAIN.dimensions)),
    "index size": head({"descriptors": [{"name": "x", "size": 777}]}, ["x 0"]),
    "measure": "nDCG@{}",
    "measure of GAP": "GAP(thresholds={}:1)@5",
    "artificial scale": "graded-{}",
    "vectors.npy": "{'descr': '<f8', 'fortran_order': False, 'shape': ({}, 4), }",
}  # fmt: skip
USUAL = {  # numbers with which the files are in order, other than 1
    "evidence/tags.csv header": 0, "collection.toml levels": 3, "collection.toml ends": 2, "task.toml": 3, "backup": 0,
    "answers header": 2, "backup events": 0, "index frame": 2048, "index bands": 128, "index coefficients": 20,
    "index both": 20, "artificial scale": 4,
}  # fmt: skip
SCRIPT = '''
import json
import resource
import shutil
import sys
from pathlib import Path

import numpy as np

import audiosim
from audiosim.sound.store import read_head
from audiosim.campaign.archive import read_file
from audiosim.tables.arrays import read_npy
from audiosim.collection.kinds import read_pairs
from audiosim.errors import AudiosimError
from audiosim.collection.grading import find_grading
from audiosim.service.collections.campaigns import CampaignFile
from audiosim.service.collections.questions import read_questions

ROOM = 2**28  # bytes for all files together
place, given = Path(sys.argv[1]), json.loads(sys.stdin.read())
huge, files, beside = given["huge"], given["files"], given["beside"]


def npy(path):
    header = path.read_bytes()
    path.write_bytes(b"\\x93NUMPY\\x01\\x00" + len(header).to_bytes(2, "little") + header + bytes(32))
    read_npy(path)


def index(path):
    shutil.copy(path, path.with_name("index.json"))
    read_head(path.parent)


ALONE = {
    "questions": read_questions, "pairs": read_pairs, "answers": audiosim.read_answers, "backup": read_file,
    "index": index, "vectors.npy": npy,
    "measure": lambda path: audiosim.parse_measure(path.read_text()),
    "artificial": lambda path: find_grading(path.read_text()),
}  # fmt: skip


def read(kind, text):
    shutil.rmtree(place, ignore_errors=True)
    name = kind.split()[0]
    judged = name.startswith(("judgments", "groups"))
    for file, content in {**beside, name: text}.items():
        if name in ALONE and file != name or name.startswith("runs") and file == "runs.trec" != name:
            continue
        if not (judged and file == "judgments.qrels" != name):
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            (place / file).write_text(content)
    if name in ALONE:
        return ALONE[name](place / name)
    if name == "campaign.toml":
        return CampaignFile.of(place)
    found = audiosim.Collection.load(place)
    for work in (audiosim.estimate, audiosim.evaluate, audiosim.check):
        try:
            work(found)
        except AudiosimError:
            pass


def told(kind, said):
    """What came of a file, if it is not one line."""
    try:
        read(kind, files[kind].replace("{}", said))
    except AudiosimError as error:
        return "" if len(str(error).splitlines()) == 1 else str(error)
    except Exception as error:
        return repr(error)
    return ""


taken = []
for kind in files:
    try:
        read(kind, files[kind].replace("{}", str(given["usual"].get(kind, 1))))
        taken.append(kind)
    except AudiosimError as error:
        print(kind, error, file=sys.stderr)
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM,) * 2)
for kind in files:
    for said in huge:
        if fault := told(kind, said):
            print(kind, said, fault[:300])
print(json.dumps(taken))
'''


def test_no_number_in_a_file_takes_memory_or_ends_in_a_traceback(tmp_path):
    given = {"huge": HUGE, "files": FILES, "usual": USUAL, "beside": {"runs.trec": RUN, "judgments.qrels": QRELS}}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path / "c"], cwd=Path(__file__).parents[1], input=json.dumps(given),
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    *faults, taken = done.stdout.splitlines() or ["", "[]"]
    assert faults == [], done.stderr[-2000:]
    assert [*FILES.keys() - json.loads(taken)] == [], done.stderr[-2000:]  # with a 1 the files are in order


SOUNDS = """
import resource
import sys
from pathlib import Path

import numpy as np
import soundfile

from audiosim.errors import AudiosimError
from audiosim.sound.decode import read

ROOM, HEADER = 2**28, 96  # bytes
place, noise = Path(sys.argv[1]), np.random.default_rng(0).uniform(-0.5, 0.5, 8800)
for kind in ("WAV", "W64", "AIFF", "AU", "CAF", "FLAC"):
    soundfile.write(path := place / f"clip.{kind.lower()}", noise, 8000, format=kind, subtype="PCM_16")
    read(path)
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM,) * 2)
refused = 0
for path in sorted(place.iterdir()):
    right = path.read_bytes()
    for start in range(0, min(HEADER, len(right)), 2):
        for wrong in (b"\\xff" * 4, b"\\x7f" + b"\\xff" * 3, b"\\xff" * 3 + b"\\x7f", b"\\xff" * 8):
            path.write_bytes(right[:start] + wrong + right[start + len(wrong) :])
            try:
                read(path)
            except AudiosimError as error:
                refused += 1
                if len(str(error).splitlines()) != 1:
                    print(path.name, start, wrong, error)
            except BaseException as error:
                print(path.name, start, wrong, repr(error)[:300])
print(refused)
"""


def test_no_number_in_the_header_of_a_sound_takes_memory_or_ends_in_a_traceback(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SOUNDS, tmp_path], cwd=Path(__file__).parents[1], capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    *faults, refused = done.stdout.splitlines()
    assert faults == []
    assert int(refused) > 100
