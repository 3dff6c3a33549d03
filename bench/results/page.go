package results

import (
	"fmt"
	"strings"
)

// mostLines bounds the length of the document, so that people can read it in one sitting.
const mostLines = 200

// question is a section of the document, titled by a question.
type question struct {
	title  string
	answer string
	tables []string
}

const introduction = `# Results

This page has the newest measurement of each kind, sorted by question. ` + "`make results`" + ` writes this page from ` + "`bench/results/stored`" + `.
The values are medians [minimum..maximum]. Both ends of the tunnel share one machine and its processors. The text below
each table names its command and version. [decisions.md](decisions.md) lists the decisions that follow from the measurements.
`

var questions = []question{
	{"What does one flow gain?", "Through srdtun one flow gets the sum of the rates of all paths. A plain flow, or a tunnel with one UDP flow, gets the rate of one path. The fabric of this measurement has four spines of 100 Mbit/s.",
		[]string{"fabric"}},
	{"What happens when a spine dies silently?", "Through srdtun, the flows of a failed spine continue over the other spines within some tens of milliseconds. Three spines can carry 75 % of the goodput of all four. ![Longest commits](apps.png)",
		[]string{"death", "apps"}},
	{"What happens in a network under strain?", "All four systems were measured in one run, over the same fabric.", []string{"strain"}},
	{"How fast is it over one link?", "The link is a veth without a rate limit, with packets of MTU size. Each ratio divides two values of the same round.",
		[]string{"link", "vxlan"}},
	{"How fast are messages between programs?", "The programs are two processes with package srd/ep or srd/msg, and no tunnel between them. In the column *TCP or UDP through srdtun*, the ping-pong uses TCP requests, and the messages of 64 bytes are UDP datagrams without loss.", []string{"messages"}},
	{"What does it gain in a cloud?", "A cloud limits the rate of each 5-tuple to less than the rate of the instance's card. [cloud.md](cloud.md) has the reasons and the settings.", []string{"cloud"}},
	{"How does the tunnel share a link with plain TCP?", "The columns *flows* and *Mbit/s* have two values, separated by a colon: first the number or the rate of the flows in the tunnel, then the number or the rate of the plain TCP flows beside the tunnel. Both kinds of flows share one simulated link of 100 Mbit/s with a buffer of 20 ms. [congestion.md](congestion.md) explains these rates.",
		[]string{"coexist"}},
	{"What if the paths are not alike?", "Each value is the rate of one TCP flow over two paths, divided by the rate of one TCP flow over the better path alone.", []string{"unlike"}},
	{"Which path policy is the best?", "Each cell has the mean and, after the slash, the 99th percentile of the completion times, each divided by the value of the best system. The sign `>` marks systems with flows that did not complete. [policies.md](policies.md) explains the policies.",
		[]string{"policies"}},
	{"What would a network card do with it?", "The table repeats experiments of papers in the simulator, on hosts that react without any delay (`ideal`), and on hosts that run the daemon (`daemon`). Completion times are in us. [simulation.md](simulation.md) explains the columns of the table.",
		[]string{"plans"}},
	{"Does it break?", "", []string{"robust"}},
}

// page returns the document's text.
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
	b.WriteString("\n[transport.md](transport.md) has the laws of the transport.\n")
	if n := strings.Count(b.String(), "\n"); n > mostLines {
		return "", fmt.Errorf("%d lines, at most %d", n, mostLines)
	}
	return b.String(), nil
}
