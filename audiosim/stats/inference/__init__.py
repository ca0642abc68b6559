"""Classical inference: tests, intervals and resampling of scores, and their distributions."""
