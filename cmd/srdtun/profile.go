package main

import (
	"errors"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	rpprof "runtime/pprof"
	"time"

	"golang.org/x/sys/unix"
)

// profileTimeout bounds how long a client of the profiler takes to ask.
const profileTimeout = 10 * time.Second

// startProfiles serves net/http/pprof on a unix socket and records a CPU
// profile to a file, each if its path is not empty. The result ends both.
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
	if socket != "" {
		f, err := servePprof(socket)
		if err != nil {
			return nil, errors.Join(err, stop())
		}
		stops = append(stops, f)
	}
	return stop, nil
}

func recordCPU(file string) (stop func() error, err error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := rpprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error { rpprof.StopCPUProfile(); return f.Close() }, nil
}

func servePprof(socket string) (stop func() error, err error) {
	if err := removeStale(socket); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	// A profile tells what the process does: nobody else's business.
	if err := os.Chmod(socket, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: profileTimeout}
	go s.Serve(l)
	return s.Close, nil
}

// removeStale removes a socket that nobody listens on: that of a process which was
// killed.
func removeStale(socket string) error {
	c, err := net.Dial("unix", socket)
	switch {
	case err == nil:
		return c.Close()
	case errors.Is(err, unix.ECONNREFUSED):
		return os.Remove(socket)
	}
	return nil // whatever it is, Listen says so
}
