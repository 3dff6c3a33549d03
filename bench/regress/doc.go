// Package regress runs two versions of srdtun in turn and says which figures became worse. A
// machine's speed changes by the minute, so today's figure cannot be compared with yesterday's.
// Two figures of one run can be compared. Each scene sets up a network with one version,
// measures, removes the network, and repeats with the other version. In some scenes networks of
// both versions stand at once and are measured in short turns.
//
// A figure is worse if the median of the pairs' ratios is beyond 5 % and every pair agrees.
// Pairs during which foreign processes took more than a fifth of a processor are shown, but not
// judged.
package regress
