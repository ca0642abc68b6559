"""Files of features: any number of rows in portions, errors with their place, predictions by hand."""

import csv
import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import logistic

from audiosim import Collection
from audiosim.collection.evidence import read_feature_rows
from audiosim.collection.pool import build_pool
from audiosim.collection.values import BROAD
from audiosim.errors import InputError
from audiosim.joint.independent import predict_feature_file
from audiosim.ordinal.features import columns
from audiosim.ordinal.model import load_model, save_model
from audiosim.tables.arrays import write_parquet

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "fixtures" / "demo"
FEATURES = ("fSYS", "OV", "fART", "sGEN", "fGEN")
TABLE = "document,fSYS,other,OV,fART,sGEN,fGEN\na,.5,x,.2,.1,1,.3\nb,.25,y,.2,,0,.4\nc,1,z,.2,.5,0,.1\n"


def together(portions):
    """The columns of all portions, as one."""
    portions = list(portions)
    return {name: [value for one in portions for value in list(one[name])] for name in portions[0]}


def by_hand(model, row):
    """Probabilities of the levels from the numbers in a model file and SciPy's logistic distribution."""
    fields = json.loads((ROOT / "models" / f"{model}.json").read_text("utf-8"))
    products = [np.prod([row[name] for name in term.split(":")]) for term in fields["terms"]]
    ends = np.array(fields["thresholds"]) + np.dot(fields["coefficients"], products)
    return -np.diff([1, *logistic.cdf(ends), 0])


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(TABLE)
    return path


@pytest.mark.parametrize("size", [1, 2, 100])
def test_rows_that_a_fallback_predicts_are_counted_with_the_reason(table, size, caplog):
    with caplog.at_level("INFO", "audiosim.notes"):
        together(predict_feature_file(table, "mout", BROAD, size))
    (note,) = caplog.messages
    assert note.startswith("historical-broad predicts 1 of the 3 rows in place of mout-broad: their ")


@pytest.mark.parametrize("size", [1, 2, 100])
def test_each_row_has_the_probabilities_that_scipy_gives(table, size):
    found = together(predict_feature_file(table, "mout", BROAD, size))
    rows = [dict(row) for row in csv.DictReader(TABLE.splitlines())]
    assert found["document"] == ["a", "b", "c"]
    assert found["model"] == ["mout-broad", "historical-broad", "mout-broad"]
    for place, row in enumerate(rows):
        model = found["model"][place]
        expected = by_hand(model, {name: float(row[name] or "nan") for name in FEATURES})
        np.testing.assert_allclose([found[f"p{level}"][place] for level in (0, 1, 2)], expected, rtol=1e-12)
        mean = expected @ [0, 1, 2]
        assert found["expectation"][place] == pytest.approx(mean)
        assert found["variance"][place] == pytest.approx(expected @ [0, 1, 4] - mean**2)
        assert found["gain"][place] == pytest.approx(mean / 2)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_features_of_a_collection_are_predicted_as_the_collection_is(run, tmp_path, ending):
    pool = build_pool(Collection.load(DEMO))
    made = columns(pool, np.full(len(pool.pairs), np.nan), FEATURES)
    path = tmp_path / f"rows.{ending}"
    if ending == "parquet":
        arrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        words = {"query": [pair.query for pair in pool.pairs], "document": [pair.document for pair in pool.pairs]}
        parquet.write_table(arrow.table(words | made), path, row_group_size=70)
    else:
        with path.open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["query", "document", *made])
            values = (["" if np.isnan(value) else value for value in column.tolist()] for column in made.values())
            writer.writerows([*pair, *row] for pair, row in zip(pool.pairs, zip(*values, strict=True), strict=True))

    rows = run("predict-rows", path, "mout-fine")[1]
    assert rows == run("predict", DEMO, "--model", "mout", "--judgments", "none", "--format", "csv")[1]
    assert len(rows.splitlines()) == len(pool.pairs) + 1


