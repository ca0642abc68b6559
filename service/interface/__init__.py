"""The interface as programs see it: its document, its examples, its problems."""
