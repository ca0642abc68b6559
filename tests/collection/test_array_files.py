"""Files of arrays that claim more than they contain or than memory holds; damaged files of every form."""

import gzip
import itertools
import os
import subprocess
import sys
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.evidence import read_evidence
from audiosim.collection.kinds import read_documents
from audiosim.errors import InputError
from audiosim.measures.scores import judged_files
from audiosim.tables import text as lines
from audiosim.tables.arrays import UNPACKED, parquet_portions, parquet_table, read_npy, read_npz, write_parquet

ROOT = Path(__file__).resolve().parents[2]
RUN = "q Q0 a 1 2 S\nq Q0 b 2 1 S\n"


def header(shape, kind="<f8"):
    """The header of an npy file, without numbers."""
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def test_arrays_are_read_as_numpy_reads_them(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {
        "document": np.array(["d1", "d2"]),
        "vector": np.asfortranarray(rng.random((2, 3))),
        "other": rng.random((3, 2)).astype(np.float32),
    }
    np.savez_compressed(tmp_path / "a.npz", **arrays)
    found, names = read_npz(tmp_path / "a.npz", arrays.keys())
    assert names == sorted(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
        np.save(tmp_path / "a.npy", array)
        np.testing.assert_array_equal(read_npy(tmp_path / "a.npy"), array)


def test_arrays_that_nobody_asks_for_are_not_read(tmp_path):
    np.savez(tmp_path / "a.npz", document=["d1"], value=[1.0])
    with ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr("huge.npy", b"no array at all")
    assert set(read_npz(tmp_path / "a.npz", {"document", "value"})[0]) == {"document", "value"}


WRONG = {
    "promises much": (
        header("(10**12,)".replace("10**12", "1000000000000")),
        "promises 8,000,000,000,000 bytes of num",
    ),
    "negative": (header("(-1,)") + bytes(8), "promises -8 bytes"),
    "nested": (header("(" * 4000 + ")" * 4000), "cannot be read as npy: "),
    "objects": (header("(1,)", "|O") + bytes(8), "it contains Python objects, expected numbers or texts"),
    "cut short": (header("(2,)") + bytes(8), "promises 16 bytes of numbers, found 8"),
    "no header": (b"\x93NUMPY\x01\x00\xff\xff{", "cannot be read as npy: "),
    "text": (b"0 1 2\n", "cannot be read as npy: "),
}


@pytest.mark.parametrize(("data", "message"), WRONG.values(), ids=WRONG)
def test_a_header_that_cannot_be_true_is_one_line(tmp_path, data, message):
    (tmp_path / "a.npy").write_bytes(data)
    with pytest.raises(InputError, match=message) as caught:
        read_npy(tmp_path / "a.npy")
    assert len(str(caught.value).splitlines()) == 1
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        archive.writestr("value.npy", data)
    (tmp_path / "a.npz").write_bytes(file.getvalue())
    with pytest.raises(InputError, match=message.replace("npy", "npz")):
        read_npz(tmp_path / "a.npz", {"value"})


@pytest.mark.slow
def test_a_small_file_that_unpacks_to_gigabytes_is_refused_before_it_is_read(tmp_path):
    zeros = bytes(2**24)
    with ZipFile(tmp_path / "a.npz", "w", ZIP_DEFLATED) as archive, archive.open("value.npy", "w") as file:
        file.write(header(f"({2**20 * 40},)"))
        for _ in range(20):
            file.write(zeros)
    assert (tmp_path / "a.npz").stat().st_size < 2**20 < UNPACKED
    with pytest.raises(
        InputError, match=r"a.npz: cannot be read as npz: it unpacks to 335,\d{3},\d{3} bytes, expected"
    ):
        read_npz(tmp_path / "a.npz", {"value"})


@pytest.mark.slow
def test_a_small_parquet_file_of_a_hundred_million_numbers_is_refused_before_it_is_read(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"document": pa.array(["d"] * 2**20).dictionary_encode(), "x": np.zeros(2**20)})
    with parquet.ParquetWriter(tmp_path / "a.parquet", table.schema) as writer:
        for _ in range(20):
            writer.write_table(table)
    assert (tmp_path / "a.parquet").stat().st_size < 2**20
    with pytest.raises(InputError, match=r"a.parquet: it holds 41,943,040 numbers, expected up to 33,554,432$"):
        parquet_table(tmp_path / "a.parquet")


@contextmanager
def room(size):
    """Room for so many more bytes in this process."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.skipif(sys.platform != "linux", reason="room is limited by Linux")
def test_a_long_text_that_a_parquet_file_holds_once_is_in_memory_once(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    count, text = 50_000, "x" * 100_000
    long = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array([text]))
    listed = pa.ListArray.from_arrays(pa.array(range(count + 1), pa.int32()), long)
    columns = {"document": pa.array(map(str, range(count))), "query": long, "genre": long, "x": [1.0] * count}
    path = tmp_path / "a.parquet"
    for stored in (True, False):  # whether the file notes the coding
        table = pa.table(columns | {"tags": listed})
        parquet.write_table(table, path, store_schema=stored, dictionary_pagesize_limit=2**20)
        assert path.stat().st_size < 2**21
        with room(2**29):
            assert set(parquet_table(path).cells("genre")) == {text}
            assert read_documents(path)["7"].genre == text
            portions = list(parquet_portions(path, ("x", "query", "genre"), 30_000))
        assert [len(one) for one in portions] == [30_000, 20_000]
        assert {*portions[0].cells("query"), *portions[1].cells("genre")} == {text}
    wide = pa.table({"document": pa.array([b"x" * 200_000] * 1500, pa.binary(200_000))})
    parquet.write_table(wide, path, use_dictionary=["document"])
    with pytest.raises(InputError, match=r"a.parquet: it holds 37,500,000 numbers, expected up to"):
        parquet_table(path)


@pytest.mark.skipif(sys.platform != "linux", reason="room is limited by Linux")
@pytest.mark.parametrize("packed", ["snappy", "zstd", "none"])
@pytest.mark.parametrize("coded", [True, False])
def test_a_page_whose_header_promises_more_than_there_is_takes_no_memory(tmp_path, packed, coded):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(
        pa.table({"document": [f"d{place % 9}" for place in range(300)]}),
        path,
        compression=packed,
        use_dictionary=coded,
    )
    whole, chunk = path.read_bytes(), parquet.read_metadata(path).row_group(0).column(0)
    starts = [chunk.data_page_offset, *([chunk.dictionary_page_offset] if coded else [])]
    assert len(parquet_table(path)) == 300
    refused = 0
    with room(2**28):
        for place, number in itertools.product(
            (start + more for start in starts for more in range(24)), (b"\xfe\xff\xff\xff\x07", b"\x80\x80\x80\x80\x04")
        ):
            path.write_bytes(whole[:place] + number + whole[place + len(number) :])
            try:
                assert len(parquet_table(path)) == 300
            except InputError as error:
                refused += "does not end where its header says" in str(error)
    assert refused >= 10


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_pages_of_each_version_are_read_by_row_group(tmp_path, version):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    names = [f"d{place // 3}" for place in range(20_000)]
    table = pa.table({"document": names, "x": np.arange(20_000.0), "y": pa.array([None, 2.0] * 10_000)})
    parquet.write_table(
        table,
        tmp_path / "a.parquet",
        data_page_version=version,
        row_group_size=7000,
        data_page_size=2000,
        write_page_index=True,
    )
    found = parquet_table(tmp_path / "a.parquet")
    assert found.cells("document") == names
    np.testing.assert_array_equal(found.numbers("x"), np.arange(20_000))


def test_an_index_that_pandas_wrote_is_no_column(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"document": ["d1", "d2"], "year": [1990, None]}, index=["x", "y"])
    frame.to_parquet(tmp_path / "a.parquet")
    found = parquet_table(tmp_path / "a.parquet")
    assert list(found.columns) == ["document", "year"]
    assert found.cells("document") == ["d1", "d2"]
    np.testing.assert_array_equal(found.numbers("year"), [1990, np.nan])


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes with names")
@pytest.mark.parametrize(
    "name", ["evidence/a.csv", "documents.tsv", "runs/b.trec", "judgments.qrels", "collection.toml"]
)
def test_a_pipe_or_a_device_in_a_folder_is_refused_and_not_waited_for(tmp_path, name):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a.trec").write_text(RUN)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match=rf"{name}: is a pipe or a device, expected a file$"):
        Collection.load(tmp_path)
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(InputError, match=rf"{name}: is a pipe or a device, expected a file$"):
        Collection.load(tmp_path)
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("gone")
    with pytest.raises(InputError, match=rf"{name}: is a link to nothing, expected a file$"):
        Collection.load(tmp_path)


def test_a_table_with_a_stray_line_end_or_quote_is_one_line(tmp_path):
    (tmp_path / "evidence").mkdir()
    for text, error in (
        ("document,year\nd1,19\r90\n", r"a.csv:3: expected 2 columns as in the header, found 1$"),
        ('document,year\n"d1,1990\nd2",1991\n', r"a.csv:2: not CSV: .*, expected one record per line$"),
    ):
        (tmp_path / "evidence" / "a.csv").write_bytes(text.encode())
        with pytest.raises(InputError, match=error):
            read_evidence(tmp_path)


def test_a_packed_run_that_unpacks_without_end_is_refused_on_the_way_by_arrays_too(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "UNPACKED", 2**16)
    monkeypatch.setattr(lines, "EXPANSION", 1)
    with gzip.open(tmp_path / "a.trec.gz", "wt") as file:
        file.writelines(f"q Q0 d{number} {number} {-number} S\n" for number in range(1, 10_000))
    (tmp_path / "judgments.qrels").write_text("q 0 d1 1\n")
    with pytest.raises(InputError, match=r"a.trec.gz:\d+: the file unpacks to more than 1 times its size, expected"):
        judged_files([tmp_path / "a.trec.gz"], tmp_path / "judgments.qrels", 5)


def test_complaints_are_one_line_whatever_they_quote():
    assert str(InputError("a\x1b[31mb\nc\u2028d")) == r"a\x1b[31mb\nc\u2028d"
    assert str(InputError("Bj\u00f6rk \u4e45\u77f3\u8b72")) == "Björk 久石譲"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited by the address space of Linux")
def test_damaged_files_of_every_form_are_read_or_refused_in_one_line():
    script = ROOT / "benchmarks" / "file_mutants.py"
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    ended = subprocess.run(
        [sys.executable, script, "--mutants", "25"], capture_output=True, text=True, env=environment, timeout=300
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert len(ended.stdout.splitlines()) >= 25


def test_parquet_is_written_portion_by_portion_and_read_as_pyarrow_reads_it(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    sizes = [3, 1, 2]
    write_parquet(path, ({"pair": [None, *"ab"][:n], "x": np.arange(n) / 3, "n": np.arange(n)} for n in sizes))
    with parquet.ParquetFile(path) as file:
        assert [file.metadata.row_group(place).num_rows for place in range(3)] == sizes
        columns = file.read().to_pydict()
    expected = {"pair": [None, "a", "b", None, None, "a"], "x": [0, 1 / 3, 2 / 3, 0, 0, 1 / 3], "n": [0, 1, 2, 0, 0, 1]}
    assert columns == expected


def test_a_parquet_file_that_cannot_be_completed_leaves_the_one_before(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "rows.parquet"
    path.write_text("before")

    def broken():
        yield {"x": np.arange(3.0)}
        raise InputError("no more")

    with pytest.raises(InputError, match="no more"):
        write_parquet(path, broken())
    assert (path.read_text(), [*tmp_path.iterdir()]) == ("before", [path])
    with pytest.raises(InputError, match=r"rows.parquet: cannot be written: No such file or directory"):
        write_parquet(tmp_path / "nowhere" / "rows.parquet", [{"x": np.arange(3.0)}])
