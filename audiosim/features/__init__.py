"""Pairs in, a table of named columns out."""
