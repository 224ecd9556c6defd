"""Objects of the API from files in YAML or JSON, as people write them and as kubectl prints them.

`reading` is the entry: it yields the objects of files, without the fields of a server, each with
its place. The use of the objects does not belong here, nor do requests: the API server has a
stricter decoder of YAML.
"""
