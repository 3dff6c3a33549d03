// Command srdtun carries IP packets between hosts over many UDP paths at once. The command line
// follows wg(8) and wg-quick(8).
package main

import (
	"fmt"
	"os"

	"github.com/srdtun/srdtun/overlay/privilege"
)

func main() {
	// privilege.Hide runs before any key is read, because other processes of this user may
	// already run.
	if err := privilege.Hide(); err != nil {
		fmt.Fprintf(os.Stderr, "srdtun: memory stays readable for others of this user: %v\n", err)
	}
	os.Exit(run(os.Args[1:]))
}
