// Command srdtun carries IP packets between hosts over many UDP paths at once. It behaves like
// wg(8) and wg-quick(8).
package main

import (
	"fmt"
	"os"

	"github.com/srdtun/srdtun/overlay/privilege"
)

func main() {
	// This comes before any key is read: hooks and other processes of this user already run
	// beside a starting daemon.
	if err := privilege.Hide(); err != nil {
		fmt.Fprintf(os.Stderr, "srdtun: memory stays readable for others of this user: %v\n", err)
	}
	os.Exit(run(os.Args[1:]))
}
