package e2e

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// programMost bounds the run of the independent endpoint, which takes seconds.
const programMost = time.Minute

// perfServer is a running "srdperf serve".
type perfServer struct {
	line string
	stop func() string // and returns its summary
}

// TestIndependentProgram runs srdperf against an endpoint that shares no code with srd/ep and
// srd/msg. This endpoint is e2e/pypeer/programs.py, which was written only from docs/wire.md.
func TestIndependentProgram(t *testing.T) {
	side(t)
	d := direct(t, fabric.DirectSpec{Links: 1})
	perf := filepath.Join(t.TempDir(), "srdperf")
	build := exec.Command("go", "build", "-o", perf, "github.com/srdtun/srdtun/cmd/srdperf")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	plain, tagged := servePerf(t, d.A, perf), servePerf(t, d.A, perf, "--tagged")
	ctx, cancel := context.WithTimeout(t.Context(), programMost)
	defer cancel()
	cmd := d.B.Command(python(t), "pypeer/programs.py", d.B.Addr4().String(), plain.line, tagged.line)
	var out, fault bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &fault
	must(t, cmd.Start())
	end := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	end()
	lines := 0
	for line := range strings.Lines(out.String()) {
		report(t, strings.TrimSpace(line))
		lines++
	}
	if err != nil && !t.Failed() || lines == 0 {
		t.Errorf("the endpoint in Python: %v after %d checks\n%s", err, lines, fault.String())
	}
	// The total consists of 14 short messages with 10,040 bytes, and 70,000 bytes read from offers.
	if got, want := tagged.stop(), "17 messages, 80040 bytes, 0 longer"; !strings.Contains(got, want) {
		t.Errorf("srdperf serve --tagged says %q, want %q", got, want)
	}
	if got := plain.stop(); !strings.Contains(got, "7 echoes") {
		t.Errorf("srdperf serve says %q, want 7 echoes", got)
	}
}

// servePerf starts "srdperf serve" on a host.
func servePerf(t *testing.T, h *fabric.Host, perf string, args ...string) perfServer {
	t.Helper()
	cmd := h.Command(perf, append([]string{"serve", "--local", h.Addr4().String(), "--size", "64K"}, args...)...)
	var note bytes.Buffer
	cmd.Stderr = &note
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	ended := false
	stop := func() string {
		if !ended {
			ended = true
			_ = cmd.Process.Signal(os.Interrupt)
			_ = cmd.Wait()
		}
		return note.String()
	}
	t.Cleanup(func() { stop() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("srdperf serve: %v: %s", err, note.String())
	}
	return perfServer{strings.TrimSpace(line), stop}
}
