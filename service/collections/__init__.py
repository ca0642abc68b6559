"""Everything that a service serves, and the results computed from it."""
