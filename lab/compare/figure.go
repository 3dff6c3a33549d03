package compare

import "encoding/json"

// The figure is a file for lab/srdplot, and has its names.
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

// words explains the names of situations.
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

// Figures returns a heat map for each fabric, as input of srdplot. It shows the completion
// time of each system in each situation, relative to the best one. The argument where names
// the place of the measurement in a few words.
func Figures(all []*Group, where string) (v [][]byte) {
	for _, h := range Heats(all) {
		f := figure{"How much longer flows take than with the best", "mean completion time over the best's, all loads together; tcp and mptcp: no tunnel; " + where, heat{Rows: h.Systems, Cells: h.Ratios}}
		for _, c := range h.Columns {
			f.Heat.Columns = append(f.Heat.Columns, column{inWords(c.Workload), inWords(c.Scenario)})
		}
		b, err := json.Marshal(f)
		if err != nil {
			panic(err) // only names and numbers
		}
		v = append(v, b)
	}
	return v
}
