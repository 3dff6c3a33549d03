package lab

// knownRatios are the points of the sweep at which flows are slower than TCP's, or much
// slower than at the point before, by the name of the point and of the host: mean, max,
// cliff. When the code that is at fault is mended its line goes. srdsim sweep --known
// prints them as they are now.
var knownRatios = map[string]map[string]Ratio{
	"ordinary":              {"daemon": {3.01, 4.24, 0}},
	"RTT 10 us":             {"daemon": {2.89, 2.76, 0}},
	"RTT 50 us":             {"daemon": {2.07, 0.57, 0.26}},
	"RTT 200 us":            {"daemon": {1.37, 1.24, 0.45}},
	"RTT 400 us":            {"daemon": {1.14, 1.09, 0.81}},
	"RTT 480 us":            {"daemon": {1.1, 1.12, 0}},
	"RTT 3000 us":           {"ideal": {0.49, 0.35, 4.38}},
	"RTT 1 ms, 64 KB":       {"daemon": {5.58, 5.97, 0}},
	"1 Gbit/s":              {"daemon": {1.29, 0.91, 0}},
	"10 Gbit/s":             {"ideal": {1.27, 0.84, 0}, "daemon": {1.41, 1.35, 0}},
	"25 Gbit/s":             {"daemon": {1.48, 1.2, 0}},
	"400 Gbit/s":            {"daemon": {5.27, 0.6, 0}},
	"10 Gbit/s, lone 64 KB": {"daemon": {6.1, 7.28, 0}},
	"lone 64 KB":            {"daemon": {22.95, 27.36, 0}},
	"MTU 1500":              {"daemon": {2.6, 5.17, 0}},
	"MTU 4150":              {"daemon": {2.6, 2.54, 0}},
	"50 KB queues":          {"daemon": {3.19, 5.46, 0}},
	"100 KB queues":         {"daemon": {3.12, 3.13, 0}},
	"1000 KB queues":        {"daemon": {2.8, 4.3, 0}},
	"4000 KB queues":        {"daemon": {2.78, 3.75, 0}},
	"4:1":                   {"daemon": {1.78, 0.81, 0}},
	"4:1, 4 MB queues":      {"ideal": {0.99, 1.11, 0}, "daemon": {1.7, 2.37, 0}},
	"4 senders of 1024 KB":  {"ideal": {1.11, 1.03, 0}, "daemon": {2.88, 3.25, 0}},
}
