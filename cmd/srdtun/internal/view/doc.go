// Package view formats a daemon's replies for people. It makes the screens of the commands show,
// flows, ping and top. The package reads no input and has no clock, so the status and the time are
// arguments.
package view
