# Everything here is an ordinary go command; the targets save typing.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# Runs of the simulation, and the first seed.
SEEDS ?= 2000
SEED ?= 1

# What make run says to the assistant.
TEXT ?= What time is it?

LINTER := bin/golangci-lint-v2.15.0
RELEASER := bin/goreleaser-v2.15.1
NATS := bin/natscli-v0.5.0/nats

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the binaries into bin/
	go build -trimpath -ldflags='-s -w' -o bin/ ./cmd/...

.PHONY: run
run: build ## one turn with a tool call, live, then its transcript; TEXT="…" says something else
	bin/everturn run "$(TEXT)"

.PHONY: dev
dev: build ## everything in one process, until it is stopped
	bin/everturn dev

# What needs no server and no other process: the rest is left to make test.
.PHONY: check
check: $(LINTER) ## before a commit: compiles all, linters, tests of the pure packages and of the loops
	go vet -tags processes,defects,recordings,crashpoints,upgrade ./...
	$(LINTER) run
	go test ./chat ./client ./events ./internal/deptest ./internal/doctest ./internal/models ./internal/schema ./internal/yamlfile \
		./model/... ./orchestrator ./projections ./protocol/... ./toolrunner/...

# The race detector makes these many times slower and finds nothing: functions of values,
# without goroutines, and the command line, which puts together what is tested with it
# elsewhere.
WITHOUT_RACES := ./chat ./cmd/everturn ./internal/replay ./internal/verify

.PHONY: test
test: ## all tests, with the race detector where there is anything to race
	go test -timeout 30m $(WITHOUT_RACES)
	go test -race -timeout 30m $$(go list ./... | grep -vxF "$$(go list $(WITHOUT_RACES))")

.PHONY: lint
lint: $(LINTER) ## what .golangci.yaml asks for
	$(LINTER) run

# The linter brings hundreds of modules, so it stands in no go.mod of ours.
$(LINTER):
	GOBIN=$(CURDIR)/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINTER:bin/golangci-lint-%=%)
	mv bin/golangci-lint $@

.PHONY: generate
generate: ## write what docs/ says about events, commands and metrics, and which tests hold which rule
	go run ./internal/schema
	go run ./internal/rules

.PHONY: sim
sim: ## simulated runs; SEEDS=50000 for more, SEED=7 SEEDS=1 for one again
	go test ./internal/sim -run '^TestSeeds$$' -v -count=1 -timeout 0 -seeds=$(SEEDS) -first=$(SEED)

# For how long each kind of input is tried, and in how many processes at a time.
FUZZTIME ?= 30s
FUZZERS ?= 2

