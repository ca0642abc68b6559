"""Callers: their roles and their tokens."""