@pytest.mark.slow
def test_parquet_is_read_and_written_in_portions_that_polars_joins(tmp_path):
    polars = pytest.importorskip("polars")
    parquet = pytest.importorskip("pyarrow.parquet")
    rng, path, count = np.random.default_rng(0), tmp_path / "rows.parquet", 250_001
    made = {name: rng.random(count).astype(np.float32) for name in FEATURES}
    polars.DataFrame({"document": np.arange(count), "more": ["x"] * count, **made}).write_parquet(path)
    output = tmp_path / "predicted.parquet"
    write_parquet(output, predict_feature_file(path, "mout-broad", None, 100_000))
    found = polars.read_parquet(output)
    assert [parquet.ParquetFile(output).metadata.row_group(i).num_rows for i in range(3)] == [100_000, 100_000, 50_001]
    assert found["document"].to_list() == list(map(str, range(count)))
    for place in (0, 99_999, 100_000, 250_000):
        expected = by_hand("mout-broad", {name: float(column[place]) for name, column in made.items()})
        np.testing.assert_allclose(found.row(place)[-3:], expected, rtol=1e-12)


WRONG = {
    "too few columns": ("fSYS,OV\n1,2\n3\n", "rows.csv:3: expected 2 columns as in the header, found 1"),
    "no number": ("fSYS,OV\n1,two\n", "rows.csv:2: expected a finite number for OV, found 'two'"),
    "infinite": ("fSYS,OV\n1,inf\n", "rows.csv:2: expected a finite number for OV, found 'inf'"),
    "twice": ("OV,fSYS,OV\n1,2,3\n", "rows.csv:1: the header names column OV twice, expected it once"),
    "empty": ("", "rows.csv:1: the file is empty, expected a header with features such as fSYS"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_irregular_row_is_named(tmp_path, name):
    text, message = WRONG[name]
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        list(read_feature_rows(path, FEATURES, 10))
    assert str(error.value).endswith(message)


def test_what_the_model_cannot_use_is_an_error(table, tmp_path):
    def message(path, model):
        with pytest.raises(InputError) as error:
            list(predict_feature_file(path, model, None, 2))
        return str(error.value)

    assert "model joint-fine predicts all pairs of a collection together; expected one that" in message(table, "joint")
    assert message(table, "loutput-fine").startswith(f"{table}: model loutput-fine needs the features fTEAM, OV")
    large = tmp_path / "large.csv"
    large.write_text(f"{TABLE}d,1e300,x,1e300,1,1e300,1e300\n")
    assert message(large, "mout-broad") == f"{large}: the features of row 3 are too large to multiply"
    alone = tmp_path / "alone.json"
    save_model(replace(load_model("mout-broad"), name="alone", fallback=None), alone)
    assert message(table, str(alone)) == (
        f"{table}: row 1: a feature of model alone is unknown, and it names no fallback"
    )


def test_parquet_with_text_for_a_feature_or_an_infinite_number_is_an_error(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "rows.parquet"
    parquet.write_table(arrow.table({"fSYS": ["a"], "OV": [1.0]}), path)
    with pytest.raises(InputError, match=r"rows\.parquet: row 0: expected a finite number for fSYS, found '"):
        list(read_feature_rows(path, FEATURES, 10))
    parquet.write_table(arrow.table({"fSYS": [0.1] * 20 + [np.inf], "OV": [None] * 21}), path)
    with pytest.raises(InputError, match="row 20: expected a finite number for fSYS, found inf"):
        list(read_feature_rows(path, FEATURES, 8))
    parquet.write_table(arrow.table({"fSYS": arrow.array([], arrow.float64())}), path)
    assert [(rows.count, list(rows.numbers)) for rows in read_feature_rows(path, FEATURES, 8)] == [(0, ["fSYS"])]
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match=r"rows\.parquet: cannot be read as Parquet: "):
        list(read_feature_rows(path, FEATURES, 8))


def test_a_packed_table_is_read(table, tmp_path):
    packed = tmp_path / "rows.tsv.gz"
    packed.write_bytes(gzip.compress(TABLE.replace(",", "\t").encode()))
    plain, other = (next(read_feature_rows(path, FEATURES, 9)) for path in (table, packed))
    assert plain.words == other.words == {"document": ["a", "b", "c"]}
    for name in FEATURES:
        np.testing.assert_array_equal(plain.numbers[name], other.numbers[name])
