"""A package that brings something to audiosim: one thing for each extension point."""
