// Package picture has srdplot draw what a command measured.
package picture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
)

// Bars is srdplot's input for panels of bars.
type Bars struct {
	Title    string  `json:"title"`
	Subtitle string  `json:"subtitle"`
	Panels   []Panel `json:"panels"`
}

// Panel is one group of bars with a scale of its own.
type Panel struct {
	Title string `json:"title"`
	Unit  string `json:"unit"` // and which end of it is good
	Bars  []Bar  `json:"bars"`
}

// Bar is a median with the range around it.
type Bar struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Tone  Tone    `json:"tone"`
}

// Tone is what a bar is there for.
type Tone int

const (
	Own    Tone = iota // what the picture is about
	Other              // what that is compared with
	Orient             // what is there for orientation
)

// Draw has plot, an srdplot, draw a figure into file. figure is anything that it reads.
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
