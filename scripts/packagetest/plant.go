package main

import (
	"fmt"
	"net"
	"os"
	"time"
)

// plantArg is the argument that makes the program listen on a socket like a daemon: plant SOCKET
// FILE.
const plantArg = "plant"

// hostile is the answer of the false daemon. The answer claims another interface's file, and
// contains escape sequences for a terminal.
const hostile = `{"version":"\u001b[31m","changed":[{"text":"\u001b]0;owned\u0007"}],"config":"\u001b[2J",` +
	`"happened":{"run":"1","last":1,"events":[{"number":1,"text":"\u001b[2J"}]},` +
	`"status":{"schema":1,"interface":"third","file":"/etc/srdtun/lab.toml","version":"\u001b[2J","peers":[{"name":"\u001b[2J"}]}}` + "\n"

// plant records all requests to the socket, and whether they carried descriptors, until it is
// killed.
func plant(socket, file string) error {
	_ = os.Remove(socket)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return err
	}
	told, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	fmt.Fprintln(told, "listens")
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return err
		}
		buf, oob := make([]byte, 1<<16), make([]byte, 1024)
		_ = c.SetDeadline(time.Now().Add(time.Second))
		for {
			n, o, _, _, err := c.ReadMsgUnix(buf, oob)
			if o > 0 {
				fmt.Fprintln(told, "DESCRIPTOR")
			}
			fmt.Fprintf(told, "%s", buf[:max(n, 0)])
			if err != nil || n == 0 {
				break
			}
			if buf[n-1] == '\n' {
				if _, err := c.Write([]byte(hostile)); err != nil {
					break
				}
			}
		}
		c.Close()
	}
}
