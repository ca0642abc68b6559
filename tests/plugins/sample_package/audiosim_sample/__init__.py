"""A package that extends audiosim, with one example for each extension point."""
