package fabric

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// commandEnv makes the test program a command whose work is the name in it.
const commandEnv = "SRDTUN_FABRIC_COMMAND"

// play is that command. It does not return.
func play() {
	Command("play", "; the note", map[string]func() error{
		"well":  func() error { return nil },
		"badly": func() error { return errors.New("it went badly") },
		"on": func() error {
			// A name the guard must find: no network has to be built for that.
			if _, err := Scratch(); err != nil {
				return err
			}
			fmt.Println(Prefix())
			select {}
		},
	}[os.Getenv(commandEnv)])
	os.Exit(0)
}

func command(work string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), commandEnv+"="+work)
	return c
}

func TestCommandEnds(t *testing.T) {
	if out, err := command("well").CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v, %q", err, out)
	}
	var status *exec.ExitError
	out, err := command("badly").CombinedOutput()
	if !errors.As(err, &status) || status.ExitCode() != 1 || string(out) != "\nplay: it went badly\n" {
		t.Errorf("%v, %q", err, out)
	}
}

func TestCommandIsInterrupted(t *testing.T) {
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		c := command("on")
		var errs bytes.Buffer
		c.Stderr = &errs
		out, err := c.StdoutPipe()
		must(t, err)
		must(t, c.Start())
		r := bufio.NewReader(out)
		prefix, err := r.ReadString('\n') // it is at work
		if err != nil {
			t.Fatal(err, errs.String())
		}
		must(t, c.Process.Signal(sig))
		said, _ := io.ReadAll(r)
		var status *exec.ExitError
		if err := c.Wait(); !errors.As(err, &status) || status.ExitCode() != 130 {
			t.Errorf("%v: %v", sig, err)
		}
		if want := "interrupted; the network is being removed; the note"; !strings.Contains(string(said), want) {
			t.Errorf("%v: %q, want %q", sig, said, want)
		}
		awaitGone(t, os.TempDir()+"/"+strings.TrimSpace(prefix)+"scratch")
	}
}

// awaitGone waits until the guard has removed a folder.
func awaitGone(t *testing.T, dir string) {
	t.Helper()
	const patience = 20 * time.Second
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s is left behind", dir)
		}
	}
}
