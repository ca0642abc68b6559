"""Tests of the pages: a package, so that one browser serves all of them and is closed after the last."""
