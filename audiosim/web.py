"""The web service from Python: `Client`, and the estimator that asks a service what it would predict."""

from audiosim.service.client import Client
from audiosim.service.remote_model import remote

__all__ = ["Client", "remote"]
