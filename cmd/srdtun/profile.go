package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"runtime"
	rpprof "runtime/pprof"
	"time"

	"github.com/srdtun/srdtun/overlay/control/rundir"
)

// profileTimeout bounds the time in which a client of the profiler must send its request.
const profileTimeout = 10 * time.Second

// The mutex profile records on average one of mutexSamples waits for a lock, because recording a
// wait costs some microseconds.
const mutexSamples = 10

// startProfiles serves net/http/pprof on a Unix socket, and records a CPU profile to a file. An
// empty path turns the socket or the profile off. The returned function stop() ends both of them.
func startProfiles(socket, cpu string) (stop func() error, err error) {
	var stops []func() error
	stop = func() error {
		var errs []error
		for _, f := range stops {
			errs = append(errs, f())
		}
		return errors.Join(errs...)
	}
	if cpu != "" {
		f, err := recordCPU(cpu)
		if err != nil {
			return nil, err
		}
		stops = append(stops, f)
	}
	if socket == "" {
		runtime.MemProfileRate = 0 // nobody can read the profile of the heap, which takes memory itself
	} else {
		f, err := servePprof(socket)
		if err != nil {
			return nil, errors.Join(err, stop())
		}
		stops = append(stops, f)
	}
	return stop, nil
}

func recordCPU(file string) (stop func() error, err error) {
	f, err := rundir.Create(file, os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := rpprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error { rpprof.StopCPUProfile(); return f.Close() }, nil
}

func servePprof(socket string) (stop func() error, err error) {
	if err := checkFree(socket); err != nil {
		return nil, err
	}
	// A profile reveals the activity of the process, so no other user may read it.
	l, err := rundir.Listen(socket, 0o600)
	if err != nil {
		return nil, err
	}
	runtime.SetMutexProfileFraction(mutexSamples)
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: profileTimeout}
	go s.Serve(l)
	return func() error {
		err := l.Remove()
		if errors.Is(err, fs.ErrPermission) {
			err = nil // this process has given up the right to remove it; the next start replaces the socket
		}
		return errors.Join(s.Close(), err)
	}, nil
}

// checkFree returns an error if the socket's path is a file, or a socket with a listener.
// checkFree accepts a stale socket that a killed process left behind.
func checkFree(socket string) error {
	st, err := os.Lstat(socket)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case st.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s exists, and is not a socket", socket)
	}
	c, err := net.Dial("unix", socket)
	if err != nil {
		return nil // no listener
	}
	return errors.Join(fmt.Errorf("%s: another process listens there", socket), c.Close())
}
