"""Machine code for the two most expensive loops, and the array code that defines their results; see docs/kernels.md."""
