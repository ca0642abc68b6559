"""Gaussians, their divergences, and the search for the nearest ones."""
