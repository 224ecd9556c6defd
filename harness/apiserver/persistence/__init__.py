"""The data directory of an API server: a log of every commit, snapshots, and recovery from them.

A data directory has a `lock` (one server at a time), `identity.json` (tokens, certificates and
ports, mode 0600), and generations. A generation begins at a resourceVersion: `snapshot-<version>`
holds every object at that version, `log-<version>` every commit after it. The two newest
generations are kept. They bound the size of the log and allow watches to resume from before the
newest snapshot; to resume from before the older one fails with 410.

Guarantees. A response or a watch event is sent only after its commit was written to the operating
system, once for all commits of an iteration of the event loop. The death of the *process* (SIGKILL
at any byte) therefore loses nothing that was acknowledged, with every sync policy. The policies
differ in what a *power failure* or a kernel crash can lose:

- `always`: nothing that was acknowledged; each iteration with commits synchronises the log.
- `interval`: about one second of commits (`SYNC_INTERVAL_S`).
- `never`: whatever the operating system had not written yet, commonly about 30 seconds.

After a loss, the directory holds a prefix of the history without gaps, or opening it fails with an
error that names file and offset.

Not in here: when responses are sent (`server.servers`), and the meaning of a commit
(`registry.store`).
"""
