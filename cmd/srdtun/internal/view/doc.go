// Package view makes text for people of what a daemon tells: the screens of show, flows,
// ping and top. It asks nobody and has no clock; the status and the time are arguments.
package view
