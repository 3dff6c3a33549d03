# srdtun: "make help" lists the targets.

# Without a Go that is new enough, one that fetches itself when it is first called: scripts/toolchain/go.
ifeq ($(origin GO),undefined)
GO := $(shell scripts/toolchain/find.sh)
endif
export GO
ifneq ($(filter-out $(shell command -v go),$(filter /%,$(GO))),)
export PATH := $(patsubst %/,%,$(dir $(GO))):$(PATH)
endif
ifeq ($(VERSION),)
VERSION := $(shell packaging/version.sh)
endif
# Paths are cut off in all builds, as in the shipped binary: tests then share what was compiled for it.
export GOFLAGS += -buildvcs=false -trimpath
export CGO_ENABLED ?= 0

BIN      := bin
OUT      := out
PREFIX   ?= /usr
SYSCONF  ?= /etc
UNITDIR  ?= /lib/systemd/system
# Of dist, deb and rpm.
DIST     := $(OUT)/dist
ARCHS    ?= amd64 arm64
PROGRAMS ?= srdtun srdtun-etcd srdtun-k8s
FUZZTIME ?= 10s
# Of soak: first and last seed. make test plays QUICKSEEDS.
SEEDS     ?= 1..2000
QUICKSEEDS = 1..500
# Of bench-stages: runs of each benchmark, and the time of each.
COUNT     ?= 6
BENCHTIME ?= 0.5s
# Tests that make namespaces of their own on a large scale run apart.
UNIT      = $(shell $(GO) list ./... | grep -v -e '/e2e' -e '/sim' | grep -vxF "$$($(GO) list $(SOLO) $(SINGLE))")
# The simulator and the pure packages have neither goroutines, locks nor unsafe code, nor have
# their tests, as internal/tree sees to, so the race detector finds nothing there; it would take
# ten times as long. It watches their code where threads run it: THREADS and the others of UNIT.
SOLO      = ./srd ./srd/mono ./srd/cc ./srd/steer ./srd/handshake ./srd/liar ./srd/internal/... ./overlay/events ./overlay/packet ./overlay/merge ./overlay/route ./overlay/order ./overlay/queue ./overlay/flows
SIM       = ./sim/...
# Packages that no other package's threads run, and without any of their own.
SINGLE    = ./config ./cmd/srdtun/internal/... ./internal/inspect ./internal/manpage ./internal/manualtest ./internal/tree ./overlay/frame ./scripts/demo ./scripts/field ./scripts/picture ./scripts/sbom ./scripts/toolchain
# Packages with threads and locks: what they do may depend on how many run at once.
THREADS   = ./srd/loop ./overlay/daemon ./overlay/control
# Packages without clock, sockets and privileges (internal/tree), but the simulator.
PURE      = ./config ./internal/tree ./srd ./srd/cc ./srd/steer ./srd/handshake ./srd/internal/... ./overlay/events ./overlay/frame ./overlay/merge ./overlay/order ./overlay/packet ./overlay/queue ./overlay/route
LDFLAGS  := -s -w -X main.version=$(VERSION)
TESTSUM   = $(BIN)/testsum
# go build that shows how far it is: the first one takes minutes.
BUILD     = GO='$(GO)' scripts/build.sh

.PHONY: help build build-agents build-etcd check gofmt model test test-all test-unit test-threads soak acceptance mutate hostdelay plaintcp test-lab test-bench test-examples test-agents test-k8s test-e2e e2e-side e2e-alone e2e-long bench-stages fuzz demo lab compare compare-fabric bench cores strain cloud messages apps blackhole regress bin-bench srdsim srdplot results drills suites install uninstall man dist deb rpm release test-release test-package lint lint-all clean packages packages-demo packages-bench packages-apps testsum
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9 -]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build the static binary bin/srdtun
	@$(BUILD) $(BIN)/srdtun -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/srdtun ./cmd/srdtun

build-etcd:
	@$(BUILD) $(BIN)/srdtun-etcd -trimpath -ldflags '$(LDFLAGS)' -o $(abspath $(BIN))/srdtun-etcd ./fleet/cmd/srdtun-etcd

build-agents: build-etcd ## build the fleet's agents, bin/srdtun-etcd and bin/srdtun-k8s, static as well
	@$(BUILD) $(BIN)/srdtun-k8s -trimpath -ldflags '$(LDFLAGS)' -o $(abspath $(BIN))/srdtun-k8s ./fleet/cmd/srdtun-k8s

