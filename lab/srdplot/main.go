// Command srdplot draws a figure from JSON data. A figure has lines with shaded spans, panels of
// bars with ranges, or a table with shaded cells.
//
//	srdplot -o FILE.png < figure.json
//	srdplot -o FILE.svg < figure.json
//
// The command is in a separate module, so that the daemon does not depend on a plotting library.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// maxInput bounds the size of the input, because a day of samples every 100 ms has 20 MB.
const maxInput = 64 << 20

func main() {
	out := flag.String("o", "", "the `file` to write: .png, or .svg")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(os.Stdin, *out); err != nil {
		fmt.Fprintln(os.Stderr, "srdplot:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out string) error {
	dec := json.NewDecoder(io.LimitReader(in, maxInput))
	dec.DisallowUnknownFields()
	var fig Figure
	if err := dec.Decode(&fig); err != nil {
		return err
	}
	if err := fig.check(); err != nil {
		return err
	}
	draw := fig.PNG
	if filepath.Ext(out) == ".svg" {
		draw = fig.SVG
	}
	picture, err := draw()
	if err != nil {
		return err
	}
	return os.WriteFile(out, picture, 0o644)
}
