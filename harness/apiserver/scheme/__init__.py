"""What the API serves and what its types are: resources, field types, defaults, quantities, timestamps, names.

Data and pure functions on values, without a store and without requests. Validation belongs in `validation`.
"""
