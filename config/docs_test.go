package config

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/config.md and the results in testdata anew")

const docsFile = "../docs/config.md"

const docsHead = `# The configuration file

Each interface has one TOML file, ` + "`/etc/srdtun/NAME.toml`" + `, with mode 0600. ` + "`srdtun init NAME`" + ` writes a file that contains
or describes every key. ` + "`srdtun check NAME`" + ` reads the file, and names file, line and key of the first mistake.
` + "`srdtun import wg0.conf`" + ` converts a wg-quick file. A list with one member may be written as a single string.

The column *live* shows which keys can change while the interface runs. ` + "`srdtun reload NAME`" + `, ` + "`systemctl reload`" + `, SIGHUP
or ` + "`srdtun set`" + ` apply changes of these keys ([reload.md](reload.md)). The daemon reports a change of any other key, but applies
it only at the next start.

` + "`go test ./config -run TestDocs -update`" + ` writes this page from the table that the parser uses.
`

// docs returns the generated page.
func docs() string {
	var b strings.Builder
	b.WriteString(docsHead)
	for _, s := range schema {
		fmt.Fprintf(&b, "\n## %s\n\n", header(s.name))
		b.WriteString("| key | value | default | live | meaning |\n| --- | --- | --- | --- | --- |\n")
		for _, k := range s.keys {
			when := "restart"
			if k.live {
				when = "live"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", k.name, k.kind, k.absent, when, k.means)
		}
	}
	return b.String()
}

func TestDocs(t *testing.T) {
	want := docs()
	if *update {
		must(t, os.WriteFile(docsFile, []byte(want), 0o644))
	}
	got, err := os.ReadFile(docsFile)
	must(t, err)
	if string(got) != want {
		t.Errorf("%s is not what the schema says; go test ./config -run TestDocs -update writes it", docsFile)
	}
}
