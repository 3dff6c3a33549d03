package fabric

import (
	"errors"
	"fmt"
	"net"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// hashProgram is the BPF program "bpf_set_hash_invalid(skb); return -1" (linux/bpf.h). The packet
// continues, and the kernel computes its hash again. The program's result -1 means TCX_NEXT and
// TC_ACT_UNSPEC.
var hashProgram = [...]bpfInsn{
	{code: 0x85, imm: 41}, // call helper 41, bpf_set_hash_invalid; r1 is the packet
	{code: 0xb7, imm: -1}, // r0 = -1
	{code: 0x95},          // exit
}

// hashLicense is the licence that the BPF helper function requires. A package variable does not
// move while the kernel reads it.
var hashLicense = [...]byte{'G', 'P', 'L', 0}

// bpfInsn is the kernel's struct bpf_insn.
type bpfInsn struct {
	code, regs byte
	off        int16
	imm        int32
}

// bpfLoadAttr is the beginning of union bpf_attr for BPF_PROG_LOAD.
type bpfLoadAttr struct {
	progType, insnCnt       uint32
	insns, license          uint64
	logLevel, logSize       uint32
	logBuf                  uint64
	kernVersion, progFlags  uint32
	name                    [16]byte
	ifindex, expectedAttach uint32
}

// bpfAttachAttr is the beginning of union bpf_attr for BPF_PROG_ATTACH.
type bpfAttachAttr struct {
	target, progFD, attachType, flags uint32
}

// forgetHashes makes every port of the leaves remove the sender's socket hash.
func (f *Fabric) forgetHashes() error {
	for _, sd := range f.sides() {
		var ports []string
		for i := range sd.hosts {
			ports = append(ports, fmt.Sprintf("h%d", i+1))
		}
		for s := range f.Spines {
			ports = append(ports, fmt.Sprintf("s%d", s+1))
		}
		if err := sd.leaf.Do(func() error { return forgetHash(ports) }); err != nil {
			return fmt.Errorf("fabric: %s: cannot clear packet hashes: %w", sd.leaf.Name, err)
		}
	}
	return nil
}

// forgetHash attaches hashProgram to the ingress of devices in the thread's namespace.
func forgetHash(devices []string) error {
	fd, err := loadHashProgram()
	if err != nil {
		return err
	}
	// The device keeps the attached program, so the program's descriptor can be closed.
	defer unix.Close(fd)
	for _, name := range devices {
		ifi, err := net.InterfaceByName(name)
		if err != nil {
			return err
		}
		err = attachTCX(ifi.Index, fd)
		if errors.Is(err, unix.EINVAL) {
			// Kernels before 6.6 have no tcx, but their clsact does the same.
			err = attachClsact(ifi.Index, fd)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// loadHashProgram loads the BPF program on the calling thread, which must be locked. A pending
// signal makes the kernel's verifier fail with EAGAIN, and Go's runtime interrupts threads with
// SIGURG. loadHashProgram therefore blocks signals during the call.
func loadHashProgram() (fd int, err error) {
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &all, &before); err != nil {
		return -1, err
	}
	defer func() { err = errors.Join(err, unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)) }()
	attr := bpfLoadAttr{
		progType: unix.BPF_PROG_TYPE_SCHED_CLS,
		insnCnt:  uint32(len(hashProgram)),
		insns:    uint64(uintptr(unsafe.Pointer(&hashProgram[0]))),
		license:  uint64(uintptr(unsafe.Pointer(&hashLicense[0]))),
	}
	copy(attr.name[:], "forget_hash")
	fd, err = bpf(unix.BPF_PROG_LOAD, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	return fd, err
}

func attachTCX(ifindex, fd int) error {
	const tcxIngress = 46 // BPF_TCX_INGRESS of linux/bpf.h
	attr := bpfAttachAttr{target: uint32(ifindex), progFD: uint32(fd), attachType: tcxIngress}
	_, err := bpf(unix.BPF_PROG_ATTACH, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	return err
}

func attachClsact(ifindex, fd int) error {
	err := netlink.QdiscAdd(&netlink.Clsact{QdiscAttrs: netlink.QdiscAttrs{
		LinkIndex: ifindex, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT,
	}})
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("clsact: %w", err)
	}
	return netlink.FilterAdd(&netlink.BpfFilter{
		FilterAttrs: netlink.FilterAttrs{
			LinkIndex: ifindex, Parent: netlink.HANDLE_MIN_INGRESS,
			Handle: netlink.MakeHandle(0, 1), Protocol: unix.ETH_P_ALL, Priority: 1,
		},
		Fd: fd, Name: "forget_hash", DirectAction: true,
	})
}

// bpf makes the system call bpf(2).
func bpf(cmd int, attr unsafe.Pointer, size uintptr) (int, error) {
	r, _, errno := unix.Syscall(unix.SYS_BPF, uintptr(cmd), uintptr(attr), size)
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil
}
