"""The observations of a run, typed: each record is decoded once, and given to all who fold it.

The types have what checks ask for; other fields of the API are skipped. Folders (of holds, taints,
reservations, …) do not belong here: they are beside the checks that read them.
"""
