package vmgenid

import (
	"context"
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/internal/netspace"
	"github.com/srdtun/srdtun/internal/uevent"
)

// Only an event from the kernel with the right variable counts. The same event from a program does
// not.
func TestNewMachineIsNoticed(t *testing.T) {
	space := netspace.New(t)
	var m *Notifier
	space.Must(t, func() (err error) { m, err = Open(); return err })
	seen := make(chan bool, 10)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan bool)
	go func() { m.Watch(ctx, func() { seen <- true }); close(done) }()
	for _, other := range [][]string{
		{"change@/devices/x", "ACTION=change", "NEW_VMGENID=10"}, {"change@/devices/x", "ACTION=change", "OLD_NEW_VMGENID=1"},
		{"add@/devices/NEW_VMGENID=1"},
	} {
		space.Must(t, func() error { return uevent.Send(other...) })
	}
	space.Must(t, func() error { return forge(m) })
	space.Must(t, func() error { return uevent.Send(uevent.VMGenID...) })
	select {
	case <-seen:
	case <-time.After(10 * time.Second):
		t.Error("nothing was noticed")
	}
	cancel()
	<-done
	if len(seen) > 0 {
		t.Errorf("%d too many were noticed", len(seen))
	}
}

// forge sends the event to the daemon's socket from a program.
func forge(m *Notifier) error {
	raw, err := m.events.SyscallConn()
	if err != nil {
		return err
	}
	var to unix.Sockaddr
	e := raw.Control(func(fd uintptr) { to, err = unix.Getsockname(int(fd)) })
	if err := errors.Join(e, err); err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// The kernel refuses this call to a user other than root.
	return unix.Sendto(fd, []byte("change@/x\x00NEW_VMGENID=1\x00"), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Pid: to.(*unix.SockaddrNetlink).Pid})
}
