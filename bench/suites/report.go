package suites

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// event is a line of go test -json.
type event struct{ Action, Package, Test, Output string }

// results maps a test, or a package, to "pass", "fail" or "skip".
type results struct {
	of      map[event]string // only Package and Test are set
	outputs map[event]string
}

// results runs go test. A failing test is no error.
func (s *suite) results(args []string) (results, error) {
	c := exec.Command("go", args...)
	c.Dir, c.Env = s.dir, append(os.Environ(), "CGO_ENABLED=0")
	var problem bytes.Buffer
	c.Stderr = &problem
	out, err := c.Output()
	r := results{of: map[event]string{}, outputs: map[event]string{}}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		switch key := (event{Package: e.Package, Test: e.Test}); e.Action {
		case "pass", "fail", "skip":
			r.of[key] = e.Action
		case "output":
			r.outputs[key] += e.Output
		}
	}
	if _, failed := errors.AsType[*exec.ExitError](err); failed && len(r.of) > 0 {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, problem.Bytes())
	}
	return r, err
}

// report prints a table, and the tests whose results differ. An unexplained difference is an error.
func report(w io.Writer, tcp, srd results) error {
	fmt.Fprint(w, "| tests | over TCP: passed, failed, skipped | over streams |\n| --- | --- | --- |\n")
	for _, p := range []string{"net/http", module + "/http2"} {
		fmt.Fprintf(w, "| %s/... | %s | %s |\n", p, tcp.count(p), srd.count(p))
	}
	var unexplained []string
	keys := slices.SortedFunc(maps.Keys(tcp.of), func(a, b event) int {
		return strings.Compare(a.Package+" "+a.Test, b.Package+" "+b.Test)
	})
	for _, k := range keys {
		top, _, _ := strings.Cut(k.Test, "/")
		if srd.of[k] == tcp.of[k] || k.Test == "" {
			continue
		}
		if reason := different[top]; reason == "" {
			unexplained = append(unexplained, k.Test)
			fmt.Fprintf(w, "%s %s: %s over TCP, %q over streams\n%s", k.Package, k.Test, tcp.of[k], srd.of[k], srd.outputs[k])
		} else if k.Test == top {
			fmt.Fprintf(w, "%s %s: %s\n", k.Package, k.Test, reason)
		}
	}
	if len(unexplained) > 0 {
		return fmt.Errorf("%d tests have other results over streams: %s", len(unexplained), strings.Join(unexplained, " "))
	}
	return nil
}

// count returns the numbers of the tests below a path that passed, failed, and were skipped.
func (r results) count(path string) string {
	n := map[string]int{}
	for k, result := range r.of {
		if k.Test != "" && strings.HasPrefix(k.Package, path+"/") || k.Test != "" && k.Package == path {
			n[result]++
		}
	}
	return fmt.Sprintf("%d, %d, %d", n["pass"], n["fail"], n["skip"])
}
