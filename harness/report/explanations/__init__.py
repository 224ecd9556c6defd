"""Shows what logs of schedulers say about double allocations: as text and as JSON.

Made of `log_analysis` alone; verdicts about runs do not belong here. The form of the JSON document
is what `flake-hunt scenarios --schema explanation` prints.
"""
