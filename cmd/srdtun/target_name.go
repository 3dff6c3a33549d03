package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control/rundir"
)

// A NAME is a file's or a device's: hub.toml may name its device wg9, and both words
// stand for it. To begin with a file the file's name goes first, and to talk to what runs
// the device's.

// fileNamed returns the file that a name stands for.
func fileNamed(name string) string {
	file := filepath.Join(configDir(), name+suffix)
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return file
	}
	files, err := filepath.Glob(filepath.Join(configDir(), "*"+suffix))
	if err != nil {
		return file
	}
	found := file
	for _, f := range files {
		if c, err := config.Load(f); err == nil && c.Interface.Name == name {
			if found != file {
				return file // two of them: neither is meant
			}
			found = f
		}
	}
	return found
}

// deviceNamed returns the device that a name stands for.
func deviceNamed(name string) string {
	if _, runs := runningNamed(name); runs {
		return name
	}
	// Whoever may not read the file has to know the device's name, if it does not run.
	if device, err := deviceOf(filepath.Join(configDir(), name+suffix)); err == nil {
		return device
	}
	return name
}

// deviceOf returns the device of a file. What runs is asked first: the file may be wrong, gone
// or have another name in it by now.
func deviceOf(file string) (string, error) {
	if device, runs := runningFrom(file); runs {
		return device, nil
	}
	c, err := config.Load(file)
	if err != nil {
		return "", err
	}
	return c.Interface.Name, nil
}

// runningFrom returns the device that was started from a file and runs.
func runningFrom(file string) (string, bool) {
	whole, err := filepath.Abs(file)
	if err != nil {
		return "", false
	}
	running, err := rundir.Names()
	if err != nil {
		return "", false
	}
	// Others may say that the file is theirs.
	service := rundir.NamesOf(strings.TrimSuffix(filepath.Base(file), suffix))
	for _, name := range append(service, running...) {
		if st, err := status(name); err == nil && st.File == whole {
			return name, true
		}
	}
	return "", false
}

// runningNamed reports whether there is a device that runs under that very name.
func runningNamed(name string) (string, bool) {
	running, err := rundir.Names()
	return name, err == nil && slices.Contains(running, name)
}
