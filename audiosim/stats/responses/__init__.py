"""Models of people's answers: levels of a scale, and comparisons of two values."""
