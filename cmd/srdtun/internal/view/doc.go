// Package view turns a daemon's answers into text for people: the screens of show,
// flows, ping and top. It does no input and has no clock; the status and the time are
// arguments.
package view
