"""The load of a run: Locust users that create, use and delete claims and pods.

They run as separate processes. No other package imports locust or gevent, and neither does
`launching`, which other packages import.
Locust's monkey patching makes the harness's own client cooperative, so that users, watch and
journal use the same code as everywhere else. Nothing is recorded in Locust's event listeners,
because Locust swallows their exceptions; instead, each call is journaled before and after it is
made.
"""
