"""The web service: translates between HTTP requests and library calls."""
