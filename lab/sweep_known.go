package lab

// knownRatios are the sweep's known misses, by the names of point and host: mean, max,
// cliff. At these points flows take longer than TCP's, or much longer than at the point
// before. Remove a line once the transport is improved. The command srdsim sweep --known
// prints today's values.
var knownRatios = map[string]map[string]Ratio{
	"ordinary":              {"daemon": {3.24, 3.39, 0}},
	"RTT 10 us":             {"daemon": {3.01, 2.96, 0}},
	"RTT 50 us":             {"daemon": {2.21, 1.97, 0.26}},
	"RTT 200 us":            {"daemon": {1.34, 1.22, 0.46}},
	"RTT 1 ms, 64 KB":       {"daemon": {5.60, 6.08, 0}},
	"1 Gbit/s":              {"daemon": {1.29, 0.81, 0}},
	"10 Gbit/s":             {"daemon": {1.29, 0.87, 0}},
	"25 Gbit/s":             {"daemon": {1.64, 1.76, 0}},
	"400 Gbit/s":            {"daemon": {7.11, 8.04, 0}},
	"10 Gbit/s, lone 64 KB": {"daemon": {5.86, 5.86, 0}},
	"lone 64 KB":            {"daemon": {29.23, 29.23, 0}},
	"MTU 1500":              {"daemon": {2.35, 2.59, 0}},
	"MTU 4150":              {"daemon": {2.87, 2.78, 0}},
	"20 KB queues":          {"daemon": {1.97, 0.76, 0}},
	"50 KB queues":          {"daemon": {3.35, 3.01, 0}},
	"100 KB queues":         {"daemon": {3.52, 3.25, 0}},
	"1000 KB queues":        {"daemon": {2.83, 2.43, 0}},
	"4000 KB queues":        {"daemon": {2.79, 2.29, 0}},
	"4:1":                   {"daemon": {1.88, 2.65, 0}},
	"4:1, 4 MB queues":      {"daemon": {1.64, 1.96, 0}},
	"4 senders of 1024 KB":  {"daemon": {2.42, 2.39, 0}},
	"8 senders of 1024 KB":  {"daemon": {1.47, 1.82, 0}},
	"127 senders of 64 KB":  {"daemon": {0.66, 1.53, 0}},
}
