package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
)

const (
	heirTold  = 3 // descriptors in the child process
	heirFrom  = 4
	heirReply = `{"status":{"schema":1},"done":true,"changed":[],"config":"[interface]\n","version":"v"}`
)

// heir PATH PIDFILE TOLD [self] listens at PATH as an unprivileged user, and writes its process
// number to PIDFILE. Another process replies there, as if the listening process had ended and its
// number belonged to a service's main process now. With self the listening process itself replies.
// TOLD receives all requests.
func heir() {
	if len(os.Args) == 1 {
		l, err := net.FileListener(os.NewFile(heirFrom, "socket"))
		if err != nil {
			fail(err)
		}
		recordAll(l, os.NewFile(heirTold, "told"))
		return
	}
	beNobody()
	runtime.LockOSThread() // Pdeathsig takes effect when this thread ends
	told, err := os.OpenFile(os.Args[3], os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		fail(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: os.Args[1], Net: "unix"})
	if err != nil {
		fail(err)
	}
	if err := os.WriteFile(os.Args[2], []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644); err != nil {
		fail(err)
	}
	if len(os.Args) > 4 {
		recordAll(l, told)
		return
	}
	from, err := l.File()
	if err != nil {
		fail(err)
	}
	c := exec.Command("/proc/self/exe")
	c.Args = []string{"heir"}
	c.ExtraFiles = []*os.File{told, from}
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Run(); err != nil {
		fail(err)
	}
}

// recordAll replies to every client, and records requests and descriptors.
func recordAll(l net.Listener, told *os.File) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			in := bufio.NewReader(&recorded{c.(*net.UnixConn), told})
			for err == nil {
				if _, err = in.ReadString('\n'); err == nil {
					_, err = fmt.Fprintln(c, heirReply)
				}
			}
		}()
	}
}

type recorded struct {
	c    *net.UnixConn
	told *os.File
}

func (r *recorded) Read(b []byte) (int, error) {
	oob := make([]byte, 1024)
	n, o, _, _, err := r.c.ReadMsgUnix(b, oob)
	if o > 0 {
		fmt.Fprintln(r.told, "DESCRIPTOR")
	}
	fmt.Fprintf(r.told, "%s", b[:max(n, 0)])
	if n <= 0 && err == nil {
		err = net.ErrClosed
	}
	return max(n, 0), err
}
