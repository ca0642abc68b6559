"""Pure mathematics: arrays in, arrays out; independent of music and of files."""
