"""Estimation of the relevance of unjudged pairs."""
