package hooks

import (
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// refused adds to an error the reason why the kernel refuses to execute a program, which the
// kernel's error does not contain. Usually the file has capabilities (setcap(8)) that the bounding
// set of this process lacks.
func refused(file string, err error) error {
	missing := outside(fileCapabilities(file))
	if len(missing) == 0 {
		return err
	}
	return fmt.Errorf("%w: its file has %s, which commands may not have here; "+
		"a service needs it in CapabilityBoundingSet= (docs/reload.md)", err, strings.Join(missing, ", "))
}

// capsName is the extended attribute with a file's capabilities. Its value has flags and version,
// then two halves of the permitted and the inheritable set (linux/capability.h, vfs_cap_data).
const (
	capsName = "security.capability"
	capsMost = 24
	capsLow  = 4
	capsHigh = 12
)

// fileCapabilities returns the capabilities that the file's attribute grants to the program.
func fileCapabilities(file string) (set uint64) {
	b := make([]byte, capsMost)
	n, err := unix.Getxattr(file, capsName, b)
	if err != nil || n < capsHigh+4 {
		return 0
	}
	return uint64(binary.LittleEndian.Uint32(b[capsHigh:]))<<32 | uint64(binary.LittleEndian.Uint32(b[capsLow:]))
}

// outside returns the names of the capabilities in set that the bounding set lacks.
func outside(set uint64) (missing []string) {
	for c, name := range capabilities {
		if set&(1<<c) == 0 {
			continue
		}
		if in, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(c), 0, 0, 0); err == nil && in == 0 {
			missing = append(missing, "CAP_"+name)
		}
	}
	return missing
}

// capabilities lists the names of capabilities by number, capabilities(7).
var capabilities = []string{
	"CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP", "LINUX_IMMUTABLE",
	"NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT",
	"SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE",
	"AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ",
	"PERFMON", "BPF", "CHECKPOINT_RESTORE",
}
