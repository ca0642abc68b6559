"""Operation of a service: background tasks, observation of requests, log, metrics, startup."""
