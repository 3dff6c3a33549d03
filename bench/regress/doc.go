// Package regress runs two versions of srdtun in turn and says which figures became
// worse. Machines are noisy and change their speed by the minute, so a figure of today
// says nothing beside one of yesterday. Only pairs in one run do: each scene sets up a
// network with one version, measures, takes it away, and does the same with the other
// one; the next pair begins with the other.
//
// A figure is worse if the median of the pairs' ratios is beyond 5 % and every pair
// agrees. Pairs during which processes of others took more than a fifth of a processor
// are shown, and not judged.
package regress
