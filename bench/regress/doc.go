// Package regress measures two versions of srdtun alternately and reports which metrics became
// worse. A machine's speed changes from minute to minute, so results of different days cannot be
// compared. Two results of one run can. Each scene sets up a network with one version, measures,
// removes the network, and repeats this with the other version. In some scenes networks of both
// versions exist at the same time, and are measured in short alternating intervals.
//
// A metric counts as worse if the median ratio of its pairs is beyond 5 % and all pairs agree. A
// pair of measurements is shown but not judged if foreign processes used more than a fifth of a
// processor during it.
package regress
