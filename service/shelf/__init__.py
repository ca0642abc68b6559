"""Everything that a service serves, and what is computed from it."""
