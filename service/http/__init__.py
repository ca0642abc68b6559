"""The entrance to a service: access, limits, and the exchange of requests and answers."""
