"""Synthetic collections and sounds with known answers; replay of a campaign, once or on many parts."""
