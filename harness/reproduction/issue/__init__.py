"""The folder for an issue: the scenario, the page and the picture, without secrets.

Everything is read from the directory of one failed run. Nothing is run here.
"""
