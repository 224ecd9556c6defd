"""The load on other hosts: workers that know a master's address and a kubeconfig, nothing else.

A worker has two connections to the master, both of Locust's own kind: Locust's, for users,
heartbeats and statistics, and a channel beside it for everything of ours. On the channel the
worker introduces itself and gets the plan, measures the offset of its clock, and sends the journal
of its calls in chunks; the master writes them into the run directory and answers how many bytes it
has. The worker keeps its journal until the end, so that a chunk that was lost is sent again.

Locust's sockets have no authentication. They are bound to loopback unless the scenario says
otherwise.
"""
