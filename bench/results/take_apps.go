package results

import "fmt"

// appLine is a line of the file that "bench apps" writes. It has the values of one application over
// one transport.
type appLine struct {
	App     string `json:"app"`
	Kind    string `json:"kind"`
	Version string `json:"version"`
	Values  []struct {
		Name  string  `json:"name"`
		Value float64 `json:"value"`
	} `json:"values"`
	Error string `json:"error"`
}

var appKinds = kinds{{"tcp", "plain TCP"}, {"mptcp", "kernel MPTCP"}, {"srdtun", "srdtun"}}

// appRows lists the rows of the table. Slashes separate the values of a row.
var appRows = []struct {
	title, app string
	values     []string
}{
	{"PostgreSQL: the longest commit at a death, p50 / p99, ms", "postgres", []string{"longest_p50_ms", "longest_p99_ms"}},
	{"… pg_basebackup, Mbit/s", "postgres", []string{"basebackup_mbit"}},
	{"etcd: the longest write at a death, p50 / p99, ms; elections / deaths", "etcd", []string{"longest_p50_ms", "longest_p99_ms", "elections", "deaths"}},
	{"ring of 4 hosts, 16 sockets each: slowest over mean; a step over ideal, p50 / p99", "ring", []string{"slowest_over_mean", "step_p50_over_ideal", "step_p99_over_ideal"}},
	{"Open MPI, 48 flows of 2 MB to a port of 100 Mbit/s: over ideal, p50 / most; share of the processors taken", "mpi", []string{"2m_p50_over_ideal", "2m_max_over_ideal", "2m_used"}},
	{"… 48 flows of 64 KB: p50 / p99; share of the processors taken", "mpi", []string{"64k_p50_over_ideal", "64k_p99_over_ideal", "64k_used"}},
}

func takeApps(file string) (*table, error) {
	all, err := readLines[appLine](file)
	if err != nil {
		return nil, err
	}
	t := &table{Machine: "2 virtual cores", Head: []string{"a spine drops everything for 2 s"}}
	if t.Date, err = dated(file); err != nil {
		return nil, err
	}
	values := map[string]float64{}
	for _, l := range all {
		if l.Error != "" {
			return nil, fmt.Errorf("%s over %s failed", l.App, l.Kind)
		}
		t.Version = l.Version
		for _, v := range l.Values {
			values[l.App+" "+l.Kind+" "+v.Name] = v.Value
		}
	}
	for _, k := range appKinds {
		t.Head = append(t.Head, k.title)
	}
	for _, r := range appRows {
		cells := []string{r.title}
		for _, k := range appKinds {
			cell := ""
			for i, name := range r.values {
				v, ok := values[r.app+" "+k.name+" "+name]
				if !ok {
					return nil, fmt.Errorf("%s has no %s of %s over %s", file, name, r.app, k.name)
				}
				if i > 0 {
					cell += " / "
				}
				cell += counted(v)
			}
			cells = append(cells, cell)
		}
		t.Rows = append(t.Rows, cells)
	}
	// The note of the table has the applications' stalls without a failure, and the number of
	// failed requests.
	for _, k := range appKinds {
		get := func(name string) string { return counted(values["postgres "+k.name+" "+name]) }
		t.Note += fmt.Sprintf("PostgreSQL over %s had %s failures of a spine, and %s of %s transactions failed. In the second before each failure, the longest commit took %s ms (p50). ",
			k.title, get("deaths"), get("failed"), get("commits"), get("calm_p50_ms"))
	}
	t.Note += "A commit that has waited since the previous failure counts in this second, too. PostgreSQL ran without fsync, because both ends share one disk. " +
		"The ideal for Open MPI ignores the tunnel's headers, which are 6 % of a packet."
	return t, nil
}

// counted formats a number with significant digits, and a count in full.
func counted(v float64) string {
	if v == float64(int64(v)) {
		return fmt.Sprint(int64(v))
	}
	return digits(v)
}
