"""How relevant an unjudged pair is likely to be."""
