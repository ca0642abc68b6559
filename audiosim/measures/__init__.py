"""Measures as values, and the scores of rankings."""
