package daemon

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"strings"
)

// resolved is a path that exists while systemd-resolved runs. Programs of systemd check the same
// path.
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

// useDNS makes the host use the configured resolvers. If dns includes addresses, all queries are
// sent to them, as with wg-quick(8), because a query outside the tunnel would reveal the user's
// destinations.
func (p *programs) useDNS(ctx context.Context) error {
	servers, domains := resolvers(p.running.cfg().Interface.DNS)
	if len(servers)+len(domains) == 0 {
		return nil
	}
	link := p.device.tun.Name()
	if p.resolver = toolOf(); p.resolver == noTool {
		return errNoResolver
	}
	if p.resolver == resolvectl {
		if err := p.command(ctx, "", append([]string{resolvectl, "dns", link}, servers...)...); err != nil {
			return err
		}
		if len(servers) > 0 {
			domains = append(domains, "~.")
		}
		return p.command(ctx, "", append([]string{resolvectl, "domain", link}, domains...)...)
	}
	var text strings.Builder
	for _, a := range servers {
		text.WriteString("nameserver " + a + "\n")
	}
	if len(domains) > 0 {
		text.WriteString("search " + strings.Join(domains, " ") + "\n")
	}
	return p.command(ctx, text.String(), resolvconf, "-a", "tun."+link, "-m", "0", "-x")
}

func (p *programs) leaveDNS(ctx context.Context) error {
	if len(p.running.cfg().Interface.DNS) == 0 {
		return nil
	}
	if p.resolver == "" { // otherwise the previous process has set the resolvers
		p.resolver = toolOf()
	}
	if p.resolver == noTool {
		return nil
	}
	if p.resolver == resolvectl {
		return p.command(ctx, "", resolvectl, "revert", p.device.tun.Name())
	}
	return p.command(ctx, "", resolvconf, "-d", "tun."+p.device.tun.Name(), "-f")
}

// These constants are the programs that set the host's resolvers.
const (
	resolvectl = "resolvectl"
	resolvconf = "resolvconf"
	noTool     = "none"
)

var errNoResolver = errors.New("this host has neither a running systemd-resolved nor resolvconf: install systemd-resolved, or openresolv")

// toolOf chooses the program for each call, because systemd-resolved may start and stop while
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
