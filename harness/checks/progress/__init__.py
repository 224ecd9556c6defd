"""The judges of the end of a run: is anything stuck or leaked?

They compare states of the world at rest. Judges of what must never happen at any time belong in
`checks` itself.
"""
