// Command srdsim runs simulations: one seed with its trace, a range of seeds, or experiments from
// plan files.
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
