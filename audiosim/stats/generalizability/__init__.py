"""Reliability of an evaluation: generalizability theory, split halves, agreement of raters."""
