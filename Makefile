# SPDX-License-Identifier: Apache-2.0
# The front door.  `make help` lists what is behind it; the build itself is Meson's.

BUILD  ?= build
PREFIX ?= /usr/local
PY     := /usr/bin/python3
NPM    := tests/mcp/node_modules/.package-lock.json

.PHONY: all help deps deps-test with-tests npm conformance demo check san fuzz bench packetdrill lint install clean

all: $(BUILD)/build.ninja  ## build $(BUILD)/sonde
	@ninja -C $(BUILD)

# unit tests are built where what they need is installed; `make check` installs it
$(BUILD)/build.ninja: | deps
	@meson setup $(BUILD) --prefix $(PREFIX) -Dtests=$$(pkg-config --exists cmocka && echo true || echo false) > $(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }; rm -f $(BUILD).log

help:  ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

deps:  ## install the missing Debian packages for building
	@scripts/deps.sh build

deps-test:
	@scripts/deps.sh test

npm: $(NPM)  ## what tests of the MCP server take from npm, by exact version and hash

$(NPM): tests/mcp/package-lock.json | deps-test
	@cd tests/mcp && npm ci --loglevel error && touch node_modules/.package-lock.json

# a build made before cmocka was there has no tests
with-tests: deps-test $(BUILD)/build.ninja
	@meson configure $(BUILD) -Dtests=true

conformance: with-tests $(NPM)  ## the conformance suite of MCP, both sets of requirements
	@ninja -C $(BUILD) tests/mcp/sonde-mcp-fixtures > $(BUILD)/conformance.log || { cat $(BUILD)/conformance.log; exit 1; }
	@tests/mcp/conformance.py $(BUILD)

demo: all  ## build, make a lab of network namespaces, investigate it
	@scripts/demo.sh $(BUILD)/sonde

check: deps-test $(NPM)  ## everything that CI runs; ends with "N passed, N failed"
	@$(PY) scripts/check.py

san: deps-test  ## unit and language tests under ASan and UBSan
	@$(PY) scripts/check.py san

fuzz: deps-test  ## each fuzz target for FUZZ_TIME seconds (60), side by side
	@$(PY) scripts/fuzz.py --seconds $(or $(FUZZ_TIME),60)

bench: deps-test all  ## figures against peers in the same run, as in BENCH.md
	@$(PY) tests/bench/run.py --sonde $(BUILD)/sonde --judge

packetdrill: with-tests  ## packetdrill's public scripts against our stack; PACKETDRILL=its checkout, built
	@ninja -C $(BUILD) tests/libsonde_packetdrill.so
	@$(PY) tests/packetdrill/run.py $(PACKETDRILL) --build $(BUILD)

lint: deps-test all  ## structure, style, warnings of clang
	@scripts/arrows.py $(BUILD)
	@scripts/lint.sh

install: all  ## binary, man pages, completion; SETCAP=1 gives the binary its capabilities
	@ninja -C $(BUILD) install
	@scripts/setcap.sh $(DESTDIR)$(PREFIX)/bin/sonde $(SETCAP)

clean:  ## remove build folders
	@rm -rf $(BUILD) build-san build-fuzz build-clang build-arm64 tests/mcp/node_modules
