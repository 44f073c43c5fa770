# Everything a developer or CI does, by name. `make` alone lists it.
#
# The recipes are POSIX shell and use relative paths only, so that the checkout may lie anywhere, spaces included.

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.NOTPARALLEL:
# uv leaves it to the first import to compile a package. Where nothing may be kept, each of the hundreds of processes
# that the tests start compiles the engine and torch anew, and each run rewrites every test.
unexport PYTHONDONTWRITEBYTECODE

# The Python that environments are made with; `make PYTHON=...` says which. Looked for only when one has to be made.
PYTHON ?=
ARGS ?=
# What runs for minutes: tests marked as a soak, and those with examples that hypothesis makes. tests/soak is named
# first because its options are heard only then.
SOAKS := tests/soak tests
# Which examples a soak tries, and how many of each law.
SEED := $(if $(SEED),$(SEED),$(shell python3 -c 'import random; print(random.randrange(10**6))' 2>/dev/null || echo 1))
EXAMPLES ?= 1000
CORES := $(shell python3 -c 'import os; print(os.cpu_count() or 1)' 2>/dev/null || echo 1)
# Files of tests that run at a time: one more than processors, for tests wait, too. Files that share a
# running bot go to one process: tests/e2e/bots.py.
JOBS ?= $(shell expr $(CORES) + 1)

BIN := .venv/bin
# -P: the folder we stand in stays off sys.path, or `core` would be importable under a second name.
RUN := $(BIN)/python -P
PYTEST := $(RUN) -m pytest
FARM := build/house
NAME := astrbot_plugin_scoped_memory
SOURCES := .

# $(call environment,FOLDER,LEVEL): see scripts/environment.py
environment = python=$$(PYTHON='$(PYTHON)' bash scripts/find_python.sh) && "$$python" scripts/environment.py $(1) $(2)

.PHONY: help demo test quick soak coverage lint types contracts fmt docs logo zip slim-zip clean \
	env-demo env-dev env-full env-oldest env-agent env-node

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: env-demo ## play the story in a real AstrBot and leave it running (ARGS=--exit ends it)
	@echo "The demo runs without sentence-transformers, which is optional and large: vectors come from the bundled model."
	@$(BIN)/python scripts/demo.py $(ARGS)

test: env-full ## everything, as CI runs it
	@# In a fresh clone mypy takes a minute of one processor: as long as the other environments. And pytest rewrites each
	@# assertion for half a minute, which each of its workers would do by itself.
	@$(MAKE) env-oldest env-agent env-node & others=$$!; \
		$(PYTEST) -q --collect-only >/dev/null 2>&1 & collected=$$!; \
		$(MAKE) lint types contracts; checks=$$?; \
		wait $$collected; wait $$others && exit $$checks
	@$(PYTEST) -n $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

# These wait for nothing.
quick: JOBS = $(CORES)
quick: env-dev ## unit and property tests of the engine's parts with few examples
	@$(PYTEST) -q -n $(JOBS) --dist loadfile --hypothesis-profile=quick $(ARGS) \
		-m "(unit or property) and not (engine or process or astrbot or contract or model or soak)"

soak: env-full env-oldest env-agent ## load on engine and AstrBot, many kill -9, every law over many examples (SEED=7 EXAMPLES=3000 ARGS="--seconds 60")
	@echo "The choices are those of SEED=$(SEED), $(EXAMPLES) examples of each law."
	@SOAK_EXAMPLES=$(EXAMPLES) $(PYTEST) -q $(SOAKS) -m "soak or hypothesis" --timeout=3600 --hypothesis-profile=soak \
		--hypothesis-seed=$(SEED) $(ARGS)

coverage: env-full ## branch coverage of core, tools and the engine, without the end-to-end tests
	@$(PYTEST) -q -m "not soak" --ignore=tests/e2e --cov --cov-report=term --cov-report=html $(ARGS)

fmt: env-dev ## format, and mend what ruff can mend
	@$(BIN)/ruff check --fix-only --quiet $(SOURCES)
	@$(BIN)/ruff format --quiet $(SOURCES)

lint: env-dev ## style
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check --quiet $(SOURCES) || { echo "not formatted: run make fmt"; exit 1; }

types: env-dev ## mypy, strict, under the plugin's package name
	@$(BIN)/python scripts/checkout.py $(FARM)
	@MYPYPATH=$(FARM):scripts $(RUN) -m mypy -p $(NAME)
	@MYPYPATH=$(FARM):scripts $(RUN) -m mypy --explicit-package-bases scripts

contracts: env-dev ## the layers of the house
	@$(BIN)/python scripts/checkout.py $(FARM)
	@PYTHONPATH=$(FARM) $(BIN)/lint-imports --no-cache --no-logo

docs: env-dev ## write what docs/ derives from the code
	@$(BIN)/python scripts/make_docs.py

logo: ## draw logo.png
	@python=$$(PYTHON='$(PYTHON)' bash scripts/find_python.sh) && "$$python" scripts/make_logo.py

zip: ## dist/: what an owner uploads in the panel, and nothing else
	@python=$$(PYTHON='$(PYTHON)' bash scripts/find_python.sh) && "$$python" scripts/make_zip.py

slim-zip: ## dist/: the same without local models' packages, for small servers
	@python=$$(PYTHON='$(PYTHON)' bash scripts/find_python.sh) && "$$python" scripts/make_zip.py --slim

clean: ## remove what was built; environments too with `make clean ALL=1`
	@rm -rf build dist .pytest_cache .hypothesis .mypy_cache .ruff_cache .grimp_cache .import_linter_cache
	@find . -name __pycache__ -type d -not -path './.venv*' -not -path './.node/*' -prune -exec rm -rf {} +
	@$(if $(ALL),rm -rf .venv .venv-oldest .venv-agent .node,true)

env-demo:
	@$(call environment,.venv,demo)

env-dev:
	@$(call environment,.venv,dev)

env-full:
	@$(call environment,.venv,full)

env-oldest:
	@$(call environment,.venv-oldest,oldest)

# What a machine with a coding agent has: the engine's wheel and the newest mcp, no AstrBot.
env-agent:
	@$(call environment,.venv-agent,agent)

env-node: env-full
	@$(BIN)/python scripts/inspector.py
