"""Which scheduler allocated what, in runs with several schedulers.

Schedulers that do not coordinate give one device to two claims, upstream too (kubernetes#128980).
That must not be taken for a race within one scheduler, nor hide one.
"""
