package tunnel

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Manager implements the part of a service manager that a restart by systemd needs. A Manager
// stores descriptors between two processes (sd_pid_notify_with_fds(3)), answers barriers, and
// reports that the service is restarting.
type Manager struct {
	socket *net.UnixConn
	path   string
	dir    string // of a systemctl that reports the restart
	ready  chan struct{}

	mu    sync.Mutex
	names []string
	fds   []int
}

// unit is the name of the test service.
const unit = "srdtun@test.service"

// NewManager returns a Manager for node n.
func NewManager(n *Node) (*Manager, error) {
	m := &Manager{path: n.File + ".manager", dir: filepath.Dir(n.File) + "/" + n.Name + ".bin", ready: make(chan struct{}, 1)}
	err := os.MkdirAll(m.dir, 0o755)
	if err == nil {
		err = os.WriteFile(m.dir+"/systemctl", []byte("#!/bin/sh\necho 1 "+unit+" restart running\n"), 0o755)
	}
	if err == nil {
		m.socket, err = listenReady(m.path)
	}
	if err != nil {
		return nil, err
	}
	go m.serve()
	return m, nil
}

// Close closes the stored descriptors, and the manager's socket.
func (m *Manager) Close() {
	m.socket.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove("")
}

func (m *Manager) serve() {
	text, oob := make([]byte, 4096), make([]byte, 8192)
	for {
		n, o, _, _, err := m.socket.ReadMsgUnix(text, oob)
		if err != nil {
			return
		}
		var fds []int
		if all, _ := unix.ParseSocketControlMessage(oob[:o]); len(all) > 0 {
			fds, _ = unix.ParseUnixRights(&all[0])
		}
		m.take(string(text[:n]), fds)
	}
}

func (m *Manager) take(text string, fds []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, name, _ := strings.Cut(text, "FDNAME=")
	switch {
	case strings.HasPrefix(text, "FDSTORE=1"):
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			m.names, m.fds = append(m.names, name), append(m.fds, fd)
		}
		return
	case strings.HasPrefix(text, "FDSTOREREMOVE=1"):
		m.remove(name)
	case strings.Contains("\n"+text+"\n", "\nREADY=1\n"):
		select {
		case m.ready <- struct{}{}:
		default:
		}
	}
	for _, fd := range fds { // a barrier's among them
		unix.Close(fd)
	}
}

// remove closes the stored descriptors with a name; "" stands for any name.
func (m *Manager) remove(name string) {
	var names []string
	var fds []int
	for i, fd := range m.fds {
		if name == "" || m.names[i] == name {
			unix.Close(fd)
		} else {
			names, fds = append(names, m.names[i]), append(fds, fd)
		}
	}
	m.names, m.fds = names, fds
}

// kept returns duplicates of the stored descriptors.
func (m *Manager) kept() (names []string, files []*os.File, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, fd := range m.fds {
		d, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return names, files, err
		}
		names, files = append(names, m.names[i]), append(files, os.NewFile(uintptr(d), m.names[i]))
	}
	return names, files, nil
}

// StartUnder starts the daemon as a service of m, with the descriptors that the previous process
// stored in m. StartUnder waits until the daemon is ready.
func (n *Node) StartUnder(m *Manager) error {
	if err := os.WriteFile(n.File, n.Config.TOML(), 0o600); err != nil {
		return err
	}
	names, files, err := m.kept()
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	if err != nil {
		return err
	}
	env := []string{"NOTIFY_SOCKET=" + m.path, "SRDTUN_UNIT=" + unit, "PATH=" + m.dir + ":" + os.Getenv("PATH")}
	name, args := n.Bin, []string{"up", n.File}
	if len(files) > 0 {
		env = append(env, "LISTEN_FDS="+strconv.Itoa(len(files)), "LISTEN_FDNAMES="+strings.Join(names, ":"))
		name, args = "sh", []string{"-c", `LISTEN_PID=$$ exec "$0" up "$1"`, n.Bin, n.File}
	}
	if n.process != nil {
		n.restarts = append(n.restarts, n.process)
	}
	if n.process, err = n.Host.StartFiles(files, nil, env, name, args...); err != nil {
		return err
	}
	select {
	case <-m.ready:
		return nil
	case <-n.process.Done():
		return fmt.Errorf("%s ended before it was ready:\n%s", n.Name, n.process.Log.String())
	case <-time.After(readyWait):
		return fmt.Errorf("%s is not ready after %v:\n%s", n.Name, readyWait, n.process.Log.String())
	}
}
