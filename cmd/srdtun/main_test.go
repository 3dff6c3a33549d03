package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/overlay/events"
)

var update = flag.Bool("update", false, "write the scripts' golden files anew")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"srdtun": main,
		// standin NAME [FILE] serves the control socket of NAME like a daemon that was started from
		// FILE. Its status has a value for every line of the screen.
		"standin": standin,
		// silent PATH listens at PATH, and never replies.
		"silent": silent,
		// hollow PATH REPLY listens at PATH, and sends every client the same reply.
		"hollow": hollow,
		// impostor PATH REPLY is like hollow, but runs as an unprivileged user. If REPLY is
		// "endless", the reply never ends.
		"impostor": impostor,
		// heir PATH PIDFILE TOLD [self] is an impostor that has the process number of a service's
		// main process.
		"heir": heir,
		// hold FILE ADDRESS... has UDP sockets at the addresses, and listens on TCP there. It creates
		// the file when it is ready.
		"hold": hold,
		// nobody COMMAND... runs a command as an unprivileged user.
		"nobody": nobody,
		// norename COMMAND... runs a command that cannot rename files.
		"norename": norename,
		// stubborn GRACE ignores requests to end.
		"stubborn": stubborn,
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv(configDirEnv, e.WorkDir+"/etc")
			e.Setenv(rundir.Env, e.WorkDir+"/run")
			e.Setenv(credentialsEnv, "")
			// With its default settings, the race detector waits a second at the end of each
			// process.
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			// Other users must be able to reach the sockets and files.
			return errors.Join(os.Chmod(e.WorkDir, 0o755), os.Chmod(filepath.Dir(e.WorkDir), 0o755))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exitcode": exitcode,
			"waitfor":  waitfor,
			"mode":     mode,
			"endlater": endlater,
		},
	})
}

// exitcode N COMMAND... runs a command that must end with exit code N. If N is not 0,
// standard error must have exactly one line.
func exitcode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N command...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exited *exec.ExitError
	switch {
	case errors.As(err, &exited):
		code = exited.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	text := ts.ReadFile("stderr")
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s; stderr: %s", code, args[0], text)
	}
	if code != 0 && (!strings.HasPrefix(text, "srdtun: ") || strings.Index(text, "\n") != len(text)-1) {
		ts.Fatalf("stderr is not one line of ours: %q", text)
	}
}

// waitfor FILE waits until a background command has created the file.
func waitfor(ts *testscript.TestScript, neg bool, args []string) {
	path := ts.MkAbs(args[0])
	for range 1000 {
		if _, err := os.Stat(path); (err == nil) != neg {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("%s: waited in vain", path)
}

// mode OCTAL FILE checks a file's permission bits.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	st, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", st.Mode().Perm()); (got == args[0]) == neg {
		ts.Fatalf("mode of %s is %s, want %s", args[1], got, args[0])
	}
}

// endlater NAME ends a background interface when the script has ended, even if the script failed.
func endlater(ts *testscript.TestScript, _ bool, args []string) {
	ts.Defer(func() {
		// An error means that the interface no longer runs, as intended.
		_ = ts.Exec("srdtun", "down", args[0])
	})
}

// still is a handler with a fixed status.
type still struct {
	status control.Status
	down   func()
}

