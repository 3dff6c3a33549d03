package results

// cloudKinds lists the columns of the table of "make cloud".
var cloudKinds = kinds{
	{"tcp", "no tunnel"}, {"wireguard-go", "wireguard-go"}, {"nebula", "Nebula"}, {"ipsec-shape", "IPsec's shape"}, {"mptcp", "kernel MPTCP"}, {"srdtun", "srdtun"},
}

// takeCloud builds a table of the document from the output of "make cloud". The two network cards
// are stored as two networks in one file.
func takeCloud(file string) (*table, error) {
	t, err := whole(takeBench(file, "cloud500", cloudKinds, []benchRow{
		{"card of 500: one TCP flow, Mbit/s", "flow1", "mbit_per_s", 1},
		{"… eight TCP flows, Mbit/s", "flow8", "mbit_per_s", 1},
		{"… requests for 64 KB, p50 / p99, ms", "fetch", "p50_ms", 1},
		{join, "fetch", "p99_ms", 1},
		{"… requests for 64 bytes, p50 / p99, us", "ask", "p50_us", 1},
		{join, "ask", "p99_us", 1},
	}))
	if err != nil {
		return nil, err
	}
	more, err := whole(takeBench(file, "cloud2000", cloudKinds, []benchRow{
		{"card of 2,000: one TCP flow, Mbit/s", "flow1", "mbit_per_s", 1},
		{"… eight TCP flows, Mbit/s", "flow8", "mbit_per_s", 1},
	}))
	if err != nil {
		return nil, err
	}
	t.Rows = joined(append(t.Rows, more.Rows...))
	return t, nil
}
