"""The commits of an API server in the process, as a recorder writes them down."""

import msgspec

from harness.apiserver.storage import watch_cache
from harness.history import records
from tests.support import local_servers


class Recorder:
    """The records of all commits of a server."""

    def __init__(self, server: local_servers.LocalServer) -> None:
        self.body: list[records.Body] = [
            records.Listed(resource=plural, purpose="first", resource_version=0, count=0, ts_ns=0)
            for plural in ("pods", "resourceclaims")
        ]
        server.store.listen(self._record)

    def _record(self, commit: watch_cache.Commit) -> None:
        self.body.append(
            records.Observation(
                resource=commit.resource.plural,
                type=commit.type,
                resource_version=commit.object.resource_version,
                object=msgspec.Raw(commit.object.data),
                ts_ns=commit.object.resource_version,
            )
        )
