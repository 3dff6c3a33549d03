package results

import (
	"fmt"
	"strings"
)

// mostLines bounds the document: people are to read it in one go.
const mostLines = 150

// question is a part of the document.
type question struct {
	title  string
	answer string
	tables []string
}

const introduction = `# Results

The newest measurement of each kind, by question, as ` + "`make results`" + ` writes it from ` + "`bench/results/stored`" + `. Values are medians
[least..most]. Both ends share one machine, so a processor's limit counts for two ends. Each table names its command
and version. [decisions.md](decisions.md) has their consequences.
`

var questions = []question{
	{"What does one flow gain?", "The rate of all paths, where a plain flow or a tunnel of one UDP flow has one of them. Four spines of 100 Mbit/s.",
		[]string{"fabric"}},
	{"What when a spine dies silently?", "Its flows go on over the others, within some tens of milliseconds. With three spines of four 75 % of the goodput is there. ![Longest commits](apps.png)",
		[]string{"death", "apps"}},
	{"What does a network under strain do?", "The four in one run, each over the same fabric.", []string{"strain"}},
	{"How fast is it over one link?", "An unshaped veth with packets of MTU size; ratios compare values within a round.",
		[]string{"link", "vxlan"}},
	{"Who starves beside whom?", "Flows in the tunnel : plain TCP flows on one simulated link of 100 Mbit/s, buffer 20 ms. [congestion.md](congestion.md) says why.",
		[]string{"coexist"}},
	{"What if the paths are not alike?", "One TCP flow over two paths, as a multiple of the better path alone.", []string{"unlike"}},
	{"Which path policy is the best?", "Mean / 99th percentile of completion times over those of the best; `>`: flows stayed open. [policies.md](policies.md) explains them.",
		[]string{"policies"}},
	{"What would a network card do with it?", "The papers' experiments in the simulator: hosts that act at once (`ideal`), and the shipped daemon's (`daemon`). Completion times in us. [simulation.md](simulation.md) says how to read it.",
		[]string{"plans"}},
	{"Does it break?", "", []string{"robust"}},
}

// page is the document.
func page(tables map[string]*table) (string, error) {
	var b strings.Builder
	b.WriteString(introduction)
	for _, q := range questions {
		fmt.Fprintf(&b, "\n## %s\n\n", q.title)
		if q.answer != "" {
			b.WriteString(q.answer + "\n\n")
		}
		for i, name := range q.tables {
			t := tables[name]
			if t == nil {
				return "", fmt.Errorf("%q has no table %s", q.title, name)
			}
			if i > 0 {
				b.WriteString("\n")
			}
			t.write(&b)
		}
	}
	b.WriteString("\n[rules.md](rules.md) has the benefit of each rule of the transport: `make ablate`.\n")
	if n := strings.Count(b.String(), "\n"); n > mostLines {
		return "", fmt.Errorf("%d lines, at most %d", n, mostLines)
	}
	return b.String(), nil
}
