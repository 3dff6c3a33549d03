package config

import (
	"errors"
	"os/exec"
	"path/filepath"

	"github.com/srdtun/srdtun/internal/bounded"
	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/internal/writers"
)

// Root runs the commands of a configuration. So a user who could change the configuration, or a
// program of a command, could make root run any command. Root accepts no such file. Other files,
// such as key files, give less, so for these there is a warning.

// ErrOthersWrite means that a user other than root could make root run commands.
var ErrOthersWrite = errors.New("")

const (
	runAsRoot = "could make root run commands by it"
	inRootDir = "a directory of root"
)

// checkWriters returns an error if a user other than root could change the configuration, which was
// read from the file `from`, or a program of its commands. It stores warnings about other files of
// the commands.
func (c *Config) checkWriters(from string) error {
	if w := writers.Of(from); w != nil {
		return &Error{File: c.File, Msg: w.Text("", runAsRoot, inRootDir+", such as /etc/srdtun"), cause: ErrOthersWrite}
	}
	h := &c.Interface.Hooks
	for _, k := range []struct {
		key      string
		commands [][]string
	}{{"pre_up", h.PreUp}, {"post_up", h.PostUp}, {"pre_down", h.PreDown}, {"post_down", h.PostDown}} {
		for _, argv := range k.commands {
			if err := c.checkCommand(k.key, c.Command(argv)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkCommand examines the program of a command, and the files that its other words name. A shell
// or another program may run a script that such a word names.
func (c *Config) checkCommand(key string, words []string) error {
	for i, file := range words {
		runs := i == 0
		if runs {
			if found, err := exec.LookPath(file); err == nil {
				file = found
			}
		} else {
			if !filepath.IsAbs(file) {
				continue
			}
			_, err := exec.LookPath(file)
			head, _ := bounded.Head(file, int64(len(interpreted)))
			runs = err == nil || string(head) == interpreted
		}
		w := writers.Of(file)
		switch {
		case w == nil:
		case runs:
			e := c.fault("interface", key, "%s", w.Text(keytext.Hide(file, nil), runAsRoot, inRootDir))
			e.cause = ErrOthersWrite
			return e
		default:
			c.writable = append(c.writable, c.fault("interface", key, "%s", w.Text(keytext.Hide(file, nil), "could change what the command does", inRootDir)))
		}
	}
	return nil
}

// interpreted is the beginning of a script (execve(2)).
const interpreted = "#!"
