"""The Open Inference Protocol, for clients of servers that speak it; nothing else needs it."""
