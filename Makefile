# labkit: every command installs into .venv what it needs, once; outside of this folder only uv keeps its downloads.
# PYTHON=/path/to/python chooses the interpreter, ARGS="..." goes to the command, TESTS="..." chooses tests.

PYTHON ?= python3.14 python3.13 python3.12 python3.11 python3 python
ARGS ?=
TESTS ?= tests $(wildcard notebooks)
# One more than the cores of a small machine: a test waits now and then, for a process or for the clock on the wall.
WORKERS ?= 3
NBVAL ?= --nbval

BIN := .venv/bin
HAS := .venv/.has-

# What Jupyter (which asks npm for language servers), IPython and matplotlib would keep in the home folder stays in .venv.
export JUPYTER_CONFIG_DIR := $(CURDIR)/.venv/var/jupyter/config
export JUPYTER_DATA_DIR := $(CURDIR)/.venv/var/jupyter/data
export JUPYTER_RUNTIME_DIR := $(CURDIR)/.venv/var/jupyter/runtime
export IPYTHONDIR := $(CURDIR)/.venv/var/ipython
export MPLCONFIGDIR := $(CURDIR)/.venv/var/matplotlib
export npm_config_cache := $(CURDIR)/.venv/var/npm

# Else dozens of processes (servers, kernels, those that others are forked from, tests' own) compile all of labkit anew,
# and each worker the assertions of every test; `make clean` removes what is kept.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help report test lab notebooks book lint bench clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile
	@echo "The first run of a command installs what it needs, in half a minute to two minutes, mostly download."

report: $(HAS)lab ## run the notebooks as a conformance report, into reports/ (first: 250 MB, 490 on disk)
	@$(BIN)/labkit report $(ARGS)

test: $(HAS)test ## run the tests and compare the notebooks with their stored outputs (110 MB more)
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --no-loadscope-reorder $(NBVAL) --nbval-current-env $(TESTS) $(ARGS)

lab: $(HAS)lab ## open copies of the notebooks, my-notebooks/, in JupyterLab
	@$(BIN)/python -m labkit.dev lab $(ARGS)

notebooks: $(HAS)lab ## run the notebooks and store their outputs anew
	@$(BIN)/python -m labkit.reporting.notebooks $(ARGS)

book: $(HAS)book ## build the documentation as HTML, into reports/book/
	@$(BIN)/python -m labkit.dev.book $(ARGS)

lint: $(HAS)lint ## check style, types and imports (another 100 MB)
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

bench: $(HAS)bench ## measure speed against the references
	@$(BIN)/labkit bench $(ARGS)

clean: ## remove .venv, caches and what runs left behind
	@rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find labkit tests notebooks -type d \( -name __pycache__ -o -name .ipynb_checkpoints \) -exec rm -rf {} + 2>/dev/null || true
	@find reports -mindepth 1 -maxdepth 1 ! -name README.md ! -name conformance.md -exec rm -rf {} +

# The stamps of the extras are written last, so an interrupted set-up is taken up again.
.venv/.has-%: .venv/.made pyproject.toml constraints.txt .ci/set-up
	@$(BIN)/python .ci/set-up $(BIN)/python -e '.[$*]'
	@touch $@

.venv/.made:
	@python="$$(sh .ci/find-python $(PYTHON))" && echo "labkit: makes .venv of $$python" && "$$python" -m venv --clear .venv
	@touch $@
