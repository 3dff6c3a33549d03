package fabric

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// faultTable is the nftables table that implements the fault of a spine.
const faultTable = "inet fault"

// Break makes spine n, counted from 1, drop all packets silently. The spine's links stay up and
// the spine answers its neighbours, but it forwards no packet.
func (f *Fabric) Break(n int) error { return f.fault(n, "drop", "") }

// Lossy makes spine n, counted from 1, drop permille of 1000 packets at random.
func (f *Fabric) Lossy(n, permille int) error {
	return f.fault(n, "accept", fmt.Sprintf("add rule %s f numgen random mod 1000 < %d drop\n", faultTable, permille))
}

// Bleach makes spine n, counted from 1, clear the ECN field of forwarded IPv4 packets. RFC 3168
// forbids clearing the ECN field, but some routers do it.
func (f *Fabric) Bleach(n int) error {
	return f.fault(n, "accept", fmt.Sprintf("add rule %s f ip ecn set not-ect\n", faultTable))
}

// Heal ends the effects of Break, Lossy and Bleach on all spines.
func (f *Fabric) Heal() error {
	var all error
	for _, s := range f.Spines {
		_, err := s.nft("add table " + faultTable + "\ndelete table " + faultTable + "\n")
		all = errors.Join(all, err)
	}
	return all
}

func (f *Fabric) fault(n int, policy, rule string) error {
	if n < 1 || n > len(f.Spines) {
		return fmt.Errorf("fabric: there is no spine %d", n)
	}
	_, err := f.Spines[n-1].nft(fmt.Sprintf("add table %[1]s\ndelete table %[1]s\nadd table %[1]s\n"+
		"add chain %[1]s f { type filter hook forward priority 0; policy %[2]s; }\n%[3]s", faultTable, policy, rule))
	return err
}

// nft applies nftables commands as one transaction.
func (n *Namespace) nft(lines string) (string, error) {
	cmd := n.Command("nft", "-f", "-")
	cmd.Stdin = strings.NewReader(lines)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("nft in %s: %w: %s", n.Name, err, out)
	}
	return string(out), nil
}

// Report describes the forwarded bytes and the fault of each spine, for the log of a failed test.
func (f *Fabric) Report() string {
	var b strings.Builder
	sent, err := f.Counters()
	fmt.Fprintf(&b, "bytes from leaf A to each spine: %d, %v\n", sent, err)
	for i, s := range f.Spines {
		rules, err := s.nft("list ruleset\n")
		if rules = strings.Join(strings.Fields(rules), " "); rules != "" || err != nil {
			fmt.Fprintf(&b, "spine %d: %s, %v\n", i+1, rules, err)
		}
	}
	return b.String()
}

// Counters returns the number of bytes that leaf A has sent to each spine.
func (f *Fabric) Counters() ([]uint64, error) {
	sent := make([]uint64, len(f.Spines))
	err := f.LeafA.Do(func() error {
		// A new netlink handle belongs to the namespace of the calling thread.
		h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		defer h.Close()
		for s := range sent {
			link, err := h.LinkByName(fmt.Sprintf("s%d", s+1))
			if err != nil {
				return err
			}
			sent[s] = link.Attrs().Statistics.TxBytes
		}
		return nil
	})
	return sent, err
}

// Busiest returns the number of the spine, counted from 1, that received most bytes from leaf A
// since the given Counters. If since is nil, Busiest counts from the beginning.
func (f *Fabric) Busiest(since []uint64) (int, error) {
	now, err := f.Counters()
	if err != nil {
		return 0, err
	}
	best, most := 1, uint64(0)
	for s, v := range now {
		if since != nil {
			v -= since[s]
		}
		if v > most {
			best, most = s+1, v
		}
	}
	return best, nil
}
