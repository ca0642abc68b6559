"""`python -m audiosim` runs the command in this environment."""

from audiosim.cli import main

if __name__ == "__main__":
    main()
