"""Plug-ins of Flake Hunt; pyproject.toml names them."""
