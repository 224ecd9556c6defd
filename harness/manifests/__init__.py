"""Objects of the API from files in YAML or JSON, as people write them and as kubectl prints them.

`reading` is the entry: the objects of files, without what a server writes, each with the place
where it stands. What a caller does with the objects does not belong here, nor do requests: the API
server's own decoder of YAML is stricter and has other limits.
"""
