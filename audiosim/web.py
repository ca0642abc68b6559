"""The web service from Python: `Client`, and the estimator whose predictions come from a service."""

from audiosim.service.client import Client
from audiosim.service.remote_model import remote

__all__ = ["Client", "remote"]
