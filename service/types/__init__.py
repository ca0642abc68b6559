"""The wire types: the JSON of requests and answers."""
