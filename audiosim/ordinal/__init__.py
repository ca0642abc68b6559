"""Features of pairs: a table of named columns."""
