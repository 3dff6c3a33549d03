package main

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/srdtun/srdtun/internal/bounded"
)

// tableDirs are the directories in which ip(8) finds the names of routing tables. A
// later directory overrides an earlier one.
var tableDirs = []string{"/usr/lib/iproute2", "/usr/share/iproute2", "/etc/iproute2"}

// maxTables bounds the size of a file of table names in bytes; Debian's file has some hundred
// bytes.
const maxTables = 64 << 10

// routingTables returns the names in rt_tables and rt_tables.d/*.conf. It skips an unreadable file,
// so import then reports a name in that file as unknown.
func routingTables(dirs []string) map[string]uint32 {
	tables := map[string]uint32{}
	for _, dir := range dirs {
		more, _ := filepath.Glob(filepath.Join(dir, "rt_tables.d", "*.conf")) // the pattern is valid
		for _, file := range append([]string{filepath.Join(dir, "rt_tables")}, more...) {
			text, err := bounded.File(file, maxTables)
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(text)) {
				line, _, _ = strings.Cut(line, "#")
				words := strings.Fields(line)
				if len(words) < 2 {
					continue
				}
				if id, err := strconv.ParseUint(words[0], 0, 32); err == nil {
					tables[words[1]] = uint32(id)
				}
			}
		}
	}
	return tables
}
