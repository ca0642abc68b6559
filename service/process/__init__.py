"""The process of a service: its memory and its background loops."""
