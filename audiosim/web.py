"""The web service from Python: `Client`, and the estimator that gets its predictions from a service."""

from audiosim.service.client import Client
from audiosim.service.remote_model import remote

__all__ = ["Client", "remote"]
