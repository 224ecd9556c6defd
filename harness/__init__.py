"""Flake Hunt: did a Kubernetes scheduler ever give one device to two claims?

The public interface is the command (`flake-hunt` or `python -m harness`), its exit codes, the files
of a run, the module `harness.api`, and the fixtures of `harness.pytest_plugin`; other modules may
change without notice. Imports go downward through layers, which the first import contract of
pyproject.toml lists.
"""
