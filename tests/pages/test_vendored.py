"""Files by others are unchanged: each has its published hash, its version and its licence."""

import hashlib
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [ROOT / "service" / "pages" / "vendor", ROOT / "tests" / "pages" / "vendor"]
PACKAGES = [(folder, package) for folder in FOLDERS for package in json.loads((folder / "manifest.json").read_text())]
# Enough of each licence's own text to tell it from others.
LICENCES = {
    "Apache-2.0": "Apache License Version 2.0, January 2004 http://www.apache.org/licenses/",
    "ISC": "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee",
    "MPL-2.0": "Mozilla Public License, version 2.0",
}


@pytest.mark.parametrize(("folder", "package"), PACKAGES, ids=[package["package"] for _, package in PACKAGES])
def test_every_vendored_file_is_the_published_one(folder, package):
    found = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in package["files"]}
    assert found == {name: file["sha256"] for name, file in package["files"].items()}


@pytest.mark.parametrize("folder", FOLDERS, ids=["service", "tests"])
def test_no_vendored_file_is_missing_from_the_manifest(folder):
    listed = {name for package in json.loads((folder / "manifest.json").read_text()) for name in package["files"]}
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert there - {"manifest.json"} == listed


@pytest.mark.parametrize(("folder", "package"), PACKAGES, ids=[package["package"] for _, package in PACKAGES])
def test_every_package_brings_the_licence_that_it_names(folder, package):
    (licence,) = [name for name in package["files"] if name.endswith("LICENSE.txt")]
    text = re.sub(r"\s+", " ", (folder / licence).read_text())
    assert LICENCES[package["licence"]].lower() in text.lower()


def test_pages_ask_no_other_host_for_anything():
    ours = [
        path
        for path in (ROOT / "service" / "pages").rglob("*")
        if path.suffix in {".js", ".css", ".html"} and "vendor" not in path.parts
    ]
    assert ours
    # A namespace is a name that looks like an address; it is never requested.
    texts = {path.name: path.read_text().replace("http://www.w3.org/", "") for path in ours}
    addresses = {name: re.findall(r"(?:https?:)?//[a-z0-9-]+\.[a-z]", text) for name, text in texts.items()}
    assert {name: found for name, found in addresses.items() if found} == {}
