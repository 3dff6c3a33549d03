package manualtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// examples match other files that run srdtun's programs.
var examples = []string{
	"systemd/*.service", "contrib/systemd/*.service", "contrib/compose.yaml", "contrib/kubernetes/*.yaml",
}

var (
	unitLine = regexp.MustCompile(`(?m)^Exec[A-Za-z]+=[-+!@:]*(.*)$`)
	// options matches a unit's comment with the value of a variable.
	options = regexp.MustCompile(`(?m)^# +OPTIONS=(.*)$`)
	// image matches a container's image and its arguments. Instead of an image, the container
	// may be built by the Dockerfile of this repository.
	image = regexp.MustCompile(`(?m)^ +(?:image: (\S+)|build: \.\.)\n(?: +#.*\n)*(?: +(?:args|command): *(\[.*\]|(?:\n +- .*)+))?`)
	item  = regexp.MustCompile(`(?m)(?:^ *- |[[,] *)"?([^",\n\]]+)"?`)
)

// Examples returns the command lines of units and containers below folder top.
func Examples(top string) (v []Line, err error) {
	for _, pattern := range examples {
		files, err := filepath.Glob(filepath.Join(top, pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			name, _ := filepath.Rel(top, file)
			v = append(v, linesOfExample(filepath.ToSlash(name), string(b))...)
		}
	}
	return v, nil
}

func linesOfExample(name, text string) (v []Line) {
	for _, m := range unitLine.FindAllStringSubmatch(text, -1) {
		line := m[1]
		if o := options.FindStringSubmatch(text); o != nil {
			line = strings.ReplaceAll(line, "$OPTIONS", o[1])
		}
		v = append(v, Line{name, line, true})
	}
	for _, m := range image.FindAllStringSubmatch(text, -1) {
		line := filepath.Base(m[1])
		if m[1] == "" {
			line = "srdtun"
		}
		for _, arg := range item.FindAllStringSubmatch(m[2], -1) {
			line += " " + arg[1]
		}
		v = append(v, Line{name, line, true})
	}
	return v
}