# Lint and units keep the processors busy, and the tests of the part "side" mostly wait.
test: packages ## before each commit: lint, unit, race, 500 seeds, end to end (root, 12 minutes)
	@$(MAKE) --no-print-directory build build-etcd testsum
	@scripts/beside.sh '$(MAKE) --no-print-directory e2e-side' '$(MAKE) --no-print-directory lint test-unit soak SEEDS=$(QUICKSEEDS)'
	@$(MAKE) --no-print-directory e2e-alone ALONE='-unlike bw_4to1'
	@echo "test: ok. make test-all is more: 2,000 seeds, long tests, model, agents, laboratory, packages"

test-all: packages ## everything but test-k8s and test-release, before a release (root, 75 minutes)
	@$(MAKE) --no-print-directory build build-agents testsum
	@scripts/beside.sh '$(MAKE) --no-print-directory e2e-side' 'scripts/model.sh quick && $(MAKE) --no-print-directory lint-all test-unit test-threads'
	@$(MAKE) --no-print-directory soak test-lab test-bench test-examples test-agents e2e-alone e2e-long test-package

test-unit: packages testsum ## unit and simulation tests and fuzz seeds, with the race detector
	$(TESTSUM) -go $(GO) -- -vet=off -timeout 10m $(SOLO) $(SINGLE) $(SIM)
	CGO_ENABLED=1 $(TESTSUM) -go $(GO) -- -vet=off -race -timeout 10m $(UNIT)

test-threads: testsum ## packages with threads again, on one processor and on eight, with the race detector
	@for n in 1 8; do echo "GOMAXPROCS=$$n $(THREADS)"; \
	  GOMAXPROCS=$$n CGO_ENABLED=1 $(TESTSUM) -go $(GO) -- -vet=off -race -count 1 -timeout 10m $(THREADS) || exit 1; done

soak: ## the simulator's swarm: 2,000 seeds, or SEEDS=A..B
	@$(MAKE) --no-print-directory srdsim
	@$(BIN)/srdsim soak --seeds $(SEEDS)

mutate: ## plant bugs one at a time and see that the swarm catches each (about 15 minutes)
	@$(BUILD) $(BIN)/mutate -o $(BIN)/mutate ./scripts/mutate
	@$(BIN)/mutate -go $(GO)

acceptance: ## what the transport is to reach, in the simulator: values, goals, verdicts (2 minutes; ONLY=scene,.. CORE=tree TAGS=tag)
	@mkdir -p $(OUT)
	@sed 's|=> \.\./$$|=> $(abspath $(or $(CORE),.))/|' lab/go.mod >$(OUT)/accept.mod && cp lab/go.sum $(OUT)/accept.sum
	@$(BUILD) $(BIN)/accept -modfile $(abspath $(OUT)/accept.mod) -tags '$(TAGS)' -o $(abspath $(BIN))/accept ./lab/accept
	@$(BIN)/accept -only '$(ONLY)' -o $(OUT)/acceptance.jsonl $(ACCEPTFLAGS)

plaintcp: build bin-bench ## record what this kernel's TCP does, alone and beside the tunnel: lab/tcp/testdata, lab/testdata (root, five minutes)
	@$(BIN)/bench plaintcp -o lab/tcp/testdata/linux.txt alone-20 alone-200 two-20 two-200 four-20 loss-0.5 loss-2
	@$(BIN)/bench plaintcp -bin $(BIN)/srdtun -o lab/testdata/beside.txt beside-1-1-20 beside-1-1-200 beside-4-4-20

hostdelay: bin-bench ## record how late this machine's processes are: lab/hosts (root)
	@chrt -f 10 $(BIN)/bench hostdelay -o lab/hosts/idle.txt
	@nice -n -20 $(BIN)/bench hostdelay -busy 2 -o lab/hosts/busy.txt

test-k8s: ## srdtun-k8s against a real API server, which is built first (root, 15 minutes; K8SFLAGS='-dead 10m')
	@command -v etcd >/dev/null || scripts/packages.sh test
	cd fleet/apiserver && $(GO) build -ldflags '-s -w' -o $(abspath $(BIN))/kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
	cd fleet && $(GO) test -c -tags apiserver -o $(abspath $(BIN))/k8stest ./k8s
	cd fleet/k8s && unshare --net sh -c 'ip link set lo up && exec "$$@"' - $(abspath $(BIN))/k8stest -test.v -test.run 'Real|Thousand' -apiserver $(abspath $(BIN))/kube-apiserver $(K8SFLAGS)

