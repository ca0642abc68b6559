"""Stamp of a collection's folder: it changes with the files of a collection, and with no others."""

import os

from audiosim.collection.folder import file_stamp, folder_stamp


def write(path, text="a"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_every_file_of_a_collection_changes_the_stamp(tmp_path):
    files = ("runs/s1.trec", "queries.tsv", "input.system", "arrivals/runs/s2.trec", "judges/m.tsv", "evidence/x.csv")
    for name in files:
        write(tmp_path / name)
    before = folder_stamp(tmp_path)
    for name in files:
        write(tmp_path / name, "ab")
        longer = folder_stamp(tmp_path)
        write(tmp_path / name)
        os.utime(tmp_path / name, ns=(1, 1))
        later = folder_stamp(tmp_path)
        (tmp_path / name).unlink()
        gone = folder_stamp(tmp_path)
        assert len({before, longer, later, gone}) == 4
        write(tmp_path / name)
        before = folder_stamp(tmp_path)


def test_recordings_hidden_files_broken_links_and_the_database_do_not_change_it(tmp_path):
    write(tmp_path / "runs.trec")
    (tmp_path / "sounds").mkdir()
    before = folder_stamp(tmp_path, tmp_path / "campaign.db")
    for name in ("a.MP3", "audio/b.wav", ".hidden", "campaign.db", "campaign.db-wal"):
        write(tmp_path / name)
    (tmp_path / "link.tsv").symlink_to(tmp_path / "nothing")
    assert folder_stamp(tmp_path, tmp_path / "campaign.db") == before


def test_a_file_that_an_option_names_is_stamped_and_a_missing_one_is_named(tmp_path):
    assert file_stamp(None) == "None"
    assert file_stamp("none") == "none"
    path = tmp_path / "judgments.tsv"
    write(path)
    before = file_stamp(path)
    write(path, "ab")
    assert file_stamp(path) != before
