"""Estimation of how relevant an unjudged pair is likely to be."""
