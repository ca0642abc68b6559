from pathlib import Path

import pytest

from audiosim.errors import InputError
from audiosim.reproduce import PrintedRow, rows

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
CHAPTERS = ("section 3.3", "Table 3.2", "Table 3.3", "Table 3.4", "Table 4.2", "Table 4.3", "section 4.1")


def of_satisfaction(found):
    return [row for row in found if row.source.removeprefix("Urbano (2013), ") in CHAPTERS]


@pytest.mark.slow
def test_every_number_on_satisfaction_that_the_data_allows_comes_out():
    if not (SHARED / "preferences").is_dir() or not (SHARED / "mirex2011").is_dir():
        pytest.skip("the published data is not here: shared/data beside the checkout")
    found = of_satisfaction(rows(SHARED))
    per_source = [row.source.removeprefix("Urbano (2013), ") for row in found]
    assert [per_source.count(source) for source in CHAPTERS] == [6, 14, 14, 14, 9, 36, 4]
    assert [row for row in found if not row.agrees] == []


def test_without_the_data_every_number_that_needs_it_is_said_not_to_come_out(tmp_path):
    found = of_satisfaction(rows(tmp_path))
    assert len(found) == 97
    assert [row.quantity for row in found if row.computed is not None] == ["P(Sat) from GAP@5 = .32, Broad"]
    assert sum(row.agrees for row in found) == 1


@pytest.mark.parametrize(
    ("printed", "computed", "digits", "agrees"),
    [
        (0.531, 0.53104, 4, True),
        (0.531, 0.53094, 4, False),
        (0.7, 0.7003, 1, True),
        (2025, 2025.0, 0, True),
        (0.0, -0.00001, 4, True),
        (0.5, None, 1, False),
    ],
)
def test_a_number_agrees_to_every_printed_digit(printed, computed, digits, agrees):
    row = PrintedRow("a source", "a quantity", printed, computed, digits)
    assert row.agrees is agrees
    assert row.to_dict() == {
        "source": "a source",
        "quantity": "a quantity",
        "printed": printed,
        "computed": computed,
        "agrees": agrees,
    }


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="nowhere: expected a folder with the published data"):
        list(rows(tmp_path / "nowhere"))
