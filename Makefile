PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: run test check clean install

run: install ## the whole pipeline on generated episodes; prints the table and the report's path
	$(BIN)/strata run

test: install
	$(BIN)/python -m pytest

check: install ## lint, format, import rules, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

clean: ## the virtual environment and everything that Strata wrote here
	rm -rf $(VENV) .strata
