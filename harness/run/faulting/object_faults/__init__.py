"""Faults that the run injects by changing objects of the API, as another client of it."""
