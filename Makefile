# Every command of Incident Labs. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
LAB ?= quiet_shutdown
export CAPTURE
WORKBENCH := bash compose/workbench.sh

.PHONY: help run gate test quick facts record publish build doctor clean lock

help: ## List every command
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

run: SCENARIO ?= story
run: ## Tell a lab's story on real parts: LAB=quiet_shutdown|all, SCENARIO=story|all|<name>
	@$(WORKBENCH) --measured --for "$(LAB)" "$(SCENARIO)" python -m workbench run "$(LAB)" --scenario "$(SCENARIO)"

gate: ## Run every scenario of a lab and hold each against what it is declared to be: LAB=
	@$(WORKBENCH) --measured --for "$(LAB)" all python -m workbench run "$(LAB)" --scenario all

quick: ## Lint, unit tests, compose and lab.toml checks, notebooks on the recorded runs (under two minutes)
	@$(WORKBENCH) bash tests/quick.sh

test: ## Everything: quick, then the gate, the box and the interruptions on the real stack
	@$(WORKBENCH) --measured --for all story bash tests/all.sh

facts: ## TLS and TCP facts of any capture as one JSON object: CAPTURE=file
	@$(WORKBENCH) facts "$$CAPTURE"

record: SCENARIO ?= all
record: ## Re-record captures/<lab>/<scenario>/ and publish what they say: LAB=, SCENARIO=
	@$(WORKBENCH) --measured --for "$(LAB)" "$(SCENARIO)" python -m workbench record "$(LAB)" --scenario "$(SCENARIO)"

publish: ## Write the ledger, the README's figures and the notebooks' outputs anew from captures/
	@$(WORKBENCH) python -m workbench publish

build: ## Build every image of a lab, so that a room without internet can try every scenario: LAB=
	@$(WORKBENCH) --for "$(LAB)" all python -m workbench build "$(LAB)"

doctor: ## Check engine, compose, memory, disk, architecture, ports and permissions, and say how to mend each
	@bash compose/doctor.sh

clean: ## Remove what this project made: its containers, networks, images and runs/
	@bash compose/clean.sh

lock: ## Pin the newest Python packages, with hashes, into workbench/requirements.txt (needs uv)
	@uv pip compile --quiet --universal --python-version 3.11 --all-extras --generate-hashes --no-header \
	  --no-emit-index-url --no-annotate --upgrade pyproject.toml --output-file workbench/requirements.txt
