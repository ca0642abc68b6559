"""Campaigns: their settings, their questions, and the learning of their models."""
