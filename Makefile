# Everything is run by one of these: make help lists them.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The processor of the Lambda functions, as in template.yaml's default.
GOOS ?= linux
GOARCH ?= arm64
# Where make dynamodb-local listens.
DYNAMODB_LOCAL_PORT ?= 8000

# The linters live in a module of their own, so that the product's go.mod stays small.
LINT_TOOL := go tool -modfile=tools/lint/go.mod
CFN_LINT := .cache/cfn-lint/bin/cfn-lint
SCHEMATHESIS := .cache/schemathesis/bin/schemathesis

##@ Run

.PHONY: run
run: ## the whole system in one process, in memory: http://127.0.0.1:8080
	go run ./cmd/penstock serve

.PHONY: dynamodb-local
dynamodb-local: ## DynamoDB Local on port 8000, in memory, until Ctrl-C
	scripts/dynamodb-local.sh fetch
	scripts/dynamodb-local.sh run $(DYNAMODB_LOCAL_PORT)

##@ Test

# Everything, DynamoDB Local and the Lambda binaries included: nothing is left out when something
# is missing, so what is missing is said first.
.PHONY: test
test: ## all tests, with the race detector; fetches DynamoDB Local
	@scripts/preflight.sh test
	scripts/dynamodb-local.sh fetch
	go test -race -shuffle=on ./...

.PHONY: check
check: lint test openapi ## exactly what CI runs: lint, test, then openapi

# Beside the Go tests, which hold the handlers against the file as well: requests that nobody thought of. The seed
# makes them the same for the same file, so that a change fails for what it changes. To look for more, without it:
# SCHEMATHESIS=.cache/schemathesis/bin/schemathesis scripts/schemathesis.sh --max-examples 500
.PHONY: openapi
openapi: $(SCHEMATHESIS) ## schemathesis: is every answer of penstock serve as its /openapi.json says?
	SCHEMATHESIS=$(SCHEMATHESIS) scripts/schemathesis.sh --max-examples 50 --seed 1

.PHONY: lint
lint: format-check vet golangci tidy-check cfn-lint ## format, vet, golangci-lint, tidy, cfn-lint

.PHONY: bench
bench: ## Go benchmarks; as JSON, decisions on DynamoDB Local, cold start and many tenants
	@scripts/preflight.sh test
	go test -run '^$$' -bench . -benchmem ./...
	scripts/with-dynamodb-local.sh go run ./cmd/penstock bench decisions --store dynamodb --create-tables --json
	go run ./integration/coldstart
	go run ./bench/config

##@ Build

# One bootstrap for each function. CodeUri of a function is this whole folder, for go.mod is here.
FUNCTIONS := check admin authorizer

.PHONY: build
build: $(FUNCTIONS:%=build/%) ## the Lambda functions, into bin/lambda

.PHONY: $(FUNCTIONS:%=build/%)
$(FUNCTIONS:%=build/%): build/%:
	$(MAKE) --no-print-directory bootstrap PACKAGE=./functions/$* OUT=bin/lambda/$*/bootstrap

# SAM runs build-<logical id> for a function in template.yaml and packs what is in ARTIFACTS_DIR.
.PHONY: build-CheckFunction
build-CheckFunction:
	$(MAKE) --no-print-directory bootstrap PACKAGE=./functions/check OUT="$(ARTIFACTS_DIR)/bootstrap"

.PHONY: build-AdminFunction
build-AdminFunction:
	$(MAKE) --no-print-directory bootstrap PACKAGE=./functions/admin OUT="$(ARTIFACTS_DIR)/bootstrap"

.PHONY: build-AuthorizerFunction
build-AuthorizerFunction:
	$(MAKE) --no-print-directory bootstrap PACKAGE=./functions/authorizer OUT="$(ARTIFACTS_DIR)/bootstrap"

# How every Lambda binary is built. lambda.norpc leaves out net/rpc, which only the retired go1.x
# runtime needs; -s -w leaves out what only a debugger reads. Without the commit inside, the same
# sources make the same bytes, and SAM publishes no new version for a change of the README.
.PHONY: bootstrap
bootstrap:
	CGO_ENABLED=0 GOOS=$(GOOS) GOARCH=$(GOARCH) go build -tags lambda.norpc -trimpath -buildvcs=false -ldflags='-s -w' -o "$(OUT)" $(PACKAGE)

##@ Parts of lint

.PHONY: format
format: ## rewrites what gofumpt would
	$(LINT_TOOL) gofumpt -w .

.PHONY: format-check
format-check:
	@echo 'gofumpt -l .'
	@unformatted=$$($(LINT_TOOL) gofumpt -l .); [ -z "$$unformatted" ] || { echo "not formatted (run: make format):" $$unformatted >&2; exit 1; }

.PHONY: vet
vet:
	go vet ./...

.PHONY: golangci
golangci: ## golangci-lint, staticcheck in it
	$(LINT_TOOL) golangci-lint run ./...

.PHONY: tidy-check
tidy-check:
	go mod tidy -diff
	cd tools/lint && go mod tidy -diff

.PHONY: cfn-lint
cfn-lint: $(CFN_LINT) ## checks template.yaml, and those of examples
	$(CFN_LINT) template.yaml examples/*/template.yaml

# A Python program is installed into an environment of its own: .cache/NAME/bin/NAME.
define python
$(1): tools/$(2)/requirements.txt
	@scripts/preflight.sh check
	rm -rf .cache/$(2)
	python3 -m venv .cache/$(2)
	.cache/$(2)/bin/pip install --quiet --no-deps --requirement tools/$(2)/requirements.txt
	touch $(1)
endef
$(eval $(call python,$(CFN_LINT),cfn-lint))
$(eval $(call python,$(SCHEMATHESIS),schemathesis))

# Not in lint: its database cannot be reached from everywhere, and its answer changes with the
# day, not with the change under test.
.PHONY: vulncheck
vulncheck: ## known vulnerabilities in what is called
	go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...

##@ Other

.PHONY: clean
clean: ## removes what was built and fetched
	rm -rf bin .cache .aws-sam

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^##@/ { printf "\n%s\n", substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
