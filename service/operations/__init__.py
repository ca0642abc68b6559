"""One short function per endpoint: parse, call, answer."""
