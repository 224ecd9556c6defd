"""Removes names, secrets and paths from what leaves the machine: imports, packs and issues.

`keys` lists the keys of names and `documents` walks through objects by them. `names` and `texts`
replace words, `values` recognizes the ones that identify a device or are secret. Each caller
(`importing`, `packing`, `reproduction`) decides which objects and files it redacts.
"""
