"""The web service: translates between HTTP requests and library calls.

It is imported as `audiosim.service`; in a checkout, a link of that name leads to this folder.
"""

from pathlib import Path

if __name__ == "service":  # a second copy of each module, whose types would not be those of the first
    raise ImportError("the service is imported as audiosim.service")

# Without the link, tracebacks name the files that developers edit, and breakpoints in them work.
__path__ = [str(Path(place).resolve()) for place in __path__]
