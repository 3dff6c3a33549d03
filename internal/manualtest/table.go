package manualtest

import "strings"

// forDevelopers lists the documents that users need not read, with the reason for each. Tests
// check that the commands in them exist, but do not run their code blocks.
var forDevelopers = map[string]string{
	"CHANGELOG.md":       "what was",
	"HACKING.md":         "for people who work on srdtun; the targets of make and the programs' commands are checked",
	"docs/api.md":        "a library; the test of srd/ep runs its example",
	"docs/congestion.md": "formulas, and how its picture was made",
	"docs/core.md":       "a drawing",
	"docs/decisions.md":  "a table, and how git shows older ones",
	"docs/design.md":     "a list of packages",
	"docs/results.md":    "written by a command, which it names",
	"docs/simulation.md": "tables as the simulator prints them",
	"docs/transport.md":  "a table of laws; a test compares the constants",
	"docs/wire.md":       "drawings and golden bytes, which tests read",
}

// ForUsers reports whether a document is for users of srdtun. A new document counts as a
// document for users.
func ForUsers(doc string) bool {
	return forDevelopers[doc] == "" && !strings.HasPrefix(doc, "docs/model/")
}

// Run names the test that runs a block of a document, or the reason why no test runs the block.
type Run struct {
	Doc   string
	First string // text in the block's first line; "": all blocks of the document
	By    string // a test, or a target of make
	Why   string // why no test runs the block, or which part of it By does not run
}

// ByCommands is the test that runs the documents' commands unchanged, beginning with those of
// the guide.
const ByCommands = "TestDocumentCommands"

// inConfig is the test that parses configurations with the real parser.
const inConfig = "TestConfigurationsInDocuments"

// Table has a row for every block of code in the documents for users.
var Table = []Run{
	{"docs/guide.md", "", ByCommands, "its configurations: " + inConfig},

	{"README.md", "apt-get update", "", "the tests and the demo themselves, on a fresh Debian"},
	{"README.md", "git clone", ByCommands, ""},
	{"README.md", "[[peer]]", inConfig, ""},
	{"README.md", "sudo systemd-sysusers", "make test-package", "needs systemd; there it is the package that calls systemd-sysusers"},
	{"docs/operation.md", "srdtun up NAME|FILE", "", "a list of all commands, which is held against them"},
	{"docs/operation.md", "srdtun show lab --json", ByCommands, ""},

	{"docs/events.md", "journalctl", ByCommands, ""},
	{"docs/events.md", "2026-11-22 14:16", "", "lines of a log; each kind of them has its test in overlay/daemon"},

	{"docs/cloud.md", "bench cloud serve", "", "needs two instances; TestInstancesAreNamed of bench/rivals reads such arguments"},

	{"docs/fleet.md", "etcd  <---->", "", "a drawing"},
	{"docs/fleet.md", "make deb", "make test-package", "it installs packages of another version, with dpkg"},
	{"docs/fleet.md", "srdtun-etcd fleetkey", "TestFleetCommands", ""},
	{"docs/fleet.md", "srdtun-etcd sign", "TestFleetCommands", ""},
	{"docs/fleet.md", "[interface]", inConfig, ""},
	{"docs/fleet.md", "sudo systemctl enable", "TestFleetJoins", "a join with other names and without certificates; nothing there needs systemd"},
	{"docs/fleet.md", "# name  public key", "TestListsInDocument", "the list; TestFleetJoins runs the join with another policy"},
	{"docs/fleet.md", "srdtun-etcd members", "", "its flags replace flags of the join above it"},
	{"docs/fleet.md", `{"version":1`, "", "a record; fleet/testdata has the tests' records"},
	{"docs/fleet.md", "Node's annotation", "", "a drawing"},
	{"docs/fleet.md", "srdtun-k8s join", "make test-k8s", "needs an API server"},

	{"docs/install.md", "ssh-keygen -Y verify", "make test-release", "the attestation needs the forge; the packages are installed by make test-package"},
	{"docs/install.md", "make deb", "make test-package", "dnf needs a Fedora; rpm installs it there"},
	{"docs/install.md", "make build && sudo make install", "make test-package", "needs systemd; there it is the package that calls systemd-sysusers"},
	{"docs/install.md", "sudo srdtun init lab", ByCommands, ""},
	{"docs/install.md", "docker load", "make test-package", "needs Docker; the steps of the Dockerfile, without Docker"},
	{"docs/install.md", "FROM debian:12-slim", "TestHealthcheckOfTheImage", "needs Docker; its health command is run"},

	{"docs/monitoring.md", "[metrics]", inConfig, ""},
	{"docs/monitoring.md", "scrape_configs:", "TestPrometheusSeesAPathDie", "with another port and interval"},

	{"docs/policies.md", "[paths]", ByCommands, "its configuration: " + inConfig},
	{"docs/policies.md", "─", "", "a drawing"},
	{"docs/policies.md", "make compare", "", "measures for minutes; run it to check the figures"},

	{"docs/reload.md", "srdtun reload lab", ByCommands, ""},
	{"docs/reload.md", "~ paths.policy", "TestScripts", "the form of the lines"},
	{"docs/reload.md", "srdtun set lab peer", ByCommands, ""},
	{"docs/reload.md", "interface: lab", "TestScripts", "the form of the lines"},
	{"docs/reload.md", "[peers]", inConfig, ""},
	{"docs/reload.md", "left out:", "TestDropInsAreWatched", "the situation; the words are not compared"},
	{"docs/reload.md", "not read:", "TestOwnerOfADirectoryStopsNothing", "the form of the line"},
	{"docs/reload.md", "polkit.addRule", "", "needs polkit and systemd-resolved"},
	{"docs/reload.md", "post_up", inConfig, ""},
	{"docs/reload.md", "net.ipv4.ping_group_range", "make test-package", "its check recipes pings from a service"},
	{"docs/reload.md", "[Service]", "TestRefusedCommandIsExplained", "the error that it ends; the drop-in needs systemd"},
	{"docs/reload.md", "/srv/lab/lab.toml:", "TestOthersFilesRunNothingAsRoot", "the form of the line"},
	{"docs/wireguard.md", "srdtun import wg0.conf", ByCommands, ""},
	{"docs/wireguard.md", "fwmark = 46", inConfig, ""},
	{"docs/wireguard.md", "table inet dscp", "TestDSCPOfOuterPackets", ""},

	{"docs/security.md", "bytes sent to it", "", "a formula"},

	{"docs/monitoring.md", "# lab: ok", "TestScripts", "the form of the lines"},
	{"docs/monitoring.md", "interface: lab", "TestShowFitsAScreen", "written by that test"},
	{"docs/monitoring.md", "lab up 1h02m", "TestTop", "written by that test"},
	{"docs/monitoring.md", "lab: 4 flows", "TestFlows", "written by that test"},
	{"docs/monitoring.md", "hub: seq=1", "TestPing", "written by that test"},
}

// RowOf returns the row of a block, or nil.
func RowOf(b Block) *Run {
	for i, r := range Table {
		if r.Doc == b.Doc && strings.Contains(b.First(), r.First) {
			return &Table[i]
		}
	}
	return nil
}

// Elsewhere lists the commands of the documents that ByCommands does not run. The keys of the
// map are the commands' first words.
var Elsewhere = map[string]string{
	"git":        "needs the repository on GitHub",
	"make":       "make test-package builds and installs",
	"sudoedit":   "an editor; the test writes the file",
	"journalctl": "needs journald",
	"systemctl":  "needs systemd: make test-package",
	"srdtun up":  "is how the test starts",
	"srdtun top": "needs a terminal: TestDeadSpineIsSeen",
}
