// Command srdsim plays seeds of the simulator, one with its trace or a range of
// them, and experiments from plan files.
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := root().Execute(); err != nil {
		if !errors.Is(err, errFailed) {
			fmt.Fprintln(os.Stderr, "srdsim:", err)
		}
		os.Exit(1)
	}
}
