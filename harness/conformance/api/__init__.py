"""The documented rules of an API server, which are checked over HTTP.

They run against any API server; a run against a real cluster checks the rules themselves. The rules
are data (`rules/*.yaml`, one file per group): a sequence of requests with their expected responses.
A run uses its own namespace and names and removes the objects that it creates.

Nothing of the embedded API server belongs here, because it is what is tested, and nothing random.
"""
