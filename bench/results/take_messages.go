package results

// messageKinds lists the columns of the table of "make messages".
var messageKinds = kinds{{"udp", "UDP sockets of Go"}, {"srdtun", "TCP or UDP through srdtun"}, {"srdperf", "srdperf"}}

// takeMessages builds a table of the document from the output of "make messages". A row that can be
// measured for all three columns must have all values. Other rows may have a dash.
func takeMessages(file string) (*table, error) {
	t, err := takeBench(file, "one-link", messageKinds, []benchRow{
		{"one link: 64-byte ping-pong, p50 / p99, us", "pingpong", "p50_us", 1},
		{join, "pingpong", "p99_us", 1},
		{"… messages of 64 KiB, or one TCP flow, Gbit/s", "bandwidth", "gbit_per_s", 1},
		{"… … processor s per GB, whole machine", "bandwidth", "cpu_s_per_gb", 1},
		{"… messages of 16 KiB / 4 KiB, Gbit/s", "16k", "gbit_per_s", 1},
		{join, "4k", "gbit_per_s", 1},
		{"… messages or datagrams of 64 bytes, 1,000/s", "rate", "kpackets_per_s", 1},
		{"… tagged messages of 64 KiB, Gbit/s", "tagged", "gbit_per_s", 1},
		{"… writes / reads of 64 KiB of the peer's memory, Gbit/s", "write", "gbit_per_s", 1},
		{join, "read", "gbit_per_s", 1},
		{"… 8 endpoints to one, 64 KiB: Gbit/s / slowest of fastest", "incast", "gbit_per_s", 1},
		{join, "incast", "slowest_share", 1},
		{"… one endpoint to 4, 64 KiB: Gbit/s / slowest of fastest", "many", "gbit_per_s", 1},
		{join, "many", "slowest_share", 1},
	})
	if err != nil {
		return nil, err
	}
	more, err := takeBench(file, "four-links", messageKinds, []benchRow{
		{"four spines of 100 Mbit/s: ping-pong, p50 / p99, us", "pingpong", "p50_us", 1},
		{join, "pingpong", "p99_us", 1},
		{"… messages of 64 KiB, or one TCP flow, Mbit/s", "bandwidth", "gbit_per_s", 1000},
		{"… … processor s per GB, whole machine", "bandwidth", "cpu_s_per_gb", 1},
	})
	if err != nil {
		return nil, err
	}
	t.Rows = joined(append(t.Rows, more.Rows...))
	return t, nil
}
