"""Requests to a service, and checks of its answers."""
