// Package regress runs two versions of srdtun in turn and says which figures became worse.
// Machines are noisy and change their speed by the minute, so today's figure cannot be compared
// with yesterday's. Two figures of one run can. Each scene sets up a network with one version,
// measures, takes the network away, and repeats with the other version.
//
// A figure is worse if the median of the pairs' ratios is beyond 5 % and every pair
// agrees. Pairs during which processes of others took more than a fifth of a processor
// are shown, and not judged.
package regress
