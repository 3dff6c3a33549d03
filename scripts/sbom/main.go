// Command sbom writes the bill of materials of a Go program as CycloneDX 1.5 in JSON. The bill
// lists the modules that the linker has recorded in the program, with their checksums. The same
// program always gives the same bytes.
//
//	sbom PROGRAM VERSION > sbom.cdx.json
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
)

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type hash struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref,omitempty"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	PURL       string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type bom struct {
	Format      string `json:"bomFormat"`
	SpecVersion string `json:"specVersion"`
	Version     int    `json:"version"`
	Metadata    struct {
		Component component `json:"component"`
	} `json:"metadata"`
	Components []component `json:"components"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM VERSION")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "sbom: %v\n", err)
		os.Exit(1)
	}
}

func write(file, version string) error {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	// A program built in its own source tree does not record its version.
	info.Main.Version = version
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(describe(info, sha256.Sum256(data)))
}

// describe returns the bill of materials for a program's build information and checksum.
func describe(info *buildinfo.BuildInfo, sum [32]byte) bom {
	b := bom{Format: "CycloneDX", SpecVersion: "1.5", Version: 1}
	main := module("application", &info.Main)
	main.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum[:])}}
	for _, s := range info.Settings {
		main.Properties = append(main.Properties, property{"go:" + s.Key, s.Value})
	}
	b.Metadata.Component = main
	// The bill also lists the standard library, because it may also have vulnerabilities.
	b.Components = append(b.Components, component{
		Type: "library", Ref: "pkg:golang/std@" + info.GoVersion, Name: "std", Version: info.GoVersion, PURL: "pkg:golang/std@" + info.GoVersion,
	})
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Components = append(b.Components, module("library", m))
	}
	return b
}

func module(kind string, m *debug.Module) component {
	purl := "pkg:golang/" + m.Path + "@" + m.Version
	c := component{Type: kind, Ref: purl, Name: m.Path, Version: m.Version, PURL: purl}
	if m.Sum != "" {
		c.Properties = []property{{"go:sum", m.Sum}}
	}
	return c
}
