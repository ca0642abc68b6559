"""Machine code for the two loops that take most of the time, and the arrays that define them; see docs/kernels.md."""
