package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

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
	// Whoever may not read the file has to know the device's name.
	if c, err := config.Load(filepath.Join(configDir(), name+suffix)); err == nil {
		return c.Interface.Name
	}
	return name
}

// runningNamed reports whether there is a device that runs under that very name.
func runningNamed(name string) (string, bool) {
	running, err := rundir.Names()
	return name, err == nil && slices.Contains(running, name)
}
