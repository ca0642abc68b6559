"""The command, where `python -m audiosim` calls it: of the environment whose Python this is."""

from audiosim.cli import main

if __name__ == "__main__":
    main()
