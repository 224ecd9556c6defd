"""What of an API server survives its process: a data directory with a log of every commit.

Layout of a data directory: `lock` (one server at a time), `identity.json` (token, certificates and ports, mode 0600), and
generations. A generation begins at a resourceVersion: `snapshot-<version>` holds every object at that version and
`log-<version>` every commit after it. The two newest generations are kept, so that the log does not grow for ever and a watch can
still resume from what was committed before the newest snapshot; a resume from before the older one is 410.

What is promised. An answer, and the event of a watch, leaves the server only after its commit was given to the operating system
(once for all commits of a turn of the loop). So whatever the policy, the death of the *process* (SIGKILL at any byte)
loses nothing that anybody was told. The policies differ in what the loss of *power* or a crash of the kernel may take:

- `always`: nothing that anybody was told; the log is synchronised to the disk in every turn that commits.
- `interval`: the commits of about the last second (`SYNC_INTERVAL_S`).
- `never`: whatever the operating system had not written yet, commonly some 30 seconds.

In every case what is left is a beginning of the history without holes, or an error that names file and offset.

Not in here: who may answer when (see `servers`), and what a commit means (see `store`).
"""
