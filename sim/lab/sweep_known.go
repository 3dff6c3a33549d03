package lab

// knownRatios are the points of the sweep at which flows are slower than TCP's, or much
// slower than at the point before, by the name of the point and of the host: mean, max,
// cliff. When the code that is at fault is mended its line goes.
var knownRatios = map[string]map[string]Ratio{
	"ordinary":              {"daemon": {2.69, 3.07, 0}},
	"RTT 560 us":            {"ideal": {0.76, 0.59, 4.71}, "daemon": {1.11, 1.08, 1.02}},
	"10 Gbit/s":             {"ideal": {1.19, 0.84, 0}, "daemon": {1.20, 0.93, 0}},
	"10 Gbit/s, lone 64 KB": {"daemon": {5.33, 5.33, 0}},
	"4:1":                   {"daemon": {2.71, 9.73, 0}},
	"31 senders of 64 KB":   {"daemon": {1.46, 0.65, 0}},
}
