"""trace.json for ui.perfetto.dev, in the format of Chrome's trace events.

A track for each device with its holds, and one below it for each claim that overlaps, because spans
of one track have to nest; counters; faults; and the steps of the subject. A large trace is bounded:
what is near a double allocation stays whole, and the trace says how much is left out.
"""
