package daemon

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// inside is the environment variable that tells the test binary that it runs in a separate network
// namespace.
const inside = "SRDTUN_DAEMON_TEST_INSIDE"

// TestMain runs the tests in another process. Because a daemon has many threads, all threads of
// this process are in a separate network namespace. It also has its own /run.
func TestMain(m *testing.M) {
	if os.Getenv(inside) == "" {
		c := exec.Command("/proc/self/exe", os.Args[1:]...)
		c.Env = append(os.Environ(), inside+"=1")
		c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
		if err := c.Run(); err != nil {
			fmt.Fprintf(os.Stderr, "the tests in a network namespace of their own: %v\n", err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(poor) == "" { // otherwise it stays in the namespaces of its parent
		err := errors.Join(unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("none", "/run", "tmpfs", 0, ""))
		if err != nil {
			fmt.Fprintf(os.Stderr, "/run: %v\n", err)
			os.Exit(1)
		}
	}
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "lo: %v\n", err)
		os.Exit(1)
	}
	if os.Getenv(poor) != "" {
		if err := impoverish(); err != nil {
			fmt.Fprintf(os.Stderr, "seccomp: %v\n", err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

// state returns everything that a daemon could leave behind: devices, addresses, routes, rules, UDP
// sockets, open files, and files in its run directory.
func state(t *testing.T, run string) (v []string) {
	t.Helper()
	add := func(what string, n int, item func(i int) any, err error) {
		must(t, err)
		for i := range n {
			v = append(v, fmt.Sprintf("%s %v", what, item(i)))
		}
	}
	links, err := netlink.LinkList()
	add("link", len(links), func(i int) any { return links[i].Attrs().Name }, err)
	addrs, err := netlink.AddrList(nil, unix.AF_UNSPEC)
	add("address", len(addrs), func(i int) any { return addrs[i].IPNet }, err)
	routes, err := netlink.RouteListFiltered(unix.AF_UNSPEC, &netlink.Route{}, netlink.RT_FILTER_TABLE)
	add("route", len(routes), func(i int) any { return routes[i] }, err)
	rules, err := netlink.RuleList(unix.AF_UNSPEC)
	add("rule", len(rules), func(i int) any { return rules[i] }, err)
	files, err := os.ReadDir("/proc/self/fd")
	add("descriptors", 1, func(int) any { return len(files) }, err)
	left, err := os.ReadDir(run)
	// A lock file remains. If it were removed, two starting processes could each lock a file of
	// their own.
	left = slices.DeleteFunc(left, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), ".lock") })
	add("file", len(left), func(i int) any { return left[i].Name() }, err)
	return v
}

// addLink creates a network device.
func addLink(t *testing.T, l netlink.Link) netlink.Link {
	t.Helper()
	must(t, netlink.LinkAdd(l))
	t.Cleanup(func() {
		if err := netlink.LinkDel(l); err != nil {
			t.Error(err)
		}
	})
	l, err := netlink.LinkByName(l.Attrs().Name)
	must(t, err)
	must(t, netlink.LinkSetUp(l))
	return l
}

// listen opens a socket that occupies a UDP port.
func listen(t *testing.T, port int) {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{Port: port})
	must(t, err)
	t.Cleanup(func() { c.Close() })
}
