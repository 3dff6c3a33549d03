package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// setup is the first message to the second process, and contains the commands that the process
// may run.
type setup struct {
	Commands [][]string `json:"commands"`
	Env      []string   `json:"env"`
	Dir      string     `json:"dir"`
}

// request names one of the commands by its index, or cancels the earlier request with that
// number.
type request struct {
	Number  int  `json:"number"`
	Command int  `json:"command"`
	Cancel  bool `json:"cancel,omitempty"`
}

// result has the output and the error of a command.
type result struct {
	Said  string `json:"said,omitempty"`
	Error string `json:"error,omitempty"`
}

// Runner is the daemon's connection to the second process.
type Runner struct {
	commands [][]string
	process  *exec.Cmd
	conn     *os.File
	out      *json.Encoder
	results  chan result // closed when the second process has ended

	mu     sync.Mutex // locked while a command runs
	number int        // number of the latest request; guarded by mu
	write  sync.Mutex
}

// Start starts the second process, which is this program with the given arguments. The second
// process must call Serve, and runs only the given commands.
func Start(args []string, commands [][]string, env []string, dir string) (*Runner, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil { // so that Close ends a blocked read
		return nil, errors.Join(err, unix.Close(fds[0]), unix.Close(fds[1]))
	}
	theirs := os.NewFile(uintptr(fds[1]), "hooks")
	defer theirs.Close()
	r := &Runner{commands: commands, conn: os.NewFile(uintptr(fds[0]), "hooks"), results: make(chan result)}
	r.out = json.NewEncoder(r.conn)
	r.process = exec.Command("/proc/self/exe", args...)
	r.process.Args[0], r.process.Dir, r.process.Env, r.process.Stderr = os.Args[0], "/", env, os.Stderr
	r.process.ExtraFiles = []*os.File{theirs}
	// In a separate process group, the second process does not receive the terminal's signals. It
	// must still run when the daemon stops, because some commands run then.
	r.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.process.Start(); err != nil {
		return nil, errors.Join(err, r.conn.Close())
	}
	if err := r.out.Encode(setup{commands, env, dir}); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	in := json.NewDecoder(r.conn)
	var ready result
	if err := in.Decode(&ready); err != nil || ready.Error != "" {
		return nil, errors.Join(err, texted(ready.Error), r.Close())
	}
	go func() {
		defer close(r.results)
		for {
			var v result
			if in.Decode(&v) != nil {
				return
			}
			r.results <- v
		}
	}()
	return r, nil
}

// Run runs a command in the second process, and returns its output in one line.
func (r *Runner) Run(ctx context.Context, argv []string) (string, error) {
	at := slices.IndexFunc(r.commands, func(c []string) bool { return slices.Equal(c, argv) })
	if at < 0 {
		return "", fmt.Errorf("%s: not among the commands of the start", argv[0])
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.number++
	number := r.number
	if err := r.send(request{Number: number, Command: at}); err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = r.send(request{Number: number, Cancel: true}) }) // fails if it has ended
	defer stop()
	v, ok := <-r.results
	if !ok {
		return "", errors.New(argv[0] + ": the process that runs commands has ended")
	}
	return v.Said, texted(v.Error)
}

func (r *Runner) send(v request) error {
	r.write.Lock()
	defer r.write.Unlock()
	return r.out.Encode(v)
}

// Close stops the second process, and waits for it.
func (r *Runner) Close() error {
	err := r.conn.Close()
	if w := r.process.Wait(); err == nil {
		err = w
	}
	return err
}

func texted(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}

// fd is the second process's end of the connection, the first of exec.Cmd.ExtraFiles.
const fd = 3

// Serve runs the requested commands in the second process until the daemon ends. Serve calls the
// function confine() to give up the privileges that commands must not have.
func Serve(confine func(dir string) error) error {
	unix.CloseOnExec(fd)
	conn := os.NewFile(fd, "hooks")
	in, out := json.NewDecoder(conn), json.NewEncoder(conn)
	var s setup
	if err := in.Decode(&s); err != nil {
		return errors.New("this is for srdtun up")
	}
	if err := confine(s.Dir); err != nil {
		return out.Encode(result{Error: err.Error()})
	}
	if err := out.Encode(result{}); err != nil {
		return err
	}
	stop, number := func() {}, 0
	var running sync.WaitGroup
	defer func() {
		stop()
		running.Wait()
	}()
	for {
		var r request
		if in.Decode(&r) != nil {
			return nil // the daemon has ended
		}
		if r.Cancel {
			if r.Number == number {
				stop()
			}
			continue
		}
		if r.Command < 0 || r.Command >= len(s.Commands) {
			return errors.New("there is no command " + strconv.Itoa(r.Command))
		}
		running.Wait() // the daemon sends the next request only after the result
		ctx, cancel := context.WithCancel(context.Background())
		stop, number = cancel, r.Number
		running.Go(func() {
			defer cancel()
			said, err := Run(ctx, Command{Argv: s.Commands[r.Command], Env: s.Env})
			v := result{Said: said}
			if err != nil {
				v.Error = err.Error()
			}
			_ = out.Encode(v) // fails if the daemon has ended
		})
	}
}
