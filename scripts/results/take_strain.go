package main

// takeStrain makes the table of what "make strain" measured: the three experiments are
// networks in its file.
func takeStrain(file string) (*table, error) {
	t, err := takeBench(file, "slow-spine", four, []benchRow{
		{"web-search flows at 60 %, one spine at a quarter: mean, ms", "websearch", "mean_ms", 1},
		{"… p99, ms", "websearch", "p99_ms", 1},
		{"… of them those below 100 KB: mean, ms", "websearch", "small_mean_ms", 1},
		{"… p99, ms", "websearch", "small_p99_ms", 1},
	})
	if err != nil {
		return nil, err
	}
	for _, part := range []struct {
		net  string
		rows []benchRow
	}{
		{"4x100", []benchRow{
			{"16 flows of 2 MB at once: p50 over ideal", "batch", "p50_over_ideal", 1},
			{"… p99", "batch", "p99_over_ideal", 1},
		}},
		{"port", []benchRow{
			{"48 flows of 2 MB of 4 hosts to a port of 1 Gbit/s: p50 over ideal", "incast2m", "p50_over_ideal", 1},
			{"… most", "incast2m", "max_over_ideal", 1},
			{"… packets dropped at the port", "incast2m", "drops", 1},
			{"48 flows of 64 KB to it: p50 over ideal", "incast64k", "p50_over_ideal", 1},
			{"… p99", "incast64k", "p99_over_ideal", 1},
		}},
	} {
		more, err := takeBench(file, part.net, four, part.rows)
		if err != nil {
			return nil, err
		}
		t.Rows = append(t.Rows, more.Rows...)
	}
	return t, nil
}
