"""Collections: documents, queries, systems, runs and judgments, read and checked."""