// Show appends the requested part to the file NAME.asked.
func (s still) Show(part control.Part) (control.Status, iter.Seq[control.Peer]) {
	f, err := os.OpenFile(s.status.Interface+".asked", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil { // on an error it runs where it may not write, and no script reads the file
		fmt.Fprintf(f, "brief=%v peer=%s\n", part.Brief || part.Reached, part.Peer) // both request a bounded part
		f.Close()
	}
	return s.status, slices.Values(s.status.Peers)
}

func (s still) Config() string { return "[interface]\nname = \"" + s.status.Interface + "\"\n" }

// Change records the request. It accepts one key only.
func (s still) Change(c control.Change) (control.Changed, error) {
	text := c.How + "\n" + c.Config
	var diff []control.Difference
	if c.How != control.HowSaved {
		diff = []control.Difference{{Text: "~ paths.policy", Key: "paths.policy", Live: true}, {Text: "! interface.mtu", Key: "interface.mtu"}}
	}
	for _, v := range c.Settings {
		if v.Key != "paths.policy" && v.Key != "interface.mtu" || v.Key == "interface.mtu" && !c.Save {
			return control.Changed{}, fmt.Errorf("%s cannot be changed while running", v.Key)
		}
		text += v.Value + "\n"
	}
	return control.Changed{Differences: diff}, os.WriteFile("set", []byte(text), 0o600)
}
func (s still) Down(func([]string)) { s.down() }
func (s still) Restarting()         {}

func standin() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	st := sample(os.Args[1])
	if len(os.Args) > 2 {
		st.File = os.Args[2]
	}
	s, err := control.Listen(os.Args[1])
	if err == nil {
		err = errors.Join(s.Serve(ctx, still{status: st, down: stop}), s.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func silent() {
	l, err := net.Listen("unix", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var held []net.Conn // so that the garbage collector does not close them
	for {
		c, err := l.Accept()
		if err != nil {
			runtime.KeepAlive(held)
			return
		}
		held = append(held, c)
	}
}

func hold() {
	var held []any
	for _, at := range os.Args[2:] {
		u, err := net.ListenPacket("udp", at)
		l, err2 := net.Listen("tcp", at)
		if err := errors.Join(err, err2); err != nil {
			fail(err)
		}
		held = append(held, u, l)
	}
	if err := os.WriteFile(os.Args[1], nil, 0o600); err != nil {
		fail(err)
	}
	time.Sleep(time.Minute) // the script ends this process
	runtime.KeepAlive(held)
}

func hollow() {
	l, err := net.Listen("unix", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			for in := bufio.NewReader(c); err == nil; {
				_, err = in.ReadString('\n')
				for err == nil && os.Args[2] == "endless" {
					_, err = c.Write(bytes.Repeat([]byte("x"), 1<<20))
				}
				if err == nil {
					_, err = fmt.Fprintln(c, os.Args[2])
				}
			}
			c.Close()
		}()
	}
}

// Events implements control.EventSource.
func (still) Events(after uint64) control.Happened {
	at := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	all := []events.Event{
		{Number: 1, Time: at, Kind: events.SessionUp, Level: events.Notice, Peer: "hub", Text: "peer hub: session up (aes-256-gcm, this end called)"},
		{Number: 2, Time: at.Add(time.Second), Kind: events.PeerSilent, Level: events.Warning, Peer: "spoke", Text: "peer spoke: no answer for 5s"},
	}
	return control.Happened{Run: "1", Last: 2, Events: all[min(after, 2):]}
}

// sample returns the status of an interface with two peers. The second peer has never sent a
// packet.
func sample(name string) control.Status {
	return control.Status{
		Interface: name, PublicKey: "HIgo9xNzJMWLKASShiTqIybxZ0U3wGLiUeJ1PKf8ykw=", ListenPort: 51820, MTU: 1500,
		FwMark: 0xca6c, Cipher: "auto", UptimeS: 3723,
		Drops: map[string]uint64{"unknown receiver": 4, "bad mac1": 2, "never": 0},
		Device: control.Device{
			Queues: 2, UDPSuperFrames: false, TxQueueLen: 1000, GSOMaxBytes: 62000, GSOMaxSegments: 128,
			Problems:   []string{"UDP segmentation offload: invalid argument"},
			ReadFrames: 1, ReadBytes: 2, ReadSuperFrames: 3, SplitSuperFrames: 4,
			WrittenFrames: 5, WrittenBytes: 6, WrittenSuperFrames: 7, JoinedSuperFrames: 8, CopiedFrames: 9,
			WriteBusy: 10, WriteRefused: 11, WriteErrors: 12,
			ReadDrops: map[string]uint64{"too_long": 13}, WriteDrops: map[string]uint64{"bad_length": 14},
		},
		Workers:  []control.Worker{{RxPackets: 21, TxTrains: 22}},
		Sends:    control.Sends{Trains: 15, Packets: 16, Unsegmented: 1, NoBuffer: 18, TooBig: 19, Failed: 20},
		Receives: control.Receives{Merged: false, Truncated: 21, NotECT: 22},
		Peers: []control.Peer{{
			Name: "spoke", PublicKey: "TrMvSoP4jYQlY6RIzBgbssQqY3vxI2Pi+y71lOWWXX0=",
			Endpoints: []string{"spoke.example:51820"}, AllowedIPs: []string{}, SilentSinceUnixS: 4102444801,
		}, {
			Name: "hub", PublicKey: "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=", HasPresharedKey: true,
			Endpoint: "192.0.2.9:51820", Endpoints: []string{"192.0.2.9:51820", "[2001:db8::9]:51820"},
			AllowedIPs: []string{"10.9.0.1/32", "fd00::/64"}, LatestHandshakeUnixS: 4102444800,
			RxBytes: 1000, TxBytes: 1536, PersistentKeepaliveS: 25, Cipher: "aes-256-gcm", Policy: "conga",
			Paths: []control.Path{
				{Slot: 0, Local: "192.0.2.2:40000", Remote: "192.0.2.9:51820", State: control.PathActive, SRTTUs: 250,
					BaseRTTUs: 200, QueueUs: 50, MTU: 1500, SentPackets: 12, SentBytes: 3 << 20, Lost: 1, Retransmits: 2, Weight: 875},
				{Slot: 17, Local: "192.0.2.2:40001", Remote: "192.0.2.9:51820", State: control.PathSuspect, SRTTUs: 12345,
					BaseRTTUs: 1000, QueueUs: 11345, MTU: 1280, SentPackets: 100000, SentBytes: 5, Weight: 125},
			},
			CwndBytes: 2 << 20, BytesInFlight: 1 << 20, RateBytesPerS: 156250000, DeliveredBytesPerS: 1250,
			Messages: control.Messages{Sent: 10, Acked: 9, Retransmitted: 3, Spurious: 1, GivenUp: 2, Duplicates: 4},
			Order:    control.Order{HeldFrames: 5, HeldBytes: 7000, ReleasedByTimeout: 6, LongestHoldUs: 1500},
			Queue:    control.Queue{Frames: 7, Bytes: 9000, Marks: 8, Drops: 9},
			Drops:    map[string]uint64{"replayed": 11},
		}},
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
