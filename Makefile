# Every command of Incident Labs. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
LAB ?= quiet_shutdown
# A case is named by its number or by its lab, whichever is given.
WHICH = $(or $(CASE),$(LAB))
export CAPTURE SEAT COLD
WORKBENCH := bash compose/workbench.sh
$(foreach name,RECORD LIVE BUSY COLD,$(if $(filter-out yes no,$($(name))),$(error $(name)=$($(name)): yes or no)))

.PHONY: help up check hint solution reset down live room notebooks run replay matrix gate test quick interview grade facts record publish lab build bundle reliability bench doctor clean lock

help: ## List every command
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

up: ## Bring up a case to look at and to change, or apply what you changed: CASE=1, SEAT=name where several share a machine, SCALE=service=3
	@$(WORKBENCH) --for "$(WHICH)" story python -m workbench up "$(WHICH)" --seat "$(SEAT)" --scale "$(SCALE)"

check: ## Measure your version of a case: is the incident gone? CASE=1 SEAT=
	@$(WORKBENCH) --measured --for "$(WHICH)" story python -m workbench check "$(WHICH)" --seat "$(SEAT)"

hint: ## The next hint: CASE=1 SEAT=
	@$(WORKBENCH) python -m workbench hint "$(WHICH)" --seat "$(SEAT)"

solution: ## Cause and cures, after a question: CASE=1
	@$(WORKBENCH) python -m workbench solution "$(WHICH)" --seat "$(SEAT)"

reset: ## Start a case again from a fresh copy: CASE=1 SEAT=
	@$(WORKBENCH) --for "$(WHICH)" story python -m workbench reset "$(WHICH)" --seat "$(SEAT)"

down: ## Take a case's stack down; what you changed stays: CASE=1 SEAT=
	@$(WORKBENCH) python -m workbench down "$(WHICH)" --seat "$(SEAT)"

live: ## Watch a case's stack while it runs, redrawn in place, where the case has such a view: CASE=4 SEAT= SECONDS=
	@$(WORKBENCH) python -m workbench live "$(WHICH)" --seat "$(SEAT)" $(if $(SECONDS),--seconds "$(SECONDS)")

room: ## Who is up, red, green, and who waits: SEATS=20 says how many are expected
	@$(WORKBENCH) python -m workbench room $(if $(SEATS),--seats "$(SEATS)")

notebooks: ## JupyterLab at 127.0.0.1 with every case's walkthrough, exercise and captures: SEAT=
	@bash compose/notebooks.sh

run: SCENARIO ?= story
run: ## Tell a lab's story on real parts: LAB=quiet_shutdown|all, SCENARIO=story|all|<name>
	@$(WORKBENCH) --measured --for "$(WHICH)" "$(SCENARIO)" python -m workbench run "$(WHICH)" --scenario "$(SCENARIO)"

replay: ## Judge a lab's recorded runs again, without an engine (Python and tshark on this host): LAB=quiet_shutdown|all
	@bash compose/replay.sh "$(WHICH)"

matrix: ## Run every row of a lab's matrices with every column, and draw who is affected: LAB=quiet_shutdown, RECORD=yes publishes it
	@$(WORKBENCH) --measured --for "$(WHICH)" all python -m workbench matrix "$(WHICH)" $(if $(filter yes,$(RECORD)),--record)

gate: ## Run every scenario of a lab, as the lab has it and by hand, and every cheat, against what they are declared: LAB=
	@$(WORKBENCH) --measured --for "$(WHICH)" all bash tests/gate.sh "$(WHICH)"

quick: ## Lint, unit tests, compose and lab.toml checks, notebooks on the recorded runs (under two minutes)
	@$(WORKBENCH) bash tests/quick.sh

test: ## Everything: quick, then the gate, the box and the interruptions on the real stack
	@$(WORKBENCH) --measured --for all story bash tests/all.sh

interview: ## An interview over a case, two archives: FOR=name, LAB= (or one is chosen), SEED= (or one is drawn), OUT=folder, LIVE=yes
	@bash compose/interview.sh make "$(if $(filter command line environment,$(origin LAB)),$(LAB),$(CASE))" "$(FOR)" "$(SEED)" "$(OUT)" "$(filter yes,$(LIVE))"

grade: ## Points for what a candidate handed in: ANSWERS=answers.toml or handed-in.tar.gz, KEY=interviewer.zip
	@bash compose/interview.sh grade "$(ANSWERS)" "$(KEY)"

facts: ## TLS and TCP facts of any capture as one JSON object: CAPTURE=file
	@$(WORKBENCH) facts "$$CAPTURE"

record: SCENARIO ?= all
record: ## Re-record captures/<lab>/<scenario>/ and publish what they say: LAB=, SCENARIO=
	@$(WORKBENCH) --measured --for "$(WHICH)" "$(SCENARIO)" python -m workbench record "$(WHICH)" --scenario "$(SCENARIO)"

publish: ## Write the ledger, the README's figures and the notebooks' outputs anew from captures/
	@$(WORKBENCH) python -m workbench publish

lab: ## Begin a new lab, from a small one that runs: NAME=my_incident CASE=6
	@$(WORKBENCH) python -m workbench new "$(NAME)" "$(CASE)"

build: ## Build every image of a lab, so that a room without internet can try every scenario: LAB=
	@$(WORKBENCH) --for "$(WHICH)" all python -m workbench build "$(WHICH)"

bundle: ## One archive for a machine without any network, with images, notebooks and recorded runs: LAB=all, OUT=file
bundle: LAB := $(if $(filter command line environment,$(origin LAB)),$(LAB),all)
bundle:
	@bash compose/bundle.sh make "$(or $(CASE),$(LAB))" "$(or $(OUT),incident-labs-bundle.tar)"

reliability: ## One more round of what `make test` runs of each lab, for the rate of wrong verdicts: BUSY=yes beside a load
	@bash compose/reliability.sh "$(filter yes,$(BUSY))"

bench: ## Time a story cold (root, Linux) and warm, and decoding; writes docs/benchmark.md: LAB=quiet_shutdown|all, COLD=no
	@bash compose/bench.sh "$(WHICH)"

doctor: ## Check engine, compose, memory, cores, disk, architecture and permissions, and say how to mend each
	@bash compose/doctor.sh

clean: ## Remove what this project made: its containers, networks, images and runs/
	@bash compose/clean.sh

lock: ## Pin the newest Python packages, with hashes, into workbench/requirements.txt (needs uv)
	@uv pip compile --quiet --universal --python-version 3.11 --all-extras --generate-hashes --no-header \
	  --no-emit-index-url --no-annotate --upgrade pyproject.toml --output-file workbench/requirements.txt
