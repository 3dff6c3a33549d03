package netconf

import (
	"errors"
	"os"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// redirectStep keeps the kernel from sending ICMP redirects into the tunnel. A hub
// forwards from one spoke to another by the same interface, and would tell the spokes to
// talk to each other directly, which they cannot (RFC 1812 section 5.2.7.2 is about hosts
// on one link). Interfaces of WireGuard send none either.
type redirectStep struct{ link netlink.Link }

const (
	// sendRedirects is IPV4_DEVCONF_SEND_REDIRECTS of linux/ip.h, and inetConf
	// IFLA_INET_CONF of linux/if_link.h.
	sendRedirects = 6
	inetConf      = 1

	sysctlIPv4 = "/proc/sys/net/ipv4/"
)

func (s redirectStep) do(*netlink.Handle) error {
	// By netlink, which a service may use that cannot write to /proc/sys.
	req := nl.NewNetlinkRequest(unix.RTM_SETLINK, unix.NLM_F_ACK)
	msg := nl.NewIfInfomsg(unix.AF_UNSPEC)
	msg.Index = int32(s.link.Attrs().Index)
	req.AddData(msg)
	spec := nl.NewRtAttr(unix.IFLA_AF_SPEC, nil)
	conf := spec.AddRtAttr(unix.AF_INET, nil).AddRtAttr(inetConf, nil)
	conf.AddRtAttr(sendRedirects, nl.Uint32Attr(0))
	req.AddData(spec)
	// A kernel that refuses sends redirects, which is a nuisance and no more.
	_, _ = req.Execute(unix.NETLINK_ROUTE, 0)
	return nil
}

// undo has nothing to do: the setting ends with the interface.
func (s redirectStep) undo(*netlink.Handle) error { return nil }

// allowNoRedirects lets the interface's own setting count: the kernel sends redirects
// where that or the one of "all" says so. As the other interfaces' own settings go on to
// count, nothing changes for them, and it stays so afterwards, as after WireGuard. It
// returns a remark where that is not possible and matters.
func allowNoRedirects(link string) []string {
	const all = sysctlIPv4 + "conf/all/send_redirects"
	if v, err := os.ReadFile(all); err != nil || strings.TrimSpace(string(v)) == "0" {
		return nil
	}
	err := os.WriteFile(all, []byte("0"), 0)
	forwards, _ := os.ReadFile(sysctlIPv4 + "ip_forward")
	if err == nil || strings.TrimSpace(string(forwards)) != "1" {
		return nil
	}
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return []string{"peers that talk to each other by this host are sent ICMP redirects; sysctl net.ipv4.conf.all.send_redirects=0 ends that for " +
		link + " (" + err.Error() + ")"}
}
