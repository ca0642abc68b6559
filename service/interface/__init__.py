"""The interface for programs: its document, its examples, its problems."""
