// Package picture draws the results of commands with srdplot.
package picture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
)

// Draw runs the program plot (srdplot) to draw a Figure, or a Figure in JSON, into a file.
func Draw(plot, file string, figure any) error {
	text, err := json.Marshal(figure)
	if err != nil {
		return err
	}
	cmd := exec.Command(plot, "-o", file)
	cmd.Stdin = bytes.NewReader(text)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", plot, err, strings.TrimSpace(string(said)))
	}
	return nil
}
