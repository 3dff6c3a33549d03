// Package picture lets srdplot draw a command's results.
package picture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
)

// Draw runs plot, which is srdplot, to draw a Figure, or the JSON of one, into file.
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
