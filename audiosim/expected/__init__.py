"""Expected scores of the systems, their moments and their ranking while judgments are missing."""
