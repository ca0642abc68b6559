"""Tests of the pages. They are a package, so that all share one browser, which is closed after the last."""
