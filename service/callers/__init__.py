"""Callers: their roles, and the tokens that they show."""
