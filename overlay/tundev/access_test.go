package tundev

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAccessErrorsSayWhatHelps(t *testing.T) {
	for err, want := range map[unix.Errno]string{
		unix.ENOENT: "modprobe tun",
		unix.ENODEV: "modprobe tun",
		unix.EPERM:  "--device /dev/net/tun",
		unix.EACCES: "chmod 666 /dev/net/tun",
	} {
		got := accessError(err)
		if !strings.Contains(got.Error(), want) || !strings.HasPrefix(got.Error(), "/dev/net/tun: ") || strings.Contains(got.Error(), "\n") {
			t.Errorf("%v: %v", err, got)
		}
		if !errors.Is(got, err) {
			t.Errorf("%v is not found in %v", err, got)
		}
	}
	if !errors.Is(accessError(unix.EACCES), fs.ErrPermission) {
		t.Error("a permission that is missing is not known as one")
	}
}
