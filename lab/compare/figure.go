package compare

import "encoding/json"

// The figure is a file for lab/srdplot, whose names these are.
type (
	figure struct {
		Title    string `json:"title"`
		Subtitle string `json:"subtitle"`
		Heat     heat   `json:"heat"`
	}
	heat struct {
		Rows    []string    `json:"rows"`
		Columns []column    `json:"columns"`
		Cells   [][]float64 `json:"cells"`
	}
	column struct {
		Group string `json:"group"`
		Name  string `json:"name"`
	}
)

// words says what the names of situations mean.
var words = map[string]string{
	"symmetric": "all well", "failed": "a link failed", "quarter": "a link at 1/4", "incast": "incasts", "dead": "a link is dead",
	"websearch": "web search", "datamining": "data mining",
}

func inWords(name string) string {
	if w, ok := words[name]; ok {
		return w
	}
	return name
}

// Figures returns, as input of srdplot, a heat map for each fabric: how much longer flows
// take with each system, in each situation, than with the best one. where says in a few
// words where that is.
func Figures(all []*Group, where string) (v [][]byte) {
	for _, h := range Heats(all) {
		f := figure{"How much longer flows take than with the best", "mean completion time over the best's, all loads together; tcp and mptcp: no tunnel; " + where, heat{Rows: h.Systems, Cells: h.Ratios}}
		for _, c := range h.Columns {
			f.Heat.Columns = append(f.Heat.Columns, column{inWords(c.Workload), inWords(c.Scenario)})
		}
		b, err := json.Marshal(f)
		if err != nil {
			panic(err) // nothing but numbers and names
		}
		v = append(v, b)
	}
	return v
}
