"""Access to the web service from Python: `Client`, and an estimator that asks a service for its predictions."""

from audiosim.service.client import Client
from audiosim.service.estimator import remote

__all__ = ["Client", "remote"]
