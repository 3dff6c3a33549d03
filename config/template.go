package config

import (
	"bytes"
	_ "embed"
	"fmt"
	"text/template"
)

//go:embed template.toml
var templateText string

var templateParsed = template.Must(template.New("init").Parse(templateText))

// Template returns a new configuration for an interface of this name. It is valid, has comments,
// and contains or describes every key. It has a new private key and no peers. Template fails if an
// interface cannot have the name, or if the system's random source fails.
func Template(name string) ([]byte, error) {
	if err := checkOwnName(name); err != nil {
		return nil, err
	}
	private, err := GeneratePrivate()
	if err != nil {
		return nil, err
	}
	public, err := private.Public()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = templateParsed.Execute(&b, map[string]any{
		"Name":        inTOML(name),
		"Dir":         inTOML(name + ".d"),
		"Owner":       inTOML("_srdtun-fleet-" + name),
		"Private":     private.Reveal(),
		"Public":      public,
		"ListenPort":  DefaultListenPort,
		"MTU":         DefaultMTU,
		"SourcePorts": DefaultSourcePorts,
		"MinMTU":      minMTU,
		"MaxMTU":      maxMTU,
		"MaxPorts":    maxSourcePorts,
		"MaxWorkers":  maxWorkers,
	})
	if err != nil {
		return nil, fmt.Errorf("fill in the template: %w", err)
	}
	return b.Bytes(), nil
}
