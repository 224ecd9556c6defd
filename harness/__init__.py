"""Flake Hunt: did a Kubernetes scheduler ever give one device to two claims?

The public interface is the command (`flake-hunt` or `python -m harness`), its exit codes, the files
of a run, the module `harness.api`, and the fixtures of `harness.pytest_plugin`; other modules may
change without notice. Imports go downward through layers, which the first import contract of
pyproject.toml lists.
<<<<<<< HEAD
=======

Contents: `api`, `apiserver`, `archive`, `campaign`, `catalogue`, `checks`, `cli`, `client`,
`clocks`, `cluster`, `comparison`, `concurrency`, `conformance`, `errors`, `explore`, `extensions`,
`fault_proxy`, `faults`, `history`, `live`, `log_analysis`, `metrics`, `model`,
`prepared_processes`, `private_files`, `processes`, `pytest_plugin`, `regular_files`, `report`,
`reproduction`, `run`, `scenario`, `seeds`, `statistics`, `subject`, `suggestions`, `tables`,
`tls_authorities`, `tracing`, `traffic`, `trends`, `worker_threads`, `writing`.
>>>>>>> f010ebe8 (tables: the package that was called querying)
"""
