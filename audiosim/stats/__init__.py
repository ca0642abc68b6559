"""Pure mathematics: arrays in, arrays out; knows no music and no files."""
