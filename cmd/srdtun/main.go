// Command srdtun carries IP packets between hosts over many UDP paths at once. It behaves like
// wg(8) and wg-quick(8).
package main

import (
	"fmt"
	"os"

	"github.com/srdtun/srdtun/overlay/privilege"
)

func main() {
	// Before any key is read: commands of the configuration, and others of the same user, run
	// beside a daemon that is just starting.
	if err := privilege.Hide(); err != nil {
		fmt.Fprintf(os.Stderr, "srdtun: memory stays readable for others of this user: %v\n", err)
	}
	os.Exit(run(os.Args[1:]))
}
