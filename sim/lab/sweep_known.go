package lab

// knownRatios are the points of the sweep at which flows are slower than TCP's, or much
// slower than at the point before, by the name of the point and of the host: mean, max,
// cliff. When the code that is at fault is mended its line goes. srdsim sweep --known
// prints them as they are now.
var knownRatios = map[string]map[string]Ratio{
	"ordinary":              {"daemon": {3.43, 7.58, 0}},
	"RTT 10 us":             {"daemon": {2.89, 5.56, 0}},
	"RTT 50 us":             {"daemon": {1.92, 0.48, 0.24}},
	"RTT 200 us":            {"daemon": {1.35, 1.23, 0.48}},
	"RTT 400 us":            {"daemon": {1.13, 1.04, 0.81}},
	"RTT 520 us":            {"ideal": {0.75, 0.54, 5.15}},
	"RTT 1 ms, 64 KB":       {"ideal": {2.94, 2.9, 0}, "daemon": {5.52, 5.89, 0}},
	"1 Gbit/s":              {"daemon": {1.33, 1.01, 0}},
	"10 Gbit/s":             {"ideal": {1.29, 0.84, 0}, "daemon": {1.4, 1.16, 0}},
	"25 Gbit/s":             {"daemon": {1.81, 3.69, 0}},
	"400 Gbit/s":            {"daemon": {5.51, 1.05, 0}},
	"10 Gbit/s, lone 64 KB": {"daemon": {6.47, 7.32, 0}},
	"lone 64 KB":            {"daemon": {31.53, 37.39, 0}},
	"MTU 1500":              {"daemon": {2.47, 2.39, 0}},
	"MTU 4150":              {"daemon": {2.57, 2.62, 0}},
	"50 KB queues":          {"daemon": {2.96, 2.77, 0}},
	"100 KB queues":         {"daemon": {3.31, 6.84, 0}},
	"1000 KB queues":        {"daemon": {2.86, 5.2, 0}},
	"4000 KB queues":        {"daemon": {2.84, 4.54, 0}},
	"4:1":                   {"daemon": {2.71, 9.73, 0}},
	"4:1, 4 MB queues":      {"ideal": {1, 1.11, 0}, "daemon": {1.68, 3.54, 0}},
	"4 senders of 1024 KB":  {"ideal": {1.14, 1.09, 0}, "daemon": {2.36, 2.37, 0}},
	"31 senders of 64 KB":   {"daemon": {1.46, 0.65, 0}},
	"RTT 560 us":            {"ideal": {0.76, 0.59, 4.71}, "daemon": {1.11, 1.08, 1.02}},
}
