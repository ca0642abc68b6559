"""Shapes of files that no table has: each is one line, soon, in every reader."""

import json

import pytest

from audiosim.collection.collection import Collection
from audiosim.errors import InputError
from audiosim.service.collections.campaigns import CampaignFile
from audiosim.service.collections.questions import read_questions
from audiosim.service.settings import Settings

RUN = "q Q0 a 1 2 S\nq Q0 b 2 1 S\nq Q0 b 1 2 T\nq Q0 a 2 1 T\n"
TOML = {
    "deep": "x = " + "[" * 50_000,
    "dotted": ".".join("a" * 50_000) + " = 1\n",
    "long number": "listen = " + "9" * 50_000 + "\n",
    "inline": "x = " + "{a=" * 10_000,
    "not UTF-8": "x = 'é'\n",
}
LARGE = {
    "columns without a name that is known": ",".join(f"c{place}" for place in range(100_000)) + "\n",
    "runs": "q Q0 a 1 2 S\n" * 50_000,
    "line ends of old Macs": "q 0 a 1\r" * 80_000,
    "names": "query,document,grade\n" + "".join(f"q{place},a,1\n" for place in range(60_000)),
}


@pytest.mark.parametrize("shape", TOML)
def test_every_reader_of_toml_refuses_what_cannot_be_read_in_one_line(tmp_path, shape):
    path = tmp_path / "campaign.toml"
    path.write_bytes(TOML[shape].encode("latin-1"))
    for read in (
        lambda: CampaignFile.of(tmp_path),
        lambda: read_questions(path),
        lambda: Settings.read({"config": path}, {}),
    ):
        with pytest.raises(InputError) as caught:
            read()
        assert str(caught.value).startswith(str(path))
        assert len(str(caught.value).splitlines()) == 1
        assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("name", ["systems.tsv", "comparisons.tsv", "judges/m.tsv", "queries.tsv"])
@pytest.mark.parametrize("shape", LARGE)
def test_a_large_file_of_another_kind_is_refused_in_one_line(tmp_path, name, shape):
    (tmp_path / "runs.trec").write_text(RUN, encoding="utf-8")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(LARGE[shape].encode())
    with pytest.raises(InputError) as caught:
        Collection.load(tmp_path)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["documents.jsonl", "judgments.json"])
def test_objects_with_names_of_their_own_make_no_table_of_their_number_squared(tmp_path, name):
    (tmp_path / "runs.trec").write_text(RUN, encoding="utf-8")
    rows = [{"query": "q", "document": f"d{place}", "grade": 1, f"x{place}": 1} for place in range(20_000)]
    text = json.dumps(rows) if name.endswith(".json") else "".join(f"{json.dumps(row)}\n" for row in rows)
    (tmp_path / name).write_text(text, encoding="utf-8")
    said = "expected objects with much the same names, found 20,003 names in 20,000 objects"
    with pytest.raises(InputError, match=said):
        Collection.load(tmp_path)
