package netconf

import (
	"errors"
	"os"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// redirectStep prevents that the kernel sends ICMP redirects into the tunnel. A hub forwards
// packets between spokes through one interface, so the kernel would redirect the spokes to each
// other. But spokes cannot reach each other directly, because they share no link (RFC 1812 section
// 5.2.7.2). WireGuard's interfaces send no redirects either.
type redirectStep struct{ link netlink.Link }

const (
	// sendRedirects is IPV4_DEVCONF_SEND_REDIRECTS of linux/ip.h. The attribute inetConf is
	// IFLA_INET_CONF of linux/if_link.h.
	sendRedirects = 6
	inetConf      = 1

	sysctlIPv4 = "/proc/sys/net/ipv4/"
)

func (s redirectStep) do(*netlink.Handle) error {
	// A service that cannot write to /proc/sys can still change the redirect setting by netlink.
	req := nl.NewNetlinkRequest(unix.RTM_SETLINK, unix.NLM_F_ACK)
	msg := nl.NewIfInfomsg(unix.AF_UNSPEC)
	msg.Index = int32(s.link.Attrs().Index)
	req.AddData(msg)
	spec := nl.NewRtAttr(unix.IFLA_AF_SPEC, nil)
	conf := spec.AddRtAttr(unix.AF_INET, nil).AddRtAttr(inetConf, nil)
	conf.AddRtAttr(sendRedirects, nl.Uint32Attr(0))
	req.AddData(spec)
	// The error is ignored. If the kernel refuses the setting, it sends redirects, which do little
	// harm.
	_, _ = req.Execute(unix.NETLINK_ROUTE, 0)
	return nil
}

// undo does nothing, because the redirect setting ends with the interface.
func (s redirectStep) undo(*netlink.Handle) error { return nil }

// allowNoRedirects makes the interface's own send_redirects setting effective. The kernel sends
// redirects if the interface's setting or the setting of "all" is on, so allowNoRedirects turns
// "all" off. It does not change the send_redirects settings of other interfaces. The setting of
// "all" stays off after the tunnel's end, as with WireGuard. If allowNoRedirects cannot turn the
// setting off and the host forwards packets, allowNoRedirects returns a warning.
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