test-lab: testsum ## the tests of the laboratory, a module of its own
	cd lab && $(abspath $(TESTSUM)) -go $(GO) -- -timeout 30m ./...

test-bench: testsum ## the tests of what measures, a module of its own
	cd bench && $(abspath $(TESTSUM)) -go $(GO) -- ./...

test-examples: testsum ## the examples, modules of their own
	cd examples/grpc && $(abspath $(TESTSUM)) -go $(GO) -- ./...
	cd examples/sql && $(abspath $(TESTSUM)) -go $(GO) -- ./...

test-agents: testsum ## the tests of the fleet and its agents, a module of its own
	cd fleet && CGO_ENABLED=1 $(abspath $(TESTSUM)) -go $(GO) -- -race $$($(GO) -C fleet list ./... | grep -v -e k8s -e 'cmd$$')
	cd fleet && $(abspath $(TESTSUM)) -go $(GO) -- ./k8s ./cmd # a second build of client-go takes minutes

test-e2e: packages build build-etcd testsum ## the shipped binary in network namespaces (root, about 18 minutes)
	@$(MAKE) --no-print-directory e2e-side e2e-alone e2e-long

E2E = SRDTUN_BIN=$(abspath $(BIN)/srdtun) SRDTUN_ETCD_BIN=$(abspath $(BIN)/srdtun-etcd) $(TESTSUM) -go $(GO) -details -- -vet=off -timeout 30m -count 1

# The parts of the suite: e2e/parts_test.go. A test of a part has side(t) or long(t) as its first statement.
e2e-side:
	$(E2E) -parallel 4 ./e2e -part side

# Measurements do not share the machine, but with parts of the same test that say so. ALONE are flags of tests.
e2e-alone:
	$(E2E) -parallel 4 ./e2e -part alone $(ALONE)

e2e-long:
	$(E2E) -parallel 4 ./e2e -part long
	$(E2E) -p 1 $$($(GO) list ./e2e/... | grep -v '/e2e$$')

bench-stages: ## benchmarks of each stage of the data path, COUNT (6) times, for benchstat (root)
	@$(GO) test -run '^$$' -bench . -benchtime $(BENCHTIME) -count $(COUNT) ./srd/... ./overlay/...

fuzz: ## every fuzz target for FUZZTIME (10s)
	@GO='$(GO)' scripts/fuzz.sh $(FUZZTIME)

demo: packages-demo build ## see it work: a TCP flow over four paths, one of which dies (root)
	@$(MAKE) --no-print-directory srdplot
	@$(BUILD) $(BIN)/demo -o $(BIN)/demo ./scripts/demo
	@$(BIN)/demo -bin $(abspath $(BIN)/srdtun) -plot $(abspath $(BIN)/srdplot) -o $(OUT)/demo.png

# BENCHFLAGS are flags of bin/bench rivals, as in BENCHFLAGS='--reps 1 --only real,tcp1'.
bench: packages-bench build bin-bench ## compare with wireguard-go, its fork, nebula and MPTCP (root, an hour)
	@$(MAKE) --no-print-directory srdplot
	@$(BIN)/bench rivals -bin $(abspath $(BIN)/srdtun) -plot $(abspath $(BIN)/srdplot) -tools $(OUT)/bench-tools -o $(OUT)/bench $(BENCHFLAGS)

# BENCHFLAGS as of bench.
strain: packages-bench build bin-bench ## flow completion times on an uneven fabric, and of many to one: out/strain.* (root, 25 minutes)
	@$(MAKE) --no-print-directory srdplot
	@$(BIN)/bench rivals -strain -bin $(abspath $(BIN)/srdtun) -plot $(abspath $(BIN)/srdplot) -tools $(OUT)/bench-tools -o $(OUT)/strain --reps 1 $(BENCHFLAGS)

# CLOUDFLAGS are flags of bin/bench cloud, as in CLOUDFLAGS='-reps 2 -only cloud500,tcp,srdtun'. bin/bench cloud -h: two instances.
cloud: packages-demo build bin-bench ## under the limits that clouds set for a 5-tuple, beside other tunnels: out/cloud.* (root, 45 minutes)
	@$(MAKE) --no-print-directory srdplot
	@$(BIN)/bench cloud -bin $(abspath $(BIN)/srdtun) -plot $(abspath $(BIN)/srdplot) -tools $(OUT)/bench-tools -o $(OUT)/cloud $(CLOUDFLAGS)

