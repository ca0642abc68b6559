"""Drafts: collections that organisers make in the browser."""
