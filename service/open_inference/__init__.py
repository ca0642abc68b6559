"""The Open Inference Protocol, for clients that speak it; no other code uses it."""