# What is found becomes a seed below testdata/fuzz, which the tests run from then on.
.PHONY: fuzz
fuzz: ## any bytes where bytes come in, one kind after the other; FUZZTIME=30s each
	@set -e; for file in $$(grep -rl --include='*_test.go' '^func Fuzz' . | sort); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z]*\)(.*/\1/p' $$file); do \
			echo "=== $$(dirname $$file) $$target"; \
			go test $$(dirname $$file) -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x -parallel $(FUZZERS); \
		done; \
	done

# Sequences of messages, and the first one's number.
SEQUENCES ?= 20000
SEQUENCE ?= 0

.PHONY: sequences
sequences: ## anything that may come in, in any order: each log is legal, each chat answers; SEQUENCE=7 SEQUENCES=1 for one again
	go test ./internal/verify -run '^TestAnySequenceLeaves' -v -count=1 -timeout 0 -sequences=$(SEQUENCES) -sequence=$(SEQUENCE)

.PHONY: defects
defects: ## plant known mistakes in copies of the code; the simulation must find each
	go test ./internal/sim -tags defects -run '^TestDefects$$' -v -count=1 -timeout 0

# Where the recordings are: there are none in here.
DIR ?=

.PHONY: recordings
recordings: ## plays what providers once sent to the adapters; DIR=… says where it is
	@test -n "$(DIR)" || { echo 'make recordings DIR=…: there is nothing to play' >&2; exit 2; }
	go test -tags recordings ./internal/recordings -run '^Test(Recordings|Failures)$$' -v -count=1 -timeout 60m -args -dir="$(abspath $(DIR))"

# Installations that are tried side by side: each waits most of its time.
PATIENT ?= 3

.PHONY: e2e
e2e: ## real processes, killed at bad moments; prints what it took them
	go test -tags processes ./internal/e2e -skip '^Test(Nodes|Power|AnIndex|Effects|ALongTool)' -v -count=1 -parallel $(PATIENT) -timeout 30m
	go test -tags processes ./internal/system -run '^TestS10_4_' -v -count=1

# How long chats are watched under load.
WATCH ?= 15s

.PHONY: watchers
watchers: ## 500 watchers of 50 running chats, broken off at random, and one that hardly reads; WATCH=60s for longer; and tenants beside one with 10,000 sends
	go test -tags processes ./internal/system -run '^TestManyWatchersUnderLoad$$' -v -count=1 -timeout 20m -args -watch-for=$(WATCH)
	go test -tags processes ./internal/readside -run '^TestATenantWithThousandsOfSendsSlowsNoOther$$' -v -count=1

.PHONY: index
index: ## what lists and search cost, and 50 deaths of who keeps them, at 100,000 events; about 5 min
	go test -tags processes ./projections/index -run '^TestLoad' -v -count=1
	go test -tags processes ./internal/e2e -run '^TestAnIndexOutlivesEveryProcess$$' -v -count=1 -timeout 15m

# Places that two writers contend for, in each race, and servers killed under load.
POSITIONS ?= 2000
DEATHS ?= 4

.PHONY: nodes
nodes: $(NATS) ## three servers with the shipped configuration, disturbed under load; POSITIONS=20000 DEATHS=10 for more
	PATH="$(CURDIR)/$(dir $(NATS)):$$PATH" go test -tags processes ./internal/e2e -run '^TestNodes' -v -count=1 -timeout 180m -args -positions=$(POSITIONS) -deaths=$(DEATHS)

.PHONY: upgrade
upgrade: ## the release before this one and this one on one bus; about 3 min
	go test -tags processes,upgrade ./internal/e2e -run '^TestUpgrade' -v -count=1 -parallel $(PATIENT) -timeout 90m

.PHONY: disk
disk: ## a disk that is really full; needs a machine that allows `unshare -rm`
	go test -tags processes ./streams -run '^TestAFullDiskLosesNothing$$' -v -count=1

.PHONY: power
power: ## power cuts under three servers, on disks that forget what was not synced; needs root, loop devices and ext4
	go test -tags processes ./internal/e2e -run '^TestPower' -v -count=1 -timeout 60m

# How often each part dies at each moment of an effect.
ROUNDS ?= 10

.PHONY: effects
effects: ## tools that pay, and parts that die at the claim, before, during and after it; ROUNDS=10 each, about 3 min
	go test -tags processes ./internal/e2e -run '^TestEffects' -v -count=1 -parallel 4 -timeout 30m -args -rounds=$(ROUNDS)

# How long the long tool works: a minute at least.
LONG ?= 10m

.PHONY: longtool
longtool: ## a tool of ten minutes on three servers, while orchestrators and leaders die; LONG=1m for a short one
	go test -tags processes ./internal/e2e -run '^TestALongTool' -v -count=1 -timeout 60m -args -long=$(LONG)

# Deaths at each point between two effects.
KILLS ?= 3

.PHONY: crash
crash: ## processes that die at every point between two effects; KILLS=3 at each
	go test -tags processes,crashpoints ./internal/e2e -run '^TestCrashPoints$$' -v -count=1 -timeout 180m -args -kills=$(KILLS)

.PHONY: break
break: ## the same with 20 deaths at each point, longer races and more deaths of three servers, and make power; about 40 min
	$(MAKE) crash KILLS=20
	$(MAKE) nodes POSITIONS=20000 DEATHS=10
	$(MAKE) power

# When the server syncs: always, or by its default every two minutes.
SYNC ?= always

.PHONY: bench
bench: build ## turns against the least they could cost; SYNC=default for the other setting; about 6 min
	bin/everturn bench --sync $(SYNC)

.PHONY: readme
readme: ## types what README.md says into a fresh home, and compares what it shows
	go test -tags processes ./internal/readme -run '^TestReadme' -v -count=1 -timeout 60m

.PHONY: natscli
natscli: $(NATS) ## types the lines of docs/COMMANDS.md, and of the backup in docs/OPERATIONS.md, for the nats command line
	PATH="$(CURDIR)/$(dir $(NATS)):$$PATH" go test -tags processes ./internal/readme -run '^Test(Commands|Backup)' -v -count=1 -timeout 60m

# Not one of our tools, so it has a folder to be put into the path.
$(NATS):
	GOBIN=$(CURDIR)/$(dir $(NATS)) go install github.com/nats-io/natscli/nats@$(NATS:bin/natscli-%/nats=%)

.PHONY: browser
browser: build ## the page in a real Chromium, while servers die and networks drop; PICTURES=docs/images makes the pictures anew
	npm ci --prefix internal/browser --ignore-scripts --no-audit --no-fund
	set -e; for file in internal/browser/*.test.mjs; do \
		EVERTURN_PICTURES="$(if $(PICTURES),$(abspath $(PICTURES)))" timeout 10m node --test "$$file"; \
	done

.PHONY: npmclients
npmclients: ## clients of OpenAI's API from npm, against a gateway; needs node and npm
	npm ci --prefix internal/npmclients --ignore-scripts --no-audit --no-fund
	go test -tags processes ./internal/npmclients -run '^TestClients' -v -count=1 -timeout 20m

.PHONY: mcpservers
mcpservers: ## MCP servers from npm through whole turns, and killed; needs node and npm
	npm ci --prefix internal/mcpservers --ignore-scripts --no-audit --no-fund
	go test -tags processes ./internal/mcpservers -v -count=1 -timeout 20m

.PHONY: runners
runners: ## runners in Node.js, Go and, where its client is, Python share a group, and one is killed; needs node and npm
	npm ci --prefix examples/node --ignore-scripts --no-audit --no-fund
	go test -tags processes ./internal/runners -v -count=1 -timeout 20m

.PHONY: release
release: $(RELEASER) ## what a release consists of, into dist/; nothing is published
	$(RELEASER) check
	$(RELEASER) release --snapshot --clean

$(RELEASER):
	GOBIN=$(CURDIR)/bin go install github.com/goreleaser/goreleaser/v2@$(RELEASER:bin/goreleaser-%=%)
	mv bin/goreleaser $@

.PHONY: portable
portable: ## compiles everything for macOS, tests too
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 GOFLAGS=-trimpath go vet -tags processes,defects,upgrade ./...

.PHONY: reproducible
reproducible: ## builds twice, in different folders and once from nothing, and compares
	packaging/reproducible
