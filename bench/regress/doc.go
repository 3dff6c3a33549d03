// Package regress measures two versions of srdtun alternately and reports which metrics became
// worse. A machine's speed changes by the minute, so today's result cannot be compared with
// yesterday's. Two results of one run can be compared. Each scene sets up a network with one
// version, measures, removes the network, and repeats this with the other version. In some scenes
// networks of both versions exist at once, and are measured in short alternating intervals.
//
// A metric counts as worse if the median ratio of its pairs is beyond 5 % and all pairs agree. A
// pair of measurements is shown but not judged if foreign processes used more than a fifth of a
// processor during it.
package regress
