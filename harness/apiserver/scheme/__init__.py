"""The API's resources and types: field types, defaults, quantities, timestamps, object names.

Data and pure functions of values, without a store and without requests; and which feature gates
are on. Validation belongs in `validation`.
"""
