"""Ways in and out: uploaded judgments, additions to collections, exports."""
