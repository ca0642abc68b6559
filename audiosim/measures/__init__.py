"""What is measured of a ranking, and what that measure is expected to be."""
