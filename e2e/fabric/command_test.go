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

// commandEnv is the environment variable that makes the test program act as a command. Its value is
// the name of the command's work.
const commandEnv = "SRDTUN_FABRIC_COMMAND"

// play acts as the command, and does not return. Like bench, the command needs an argument.
func play() {
	if len(os.Args) < 2 {
		os.Exit(2)
	}
	Command("play", "; the note", map[string]func() error{
		"well":  func() error { return nil },
		"badly": func() error { return errors.New("it went badly") },
		"on": func() error {
			dir, err := Scratch()
			if err != nil {
				return err
			}
			d, err := NewDirect(DirectSpec{})
			if err != nil {
				return err
			}
			p, err := d.A.Start("sleep", "600")
			if err != nil {
				return err
			}
			fmt.Println(dir, d.A.Path(), fmt.Sprint("/proc/", p.Pid()))
			select {}
		},
	}[os.Getenv(commandEnv)])
	os.Exit(0)
}

func command(work string) *exec.Cmd {
	c := exec.Command(os.Args[0], "play")
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

// A command that is ended by a signal must leave no file, no namespace and no process.
func TestCommandIsInterrupted(t *testing.T) {
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL} {
		c := command("on")
		var errs bytes.Buffer
		c.Stderr = &errs
		out, err := c.StdoutPipe()
		must(t, err)
		must(t, c.Start())
		r := bufio.NewReader(out)
		made, err := r.ReadString('\n') // it is at work
		if err != nil {
			t.Fatal(err, errs.String())
		}
		must(t, c.Process.Signal(sig))
		said, _ := io.ReadAll(r)
		var status *exec.ExitError
		err = c.Wait()
		if sig != syscall.SIGKILL {
			if !errors.As(err, &status) || status.ExitCode() != 130 {
				t.Errorf("%v: %v", sig, err)
			}
			if want := "interrupted; the network is being removed; the note"; !strings.Contains(string(said), want) {
				t.Errorf("%v: %q, want %q", sig, said, want)
			}
		}
		for _, path := range strings.Fields(made) {
			awaitGone(t, path)
		}
	}
}

// awaitGone waits until the guard has removed a file, or ended a process.
func awaitGone(t *testing.T, path string) {
	t.Helper()
	const patience = 20 * time.Second
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s is left behind", path)
		}
	}
}
