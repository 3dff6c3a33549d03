package main

import (
	"fmt"
	"os"
	"syscall"
)

// nobodyID is the user and group of nobody on Linux.
const nobodyID = 65534

// nobody runs srdtun with the given arguments in this process, after it has given up its
// privileges. It does not execute the program file, which another user may be unable to reach.
func nobody() {
	beNobody()
	os.Exit(run(os.Args[1:]))
}

func impostor() {
	beNobody()
	hollow()
}

func beNobody() {
	if err := syscall.Setgroups(nil); err != nil {
		fail(err)
	}
	if err := syscall.Setresgid(nobodyID, nobodyID, nobodyID); err != nil {
		fail(err)
	}
	if err := syscall.Setresuid(nobodyID, nobodyID, nobodyID); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
