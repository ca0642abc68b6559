"""Judged collections in, model files out: fit, validate, describe."""
