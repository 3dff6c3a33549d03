package lab

// knownRatios has the known misses of the sweep, by the names of the point and the host model. The
// values are mean, max and cliff. At these points flows take longer than with TCP, or much longer
// than at the previous point. Remove an entry once the transport has been improved. "srdsim sweep
// --known" prints the current values.
var knownRatios = map[string]map[string]Ratio{
	"ordinary":              {"daemon": {3.21, 3.26, 0}},
	"RTT 10 us":             {"daemon": {2.87, 2.96, 0}},
	"RTT 50 us":             {"daemon": {2.17, 1.82, 0.27}},
	"RTT 200 us":            {"daemon": {1.27, 1.11, 0.44}},
	"RTT 1 ms, 64 KB":       {"daemon": {5.56, 5.95, 0}},
	"1 Gbit/s":              {"daemon": {1.27, 0.79, 0}},
	"10 Gbit/s":             {"daemon": {1.35, 0.88, 0}},
	"25 Gbit/s":             {"daemon": {1.64, 1.41, 0}},
	"400 Gbit/s":            {"daemon": {6.64, 6.73, 0}},
	"10 Gbit/s, lone 64 KB": {"daemon": {5.86, 5.86, 0}},
	"lone 64 KB":            {"daemon": {29.23, 29.23, 0}},
	"MTU 1500":              {"daemon": {2.34, 2.40, 0}},
	"MTU 4150":              {"daemon": {2.68, 2.99, 0}},
	"20 KB queues":          {"daemon": {2.05, 0.75, 0}},
	"50 KB queues":          {"daemon": {3.37, 2.83, 0}},
	"100 KB queues":         {"daemon": {3.48, 3.50, 0}},
	"1000 KB queues":        {"daemon": {2.86, 2.90, 0}},
	"4000 KB queues":        {"daemon": {2.89, 2.68, 0}},
	"4:1":                   {"daemon": {1.88, 3.00, 0}},
	"4:1, 4 MB queues":      {"daemon": {1.64, 1.95, 0}},
	"4 senders of 1024 KB":  {"daemon": {2.54, 2.32, 0}},
	"8 senders of 1024 KB":  {"daemon": {1.88, 2.36, 0}},
	"127 senders of 64 KB":  {"daemon": {0.66, 1.54, 0}},
}
