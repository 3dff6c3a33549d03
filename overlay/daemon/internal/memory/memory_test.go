package memory

import (
	"os"
	"path/filepath"
	"testing"
)

// The limit depends on the process's control group and the groups above it, in both versions of
// cgroups.
func TestMemoryLimitIsThatOfTheGroup(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		name  string
		group string
		files map[string]string
		want  int64 // 0: there is none
	}{
		{"none", "0::/a\n", nil, 0},
		{"no limit", "0::/a\n", map[string]string{"a/memory.max": "max\n", "a/memory.high": "max\n"}, 0},
		{"max", "0::/a/b\n", map[string]string{"a/b/memory.max": "134217728\n"}, 128 * mb},
		{"high is less", "0::/a\n", map[string]string{"a/memory.max": "134217728\n", "a/memory.high": "67108864\n"}, 64 * mb},
		{"of the slice above", "0::/a/b\n", map[string]string{"memory.max": "max\n", "a/memory.max": "67108864\n", "a/b/memory.max": "134217728\n"}, 64 * mb},
		{"of a container, whose path is the host's", "0::/kube/pod\n", map[string]string{"memory.max": "67108864\n"}, 64 * mb},
		{"version 1", "9:cpu,memory:/a\n0::/x\n", map[string]string{"memory/a/memory.limit_in_bytes": "67108864\n", "memory/memory.limit_in_bytes": "9223372036854771712\n"}, 64 * mb},
		{"both versions", "9:memory:/a\n0::/x\n", map[string]string{"memory/a/memory.limit_in_bytes": "134217728\n", "unified/x/memory.high": "67108864\n"}, 64 * mb},
		{"nonsense", "0::/a\nx\n::\n", map[string]string{"a/memory.max": "-1\n", "a/memory.high": "many\n"}, 0},
		{"a path out of the tree", "0::/../../etc\n", map[string]string{"etc/memory.max": "67108864\n"}, 64 * mb},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			put := func(name, text string) {
				path := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			put("proc/self/cgroup", c.group)
			for name, text := range c.files {
				put(filepath.Join("sys/fs/cgroup", name), text)
			}
			n, ok := groupLimit(root)
			if ok != (c.want > 0) || ok && n != c.want {
				t.Errorf("%d, %v; want %d", n, ok, c.want)
			}
			machine := softLimit(t.TempDir())
			if got, want := softLimit(root), max(min(machine, c.want/8*ofGroup), leastLimit); c.want > 0 && got != want {
				t.Errorf("a soft limit of %d, want %d", got, want)
			}
		})
	}
}

// In a small group the soft limit is below the group's limit, at which the kernel would kill the
// process.
func TestSoftLimitOfASmallGroup(t *testing.T) {
	const mb = 1 << 20
	for group, want := range map[string]int64{"33554432": 28 * mb, "67108864": 48 * mb, "134217728": 96 * mb, "16777216": 14 * mb} {
		root := t.TempDir()
		for name, text := range map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": group + "\n"} {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := softLimit(root); got != want {
			t.Errorf("of %s: %d, want %d", group, got, want)
		}
	}
}
