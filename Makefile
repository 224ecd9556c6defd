# One line a target; `make` alone says what there is. Everything happens in .venv, made on first use.
.DEFAULT_GOAL := help
.PHONY: help setup flake-hunt test test-all quick suite wheel-test lint types e2e-kind e2e-local e2e-client-go mutation reproduce-all nightly doctor bench report docs container clean
PYTHON ?= python3
ENGINE ?= docker
BIN := .venv/bin
ARGS ?=
RUN ?= reports/latest
SINCE ?= HEAD
CLUSTER ?= embedded
SUBJECT ?= python
MINUTES ?= 30
# pip shows what it does on a terminal only.
QUIET := $(shell test -t 2 || echo --quiet)
# Python compiles a module when it is first used: most of those that are installed, such as the tests of pandas, never are.
PIP := $(BIN)/pip install $(QUIET) --no-compile --disable-pip-version-check -c constraints.txt
# Images of Python often set it: every process of every run would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE
# In the container of a Podman without root, the user's own number would be another user's: it could not write the reports.
KEEP_ID = $(if $(and $(findstring podman,$(ENGINE)),$(filter-out 0,$(shell id -u))),--userns=keep-id)
SUMMARY ?= $(or $(GITHUB_STEP_SUMMARY),reports/nightly.md)

help:  ## this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: .venv/.dev-installed  ## the virtual environment with everything for development

flake-hunt: .venv/.installed  ## the main job: hunt on the embedded cluster (ARGS="--repeat 5 pod-churn")
	$(BIN)/flake-hunt hunt $(if $(GITHUB_STEP_SUMMARY),--summary $(GITHUB_STEP_SUMMARY)) $(ARGS)

# mypy needs one processor only: the tests run beside it.
test: lint  ## lint, type-check and test: the fast tests, and a tenth of the others, which the commit chooses
	$(MAKE) --no-print-directory --jobs 2 suite types ARGS="$(or $(ARGS),--fast)" TYPED=harness

test-all: lint  ## lint, type-check and test: everything
	$(MAKE) --no-print-directory --jobs 2 suite types

suite: .venv/.dev-installed build/.compiled
	$(BIN)/python -m pytest -n 3 --dist worksteal --max-worker-restart=1 $(ARGS)

quick: .venv/.dev-installed  ## lint, and the tests of the packages that differ from the last commit (SINCE=origin/main)
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/python tools/quick_tests.py $(SINCE)

wheel-test: .venv/.dev-installed  ## install the wheel in a fresh environment and use it; the sdist must give the same wheel
	$(BIN)/python tools/wheel_test.py $(PYTHON)

lint: .venv/.dev-installed  ## style, and the import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: .venv/.dev-installed  ## mypy, strict, of everything (TYPED=harness)
	$(BIN)/mypy $(TYPED)

e2e-kind: .venv/.dev-installed  ## end to end on real Kubernetes by kind and Docker; skips, and says why, without them
	-$(BIN)/flake-hunt doctor kind
	E2E=kind $(BIN)/python -m pytest -rs tests/e2e/clusters/test_kind.py tests/e2e/clusters/test_clusters.py -k kind $(ARGS)

e2e-local: .venv/.dev-installed  ## end to end on real etcd and kube-apiserver binaries; skips, and says why, without them
	-$(BIN)/flake-hunt doctor local
	E2E=local $(BIN)/python -m pytest -rs tests/unit/cluster/local tests/e2e/clusters/test_local_runs.py tests/e2e/clusters/test_stand_ins.py tests/e2e/clusters/test_clusters.py -k "local or stand_ins" $(ARGS)

e2e-client-go: .venv/.dev-installed  ## the embedded API server against client-go; skips, and says why, without Go
	E2E=client-go $(BIN)/python -m pytest -rs tests/e2e/clusters/test_client_go.py $(ARGS)

reproduce-all: .venv/.dev-installed  ## every known defect, hazard, script and real run once more (ARGS="--loads --write")
	$(BIN)/python tools/reproduce_all.py $(ARGS)

mutation: .venv/.dev-installed  ## small changes of the judge's code, one at a time: does a test notice? (ARGS=harness.checks.holds)
	$(BIN)/python tools/mutations.py $(or $(ARGS),harness.checks --write)

nightly: .venv/.installed  ## hunt until the time is used (CLUSTER=kind-1.36 SUBJECT=kube-scheduler MINUTES=60)
	$(BIN)/flake-hunt hunt --all --cluster $(CLUSTER) --subject $(SUBJECT) --minutes $(MINUTES) --summary $(SUMMARY) $(ARGS)

doctor: .venv/.installed  ## what is missing on this machine (ARGS="kind")
	@$(BIN)/flake-hunt doctor $(ARGS) || { code=$$?; \
	  test $$code -ne 1 || echo "Exit code 1: not ready. The table above says what is missing and how to fix it."; exit $$code; }

bench: .venv/.dev-installed  ## figures and ratios; nothing is asserted (ARGS="judging --keep")
	$(BIN)/python -m bench $(ARGS)

report: .venv/.installed  ## render the newest run again (RUN=reports/<scenario>/<run>)
	$(BIN)/flake-hunt report $(RUN)

docs: build/docs-venv/.installed  ## the documentation site, in build/site; a dead link is an error
	NO_MKDOCS_2_WARNING=1 build/docs-venv/bin/mkdocs build --strict $(ARGS)

container:  ## build the container image, and make one run in it on a read-only root (ENGINE=podman)
	$(ENGINE) build -f Containerfile -t flake-hunt .
	mkdir -p reports
	$(ENGINE) run --rm --init --read-only --tmpfs /tmp --user "$$(id -u):$$(id -g)" $(KEEP_ID) \
	  -v "$(CURDIR)/reports:/reports" flake-hunt run pod-churn $(ARGS)

clean:  ## remove the environment, caches and reports
	rm -rf .venv build *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find reports -mindepth 1 ! -name README.md -delete

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Flake Hunt needs Python 3.11 or newer; $(PYTHON) is `$(PYTHON) --version 2>&1`. Name another one: make PYTHON=python3.12 ..."; exit 2; }
	@echo "Creating the virtual environment .venv with $(PYTHON): some seconds."
	$(PYTHON) -m venv .venv

.venv/.installed: .venv/bin/python pyproject.toml constraints.txt
	@echo "Installing Flake Hunt and the packages that it needs into .venv: a minute or more the first time."
	$(PIP) -e '.[kind]'
	@touch $@

.venv/.dev-installed: .venv/.installed
	@echo "Installing the tools for development into .venv: another minute or more the first time."
	$(PIP) -e '.[dev]'
	@touch $@

# One process compiles what the tests import: without it, each of three would do so at the same time.
build/.compiled: .venv/.dev-installed
	@echo "Compiling the tests and what they import: half a minute, once."
	@mkdir -p build; $(BIN)/python -m pytest --collect-only -q > build/collected.txt || { tail -n 30 build/collected.txt; exit 1; }
	@touch $@

build/docs-venv/.installed: pyproject.toml constraints.txt
	@echo "Installing MkDocs into build/docs-venv: half a minute the first time."
	$(PYTHON) -m venv build/docs-venv
	build/docs-venv/bin/pip install $(QUIET) --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@
