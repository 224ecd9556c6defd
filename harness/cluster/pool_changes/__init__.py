"""Changes of the device pools during a run: what a DRA driver publishes, and taints by rules.

The pools are made by `fake_nodes`; here they change by the scenario's `pools.changes`, at times
and on devices that the seed decides. A pool of one slice is changed in place, as by upstream's
helper for drivers; one of several slices gets a new generation.
"""
