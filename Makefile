# The whole developer interface. Needs Python 3.11 or newer (with venv) and make; nothing else is looked for on the machine.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PACKAGES := fleet capacity predictor allocator actuator simulator foreslice
PYTEST_ARGS ?=
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: .venv/.dev ## create .venv with everything the targets below need

# Each stamp is newer than the locks it was made from; a changed lock or pyproject.toml makes it again.
.venv/.runtime: requirements.lock requirements-build.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "foreslice needs Python 3.11 or newer: name one with make PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(PIP) --require-hashes -r requirements.lock -r requirements-build.lock
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

.venv/.dev: requirements-dev.lock .venv/.runtime
	$(PIP) --require-hashes -r requirements-dev.lock
	@touch $@

.venv/.notebooks: requirements-notebooks.lock .venv/.dev
	$(PIP) --require-hashes -r requirements-notebooks.lock
	@touch $@

.PHONY: demo
demo: .venv/.runtime ## replay one real day on a simulated fleet; leaves a report in out/demo
	$(BIN)/foreslice demo

.PHONY: notebooks
notebooks: .venv/.notebooks ## open the notebooks in JupyterLab, with everything that they need
	$(BIN)/jupyter lab --notebook-dir=. notebooks/01_explore_demand.ipynb

.PHONY: test
test: lint types ## lint, types, import contracts, then every test; the last lines are pytest's
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

.PHONY: lint
lint: .venv/.dev ## ruff, formatting, import contracts, declared dependencies
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-logo
	$(BIN)/deptry .

.PHONY: types
types: .venv/.dev ## mypy, strict
	$(BIN)/mypy

.PHONY: controlplane
controlplane: ## the Kubernetes and Helm binaries that test-cluster runs, from source with Go: minutes once, then nothing
	@$(PYTHON) -m tests.controlplane.build

.PHONY: test-cluster
test-cluster: .venv/.dev controlplane ## tests on a real control plane; ALL_MINORS=1 takes every minor
	$(BIN)/python -m pytest tests/cluster --ignore tests/cluster/test_nights.py --ignore tests/cluster/test_rise_and_burst.py -n 2 --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

.PHONY: test-nights
test-nights: .venv/.dev controlplane ## on a real control plane: the steepest minutes of a morning under MIG managers, a rise and bursts with a pool; ten minutes
	$(BIN)/python -m pytest tests/cluster/test_nights.py tests/cluster/test_rise_and_burst.py $(PYTEST_ARGS)

.PHONY: soak
soak: .venv/.dev controlplane ## a day in two hours on 64 simulated cards of a real control plane (SOAK_MINUTES=20: so much of it; SOAK_FLEET=mig-manager, mig-manager-dra or dynamic-mig: whose)
	@$(BIN)/python -m tests.cluster.soak

.PHONY: demo-cluster
demo-cluster: .venv/.dev controlplane ## the service on a real control plane and Prometheus, with simulated engines, to look at with kubectl; Ctrl-C ends it
	@$(BIN)/python -m tests.cluster.demo

.PHONY: test-prometheus
test-prometheus: .venv/.dev ## tests on a real Prometheus (Debian: apt-get install prometheus)
	$(BIN)/python -m pytest tests/prometheus $(PYTEST_ARGS)

.PHONY: test-dask
test-dask: .venv/.dev ## training on a Dask cluster of processes, one of them killed midway
	$(BIN)/python -m pytest tests/dask $(PYTEST_ARGS)

.PHONY: coverage
coverage: .venv/.dev ## which lines and branches the tests reach
	$(BIN)/coverage run -m pytest $(PYTEST_ARGS)
	$(BIN)/coverage report

.PHONY: mutants
mutants: .venv/.dev ## change legality, ledgers, guards and execution line by line, and count what the tests miss
	$(BIN)/mutmut run
	$(BIN)/mutmut results

.PHONY: bench
bench: .venv/.dev ## timings of the hot paths
	$(BIN)/python -m pytest tests/bench --benchmark-only -p no:xdist -p no:randomly

.PHONY: bench-replay
bench-replay: .venv/.dev ## the table of docs/replay.md: what a forecast is worth on recorded traces (ONLY="jobs taxi"), for minutes
	@$(BIN)/python -m tests.bench.replay_table $(ONLY)

.PHONY: bench-pool
bench-pool: .venv/.dev ## the tables of docs/replay.md on a shared standby pool; five minutes of an idle core
	@$(BIN)/python -m tests.bench.pool_table

.PHONY: prior
prior: .venv/.dev ## the shipped prior anew, from the public demand in the folder TRACES; `foreslice models promote` lets it serve
	$(BIN)/python -m tests.bench.prior_demand $(TRACES) out/prior.csv
	$(BIN)/foreslice train out/prior.csv --by series --recipe models/recipes/shared.yaml --store models --name prior --test-fraction 0.06

.PHONY: bench-cluster
bench-cluster: .venv/.dev controlplane ## timings on a real control plane: a view of 41,600 devices, ticks over 1,600 cards with 2,000 pods, a hand-over, a wake
	$(BIN)/python -m pytest tests/cluster/bench --benchmark-only -p no:xdist -p no:randomly

.PHONY: format
format: .venv/.dev ## rewrite the code in the house's format
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

.PHONY: wheel
wheel: .venv/.dev ## build dist/foreslice-*.whl
	$(BIN)/hatchling build -t wheel

.PHONY: lock
lock: .venv/.dev ## resolve the locks anew from pyproject.toml (UPGRADE=1 takes newest versions)
	$(COMPILE) $(if $(UPGRADE),--upgrade) pyproject.toml -o requirements.lock
	$(COMPILE) $(if $(UPGRADE),--upgrade) --constraint requirements.lock --group build -o requirements-build.lock
	$(COMPILE) $(if $(UPGRADE),--upgrade) --constraint requirements.lock --constraint requirements-build.lock --group dev -o requirements-dev.lock
	$(COMPILE) $(if $(UPGRADE),--upgrade) --constraint requirements-dev.lock --extra notebooks pyproject.toml -o requirements-notebooks.lock
	$(COMPILE) $(if $(UPGRADE),--upgrade) --constraint requirements-dev.lock --group audit -o requirements-audit.lock

# In an environment of its own: what looks at the locks is not part of them.
.venv-audit/.made: requirements-audit.lock
	$(PYTHON) -m venv .venv-audit
	.venv-audit/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-audit.lock
	@touch $@

.PHONY: audit
audit: .venv-audit/.made ## known vulnerabilities of what the service is installed with; asks a public database, so it needs a network
	.venv-audit/bin/pip-audit --require-hashes --disable-pip -r requirements.lock

.PHONY: sbom
sbom: .venv-audit/.made ## dist/foreslice.cdx.json: what the service is made of, as CycloneDX; needs no network
	@mkdir -p dist
	.venv-audit/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible --output-file dist/foreslice.cdx.json requirements.lock

.PHONY: clean
clean: ## remove everything that the targets above made
	rm -rf .venv .venv-audit dist mutants out .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .benchmarks .coverage
	find $(PACKAGES) tests -name __pycache__ -prune -exec rm -rf {} +
