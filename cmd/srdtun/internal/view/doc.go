// Package view formats a daemon's answers for people: the screens of show, flows, ping and top.
// Package view does no input and has no clock, so the status and the time are arguments.
package view