# MESSAGEFLAGS are flags of bin/bench messages, as in MESSAGEFLAGS='-reps 1 -only one-link,srdperf,rate'.
messages: packages-bench build bin-bench ## srdperf beside UDP sockets, and TCP through the tunnel: out/messages.* (root, 5 minutes)
	@$(BUILD) $(BIN)/srdperf -o $(abspath $(BIN))/srdperf ./cmd/srdperf
	@$(BIN)/bench messages -bin $(abspath $(BIN)/srdtun) -perf $(abspath $(BIN)/srdperf) -plot $(abspath $(BIN)/srdplot) -o $(OUT)/messages -reps 3 -secs 2 $(MESSAGEFLAGS)

# APPSFLAGS are flags of bin/bench apps, as in APPSFLAGS='-only postgres,srdtun -deaths 10'.
apps: packages-apps build bin-bench ## PostgreSQL and etcd while spines die, a ring of sockets, Open MPI: out/apps.* (root, 27 minutes)
	@$(MAKE) --no-print-directory srdplot
	@$(BIN)/bench apps -bin $(abspath $(BIN)/srdtun) -plot $(abspath $(BIN)/srdplot) -o $(OUT)/apps $(APPSFLAGS)

lab: ## the papers' experiments in the simulator: tables, results and figures in out/lab (minutes)
	@$(MAKE) --no-print-directory srdsim
	@$(MAKE) --no-print-directory srdplot
	@status=0; $(BIN)/srdsim run -o $(OUT)/lab lab/plans/*.toml || status=$$?; $(BIN)/srdsim sweep || status=$$?; $(BIN)/srdsim report $(OUT)/lab; exit $$status

# COMPAREFLAGS are flags of bin/srdsim compare, or of bin/compare.
compare: ## all path policies, TCP and MPTCP in the simulator: out/compare (minutes; COMPAREFLAGS=--full: an hour)
	@$(MAKE) --no-print-directory srdsim
	@$(BIN)/srdsim compare -o $(OUT)/compare $(COMPAREFLAGS)

compare-fabric: packages-demo build ## the same with the daemon in namespaces: out/compare-fabric.* (root, minutes)
	@$(BUILD) compare -o $(abspath $(BIN))/compare ./lab/fabric
	@$(BIN)/compare -bin $(abspath $(BIN)/srdtun) -o $(OUT)/compare-fabric $(COMPAREFLAGS)

# CORESFLAGS are flags of bin/bench cores, as in CORESFLAGS='-workers 1,2'.
cores: packages-bench build bin-bench ## how the daemon uses many processors, one peer and four, and rivals beside it (root)
	@$(BIN)/bench cores -bin $(abspath $(BIN)/srdtun) -runs 1 -workers 1,2,4,8,16 -peers 1,4 $(CORESFLAGS)
	@$(MAKE) --no-print-directory srdplot
	@$(BIN)/bench rivals -bin $(abspath $(BIN)/srdtun) -plot $(abspath $(BIN)/srdplot) -tools $(OUT)/bench-tools -o $(OUT)/cores --reps 1 --only real,tcp8,wireguard-go,wireguard-ts,nebula,srdtun

# BLACKHOLEFLAGS are flags of bin/bench blackhole.
blackhole: packages-demo build bin-bench ## how long an application stalls when a spine dies silently, 100 times (root, 5 minutes)
	@mkdir -p $(OUT) && rm -f $(OUT)/blackhole.jsonl
	@$(BIN)/bench blackhole -bin $(abspath $(BIN)/srdtun) -o $(OUT)/blackhole.jsonl $(BLACKHOLEFLAGS)

# REGRESSFLAGS are flags of bin/bench regress, as in REGRESSFLAGS='-pairs 3 -head HEAD~1'.
regress: packages-bench bin-bench ## which figures are worse than at BASE=<revision>: pairs in turn (root, 45 minutes; SET=quick: 6; ONLY=scene,..)
	@test -n "$(BASE)" || { echo 'usage: make regress BASE=<revision> [SET=quick] [ONLY=scene,..]' >&2; exit 2; }
	@$(BIN)/bench regress -go $(GO) -o $(OUT)/regress -base '$(BASE)' -set '$(SET)' -only '$(ONLY)' $(REGRESSFLAGS)

srdsim: ## build bin/srdsim, the simulator
	@$(BUILD) $(BIN)/srdsim -o $(abspath $(BIN))/srdsim ./lab/srdsim

srdplot:
	@$(BUILD) $(BIN)/srdplot -o $(abspath $(BIN))/srdplot ./lab/srdplot

bin-bench:
	@$(BUILD) bench -o $(abspath $(BIN))/bench ./bench

results: bin-bench ## write docs/results.md and docs/bench.png from what lab, bench, strain, cloud, messages, blackhole and compare left in out/
	@$(MAKE) --no-print-directory srdplot
	@$(BIN)/bench results -out $(OUT) -plot $(abspath $(BIN))/srdplot

suites: bin-bench ## the tests of net/http and golang.org/x/net/http2 over streams of srd/ep/epnet, beside TCP (2 minutes)
	@$(BIN)/bench suites $(SUITEFLAGS)

# DRILLFLAGS are flags of bin/bench drills, as in DRILLFLAGS='-short -only move,dead'.
drills: packages-demo build bin-bench ## hurt the daemon under load, each way with its bound (root, some minutes)
	@$(BIN)/bench drills -bin $(abspath $(BIN)/srdtun) $(DRILLFLAGS)

# The folders of PREFIX and SYSCONF that the files below go to.
INSTALLED = $(PREFIX)/bin/srdtun $(UNITDIR)/srdtun@.service $(UNITDIR)/srdtun-fleet-user@.service $(PREFIX)/lib/sysusers.d/srdtun.conf $(PREFIX)/lib/systemd/system-generators/srdtun-generator \
  $(PREFIX)/lib/udev/rules.d/84-srdtun.rules $(PREFIX)/lib/systemd/network/00-srdtun.network \
  $(PREFIX)/share/bash-completion/completions/srdtun $(PREFIX)/share/zsh/site-functions/_srdtun \
  $(PREFIX)/share/fish/vendor_completions.d/srdtun.fish

# Whoever has built it as a user need not build it again as root.
install: ## install binary, unit, manual pages, completions and the folder for configurations
	@case '$(VERSION)' in *-dirty|*-dev) false ;; *) $(BIN)/srdtun version 2>/dev/null | grep -qF ' $(VERSION) ' ;; esac || $(MAKE) --no-print-directory build
	install -D -m 0755 $(BIN)/srdtun $(DESTDIR)$(PREFIX)/bin/srdtun
	install -D -m 0644 systemd/srdtun@.service $(DESTDIR)$(UNITDIR)/srdtun@.service
	install -D -m 0644 systemd/srdtun-fleet-user@.service $(DESTDIR)$(UNITDIR)/srdtun-fleet-user@.service
	install -D -m 0644 systemd/srdtun.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/srdtun.conf
	install -D -m 0755 systemd/srdtun-generator $(DESTDIR)$(PREFIX)/lib/systemd/system-generators/srdtun-generator
	install -D -m 0644 systemd/srdtun.rules $(DESTDIR)$(PREFIX)/lib/udev/rules.d/84-srdtun.rules
	install -D -m 0644 systemd/srdtun.network $(DESTDIR)$(PREFIX)/lib/systemd/network/00-srdtun.network
	mkdir -p $(DESTDIR)$(PREFIX)/share
	$(BIN)/srdtun man $(DESTDIR)$(PREFIX)/share/man
	@cd $(DESTDIR)$(PREFIX)/share && mkdir -p bash-completion/completions zsh/site-functions fish/vendor_completions.d
	$(BIN)/srdtun completion bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/srdtun
	$(BIN)/srdtun completion zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_srdtun
	$(BIN)/srdtun completion fish >$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/srdtun.fish
	install -d -m 0700 $(DESTDIR)$(SYSCONF)/srdtun

uninstall: ## remove what install has installed; configurations stay
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	rm -f $(DESTDIR)$(PREFIX)/share/man/man1/srdtun.1 $(DESTDIR)$(PREFIX)/share/man/man1/srdtun-*.1 $(DESTDIR)$(PREFIX)/share/man/man5/srdtun.toml.5
	@rmdir $(DESTDIR)$(SYSCONF)/srdtun 2>/dev/null || { [ ! -e $(DESTDIR)$(SYSCONF)/srdtun ] || echo "kept: $(DESTDIR)$(SYSCONF)/srdtun"; }

man: build ## manual pages and completions, in out/dist
	@rm -rf $(DIST)/man && mkdir -p $(DIST)/completions
	@$(BIN)/srdtun man $(DIST)/man
	@$(BIN)/srdtun completion bash >$(DIST)/completions/srdtun.bash
	@$(BIN)/srdtun completion zsh >$(DIST)/completions/_srdtun
	@$(BIN)/srdtun completion fish >$(DIST)/completions/srdtun.fish

dist: man ## static binaries of PROGRAMS for amd64 and arm64 with their bills of materials, in out/dist
	@set -e; for program in $(PROGRAMS); do folder=./fleet/cmd/$$program; [ $$program != srdtun ] || folder=./cmd/srdtun; for arch in $(ARCHS); do \
	  GOARCH=$$arch $(BUILD) $$program-linux-$$arch -trimpath -ldflags '$(LDFLAGS)' -o $(abspath $(DIST))/$$program-linux-$$arch $$folder; \
	  $(GO) run ./scripts/sbom $(DIST)/$$program-linux-$$arch '$(VERSION)' >$(DIST)/$$program-linux-$$arch.cdx.json; done; done
	@cd $(DIST) && sha256sum srdtun*-linux-* >SHA256SUMS && cat SHA256SUMS

deb rpm: dist ## packages of PROGRAMS for Debian, and for Fedora and the like, in out/dist
	@set -e; for program in $(PROGRAMS); do \
	  [ $$program = srdtun ] || $(GO) -C fleet run -ldflags '$(LDFLAGS)' ./cmd/$$program man $(abspath $(DIST))/man-agents; \
	  for arch in $(ARCHS); do GO='$(GO)' packaging/package.sh $@ $$program $$arch $(DIST) '$(VERSION)'; done; done

release: ## all files of a release in out/release, signed by the ssh key RELEASE_KEY: binaries, packages, images
	@ARCHS='$(ARCHS)' PROGRAMS='$(PROGRAMS)' MAKE='$(MAKE)' packaging/release.sh '$(abspath $(OUT))/release'

test-release: ## make the release twice, in two folders, compare every byte, and verify it (10 minutes)
	@ARCHS='$(ARCHS)' PROGRAMS='$(PROGRAMS)' MAKE='$(MAKE)' packaging/releasetest.sh

# PACKAGEFLAGS are flags of bin/packagetest, as in PACKAGEFLAGS='deb -only restart'; -list names kinds and checks.
test-package: ## source, deb, rpm and image in a Debian root: install, run, restart, upgrade, purge (root, 6 minutes)
	@$(BUILD) $(BIN)/packagetest -o $(BIN)/packagetest ./scripts/packagetest
	@PATH="$(PATH)" $(BIN)/packagetest $(PACKAGEFLAGS)

lint: gofmt ## gofmt, go vet, staticcheck
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

lint-all: lint ## go vet also for 32 bits, and of the other modules
	GOARCH=386 $(GO) vet ./...
	cd lab && $(GO) vet ./...
	cd bench && $(GO) vet ./...
	cd examples/grpc && $(GO) vet ./...
	cd examples/sql && $(GO) vet ./...
	cd fleet && $(GO) vet ./...

gofmt:
	@unformatted=$$("$$($(GO) env GOROOT)/bin/gofmt" -l $$(find . -name '.?*' -prune -o -name '*.go' -print)); if [ -n "$$unformatted" ]; then echo "gofmt wants: $$unformatted"; exit 1; fi

# What a contributor runs after each change: no root, no race detector, no network.
check: ## a first look in a minute: gofmt, vet, tests of the pure packages, 100 seeds; names the tests to run next
	@NEXT='When it passes, it names the next tests' scripts/each.sh gofmt '$(MAKE) --no-print-directory gofmt' 'vet and tests' '$(GO) test -vet=all -short $(PURE)' \
	  '100 seeds' '$(GO) test -run TestSwarm$$ ./sim/swarm'
	@echo "check: ok"
	@scripts/next.sh $(PURE)

model: ## spin checks the handshake, and that planted bugs are caught (docs/model)
	@command -v spin >/dev/null || scripts/packages.sh test
	@scripts/model.sh

packages:
	@scripts/packages.sh test

packages-demo:
	@scripts/packages.sh demo

packages-bench:
	@scripts/packages.sh bench

packages-apps:
	@scripts/packages.sh apps

testsum:
	@$(BUILD) $(TESTSUM) -o $(TESTSUM) ./scripts/testsum

clean: ## remove what was built
	rm -rf $(BIN) $(OUT)
