package daemon

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"strings"
)

// resolved is there while systemd-resolved runs, sd-resolve's own test.
const resolved = "/run/systemd/resolve"

// resolvers splits interface.dns into addresses and search domains.
func resolvers(dns []string) (servers, domains []string) {
	for _, d := range dns {
		if _, err := netip.ParseAddr(d); err == nil {
			servers = append(servers, d)
		} else {
			domains = append(domains, d)
		}
	}
	return servers, domains
}

// useDNS has the host ask the configured resolvers. With addresses among them, all names
// are asked of them, as with wg-quick(8): a question beside the tunnel would tell where
// its user goes.
func (pr *programs) useDNS(ctx context.Context) error {
	servers, domains := resolvers(pr.running.cfg().Interface.DNS)
	if len(servers)+len(domains) == 0 {
		return nil
	}
	link := pr.device.tun.Name()
	if pr.resolver = toolOf(); pr.resolver == noTool {
		return errNoResolver
	}
	if pr.resolver == resolvectl {
		if err := pr.command(ctx, "", append([]string{resolvectl, "dns", link}, servers...)...); err != nil {
			return err
		}
		if len(servers) > 0 {
			domains = append(domains, "~.")
		}
		return pr.command(ctx, "", append([]string{resolvectl, "domain", link}, domains...)...)
	}
	var text strings.Builder
	for _, a := range servers {
		text.WriteString("nameserver " + a + "\n")
	}
	if len(domains) > 0 {
		text.WriteString("search " + strings.Join(domains, " ") + "\n")
	}
	return pr.command(ctx, text.String(), resolvconf, "-a", "tun."+link, "-m", "0", "-x")
}

// leaveDNS undoes useDNS.
func (pr *programs) leaveDNS(ctx context.Context) error {
	if len(pr.running.cfg().Interface.DNS) == 0 {
		return nil
	}
	if pr.resolver == "" { // set by the process before
		pr.resolver = toolOf()
	}
	if pr.resolver == noTool {
		return nil
	}
	if pr.resolver == resolvectl {
		return pr.command(ctx, "", resolvectl, "revert", pr.device.tun.Name())
	}
	return pr.command(ctx, "", resolvconf, "-d", "tun."+pr.device.tun.Name(), "-f")
}

// The programs that the host's resolvers are set with.
const (
	resolvectl = "resolvectl"
	resolvconf = "resolvconf"
	noTool     = "none"
)

var errNoResolver = errors.New("this host has neither a running systemd-resolved nor resolvconf: install systemd-resolved, or openresolv")

// toolOf tells which of them it is here and now: systemd-resolved may come and go while
// the tunnel is up.
func toolOf() string {
	_, err := exec.LookPath(resolvectl)
	if _, running := os.Stat(resolved); err == nil && running == nil {
		return resolvectl
	}
	if _, err := exec.LookPath(resolvconf); err != nil {
		return noTool
	}
	return resolvconf
}
