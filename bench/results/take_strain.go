package results

// takeStrain builds a table of the document from the output of "make strain". The table's three
// experiments are stored as three networks in one file.
func takeStrain(file string) (*table, error) {
	t, err := takeBench(file, "slow-spine", four, []benchRow{
		{"web-search flows at 60 %, one spine at a quarter: mean / p99, ms", "websearch", "mean_ms", 1},
		{join, "websearch", "p99_ms", 1},
		{"… of them those below 100 KB: mean / p99, ms", "websearch", "small_mean_ms", 1},
		{join, "websearch", "small_p99_ms", 1},
	})
	if err != nil {
		return nil, err
	}
	for _, part := range []struct {
		net  string
		rows []benchRow
	}{
		{"4x100", []benchRow{
			{"16 flows of 2 MB at the same time: p50 / p99 over ideal", "batch", "p50_over_ideal", 1},
			{join, "batch", "p99_over_ideal", 1},
		}},
		{"port", []benchRow{
			{"48 flows of 2 MB of 4 hosts to a port of 1 Gbit/s: p50 / most over ideal", "incast2m", "p50_over_ideal", 1},
			{join, "incast2m", "max_over_ideal", 1},
			{"… packets dropped at the port", "incast2m", "drops", 1},
			{"48 flows of 64 KB to this port: p50 / p99 over ideal", "incast64k", "p50_over_ideal", 1},
			{join, "incast64k", "p99_over_ideal", 1},
		}},
	} {
		more, err := takeBench(file, part.net, four, part.rows)
		if err != nil {
			return nil, err
		}
		t.Rows = append(t.Rows, more.Rows...)
	}
	t.Rows = joined(t.Rows)
	return t, nil
}

// join is the name of a row whose values are appended, after a slash, to those of the previous row.
const join = "…"

// joined appends the rows marked by join to their previous rows.
func joined(rows [][]string) (out [][]string) {
	for _, r := range rows {
		if r[0] == join {
			last := out[len(out)-1]
			for i := 1; i < len(r); i++ {
				if last[i] != nothing || r[i] != nothing {
					last[i] += " / " + r[i]
				}
			}
			continue
		}
		out = append(out, r)
	}
	return out
}
