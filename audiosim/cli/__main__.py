"""`python -m audiosim.cli` is the command."""

from audiosim.cli import main

main()
