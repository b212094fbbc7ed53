.DEFAULT_GOAL := help
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: help demo test install-dev lint types unit format bench nine kill9 clean

help:  ## Show this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "pincite needs Python 3.10 or newer; name one with: make PYTHON=python3.11 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,eval]'
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo  ## Set up, index the bundled documents, answer a question
	$(BIN)/pincite demo

test: lint types unit  ## Set up, then lint, types and tests

install-dev: $(VENV)/.dev

lint: $(VENV)/.dev  ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev  ## mypy --strict
	$(BIN)/mypy

unit: $(VENV)/.dev  ## pytest
	$(BIN)/pytest -q -n auto --maxprocesses 4 --dist loadfile --durations=5

format: $(VENV)/.dev  ## Let ruff format and fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev  ## Retrieval and speed on SciFact, which is not in the repository: PINCITE_DATA/beir/scifact, BEIR layout
	$(BIN)/python benchmarks/scifact.py --data $(or $(PINCITE_DATA),../shared/data)/beir/scifact

nine: $(VENV)/.dev  ## Retrieval on nine sets, not in the repository: PINCITE_DATA/beir, BEIR layout (an hour the first time)
	$(BIN)/pincite eval retrieval $(or $(PINCITE_DATA),../shared/data)/beir --baseline rrf60 \
	  -c bm25 -c dense -c rrf60:search.fusion=rrf,search.rrf_k=60,search.depth=100 -c rrf -c hybrid -c mmr:rerank.model=mmr

kill9: $(VENV)/.dev  ## Kill a writing process 50 times and check the index after each
	$(BIN)/python benchmarks/kill9.py --rounds 50

clean:  ## Remove the environment and what the demo made
	rm -rf $(VENV) .pincite-demo .mypy_cache .ruff_cache .pytest_cache
