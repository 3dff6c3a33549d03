package doctor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// TunState says whether a TUN device can be created, or why not.
type TunState int

const (
	TunUsable TunState = iota
	TunMissing
	TunRefused
)

// Facts holds the observed facts of a host.
type Facts struct {
	Kernel            string // release, such as "6.1.0-18-amd64"
	Processors        int
	Tun               TunState
	TunMode           fs.FileMode
	NetAdmin          bool // this process has CAP_NET_ADMIN
	GSO, GRO          bool // whether the kernel accepts UDP_SEGMENT, and UDP_GRO
	ReceiveMost       int  // largest receive buffer of a socket, in bytes
	SendMost          int
	Descriptors       uint64
	ClockSynchronised bool
	Container         bool // this is a container, so its host sets the clock
	Conntrack         int  // number of entries in use
	ConntrackMost     int  // capacity of the table; 0: there is no table
	ReversePath       map[string]int
	Redirects         bool // redirects from any host on a link are accepted
	Forwarding        bool
	MultipathHash     [2]int // IPv4, IPv6
	IPv6              bool
}

// Look gathers the facts of this host. If Look cannot observe a fact, it assumes the harmless
// value.
func Look() *Facts {
	f := &Facts{Processors: runtime.NumCPU(), ReversePath: map[string]int{}}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		f.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	f.lookTun("/dev/net/tun")
	f.NetAdmin = hasNetAdmin()
	f.GSO, f.GRO = trains()
	f.lookLimits()
	f.lookSysctls("/proc/sys/net")
	return f
}

func (f *Facts) lookTun(path string) {
	st, err := os.Stat(path)
	if err != nil {
		f.Tun = TunMissing
		return
	}
	f.TunMode = st.Mode().Perm()
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	switch {
	case err == nil:
		unix.Close(fd)
	case errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		f.Tun = TunMissing // the device file may exist although the module is missing
	default:
		f.Tun = TunRefused
	}
}

func hasNetAdmin() bool {
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var d [2]unix.CapUserData
	return unix.Capget(&h, &d[0]) == nil && d[0].Effective&(1<<unix.CAP_NET_ADMIN) != 0
}

// trains tries the options UDP_SEGMENT and UDP_GRO on a new socket.
func trains() (gso, gro bool) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false, false
	}
	defer unix.Close(fd)
	const segment = 1200 // any valid size
	return unix.SetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_SEGMENT, segment) == nil,
		unix.SetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_GRO, 1) == nil
}

func (f *Facts) lookLimits() {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) == nil {
		f.Descriptors = r.Max // the daemon raises its own limit to this
	}
	var t unix.Timex
	_, err := unix.Adjtimex(&t)
	f.ClockSynchronised = err != nil || t.Status&unix.STA_UNSYNC == 0
	f.Container = inContainer()
}

func (f *Facts) lookSysctls(root string) {
	read := func(name string, missing int) int {
		b, err := os.ReadFile(filepath.Join(root, name))
		n, e := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil || e != nil {
			return missing
		}
		return n
	}
	f.ReceiveMost, f.SendMost = read("core/rmem_max", wantReceive), read("core/wmem_max", wantSend)
	f.Conntrack, f.ConntrackMost = read("netfilter/nf_conntrack_count", 0), read("netfilter/nf_conntrack_max", 0)
	f.Forwarding = read("ipv4/ip_forward", 0) == 1 || read("ipv6/conf/all/forwarding", 0) == 1
	f.MultipathHash = [2]int{read("ipv4/fib_multipath_hash_policy", 1), read("ipv6/fib_multipath_hash_policy", 1)}
	f.IPv6 = read("ipv6/conf/all/disable_ipv6", 1) == 0
	// There are two settings, that of "all" and that of the interface. A host accepts redirects if
	// either of them allows it, and a router only if both do (ip-sysctl). If secure_redirects is on
	// in either of them, only redirects from a gateway are accepted.
	conf := func(device, name string, missing int) bool {
		return read(filepath.Join("ipv4/conf", device, name), missing) == 1
	}
	router := read("ipv4/ip_forward", 0) == 1
	names, _ := os.ReadDir(filepath.Join(root, "ipv4/conf"))
	for _, n := range names {
		f.ReversePath[n.Name()] = read(filepath.Join("ipv4/conf", n.Name(), "rp_filter"), 0)
		if d := n.Name(); d != "all" && d != "default" && d != "lo" {
			all, one := conf("all", "accept_redirects", 0), conf(d, "accept_redirects", 0)
			believed := all && one || !router && (all || one)
			f.Redirects = f.Redirects || believed && !conf("all", "secure_redirects", 1) && !conf(d, "secure_redirects", 1)
		}
	}
}

// inContainer reports whether this is a container. It looks for files and variables that
// systemd-nspawn, LXC, Docker, Podman and Kubernetes create in a container.
func inContainer() bool {
	for _, file := range []string{"/run/systemd/container", "/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(file); err == nil {
			return true
		}
	}
	return os.Getenv("container") != "" || os.Getenv("KUBERNETES_SERVICE_HOST") != ""
}
