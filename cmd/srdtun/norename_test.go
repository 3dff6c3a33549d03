package main

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// norename runs srdtun with the given arguments in this process, in which the kernel refuses to
// rename files, as on a disk with errors (seccomp(2)).
func norename() {
	const (
		load, equal, give = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
		allow, refuse     = 0x7fff0000, 0x00050000 | uint32(unix.EIO) // SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, linux/seccomp.h
	)
	filter := []unix.SockFilter{
		{Code: load}, // the number of the system call
		{Code: equal, K: unix.SYS_RENAMEAT, Jt: 1},
		{Code: equal, K: unix.SYS_RENAMEAT2, Jf: 1},
		{Code: give, K: refuse},
		{Code: give, K: allow},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		fail(err)
	}
	// All threads get the filter.
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program))); errno != 0 {
		fail(errno)
	}
	os.Exit(run(os.Args[1:]))
}
