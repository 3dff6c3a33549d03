package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/bounded"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
)

const (
	// defaultConfigDir is the directory of NAME.toml, unless the variable configDirEnv names
	// another directory.
	defaultConfigDir = "/etc/srdtun"
	configDirEnv     = "SRDTUN_CONFIG_DIR"

	// credentialsEnv is the variable with the directory of a service's secrets (systemd.exec(5),
	// LoadCredential=).
	credentialsEnv = "CREDENTIALS_DIRECTORY"

	suffix = ".toml"

	// foreignSuffix is the extension of wg-quick(8) files. An argument with it counts as a file,
	// because the parser then gives advice about wg-quick files. The error "unknown interface"
	// would be misleading.
	foreignSuffix = ".conf"
)

func configDir() string {
	if d := os.Getenv(configDirEnv); d != "" {
		return d
	}
	return defaultConfigDir
}

// isFile reports whether an argument is the path of a file rather than a name.
func isFile(arg string) bool {
	return strings.Contains(arg, "/") || strings.HasSuffix(arg, suffix) || strings.HasSuffix(arg, foreignSuffix)
}

// configFile returns the configuration file for NAME|FILE, and the path from which it must be read.
// The user of a service cannot read the file, so the service reads a copy, the credential
// NAME.toml.
func configFile(arg string) (file, from string, err error) {
	if isFile(arg) {
		return arg, arg, nil
	}
	if err := rundir.CheckName(arg); err != nil {
		return "", "", &usageError{err}
	}
	file = fileNamed(arg)
	if dir := os.Getenv(credentialsEnv); dir != "" {
		from = filepath.Join(dir, arg+suffix)
		if _, err := os.Stat(from); err == nil {
			return filepath.Join(configDir(), arg+suffix), from, nil
		}
	}
	return file, file, nil
}

// findFile is like configFile, but for commands that do not start an interface. If the
// configuration directory has no file for a NAME, findFile returns the file of the running
// interface NAME.
func findFile(arg string) (file, from string, err error) {
	if file, from, err = configFile(arg); err != nil || isFile(arg) {
		return file, from, err
	}
	if _, err := os.Stat(from); !errors.Is(err, fs.ErrNotExist) {
		return file, from, nil
	}
	at, runs, err := placeNamed(arg)
	var usage *usageError
	switch {
	case errors.As(err, &usage): // the NAME is ambiguous
		return "", "", err
	case !runs:
		return file, from, nil
	case at.Service != "":
		// A service can claim to run from any file, so the file is derived from the name of the
		// service.
		file = filepath.Join(configDir(), at.Service+suffix)
		return file, file, nil
	}
	if st, err := askWithin(at, control.Part{Brief: true}, 0); err == nil && st.File != "" {
		file, from = st.File, st.File
	}
	return file, from, nil
}

// load reads and checks the configuration for NAME|FILE (see configFile).
func load(arg string) (*config.Config, error) { return loadFrom(configFile(arg)) }

// loadFound reads and checks the configuration in the file that findFile finds.
func loadFound(arg string) (*config.Config, error) { return loadFrom(findFile(arg)) }

func loadFrom(file, from string, err error) (*config.Config, error) {
	if err != nil {
		return nil, err
	}
	if from != file && isMissing(from) {
		return nil, &config.Error{File: file, Msg: fs.ErrNotExist.Error()}
	}
	return config.LoadCopy(file, from)
}

// missing is the content of a service's credential if the configuration file does not exist
// (SetCredential= in the unit). So the daemon starts, and its error names the missing file.
// systemd's own message would not.
const missing = "#missing"

func isMissing(credential string) bool {
	text, err := bounded.File(credential, int64(len(missing)+1))
	return err == nil && strings.TrimRight(string(text), "\n") == missing
}

// placeOf returns the control socket of the daemon of NAME|FILE.
func placeOf(arg string) (rundir.Place, error) {
	find := placeNamed
	if isFile(arg) {
		find = placeOfFile
	}
	at, _, err := find(arg)
	return at, err
}

// asking connects to the daemon of NAME|FILE, and passes the connection to the function ask().
func asking(arg string, ask func(*control.Client) error) error {
	at, err := placeOf(arg)
	if err != nil {
		return err
	}
	c, err := control.Dial(at)
	if err != nil {
		return err
	}
	defer c.Close()
	return ask(c)
}

// completeRunning completes the name of a running interface.
func completeRunning(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, err := rundir.Names()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeConfigured completes the names of configured interfaces, and files.
func completeConfigured(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if strings.Contains(typed, "/") {
		return []string{"toml"}, cobra.ShellCompDirectiveFilterFileExt
	}
	var names []string
	files, err := filepath.Glob(filepath.Join(configDir(), "*"+suffix))
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), suffix))
	}
	return names, cobra.ShellCompDirectiveDefault
}
