package rivals

import (
	"fmt"

	"github.com/srdtun/srdtun/e2e/tunnel"
)

var (
	srdtun         = srdtunKind("srdtun", "srdtun", tunnel.Config{})
	srdtunMTU9000  = srdtunKind("srdtun-mtu9000", "srdtun, inner MTU 9000", tunnel.Config{MTU: 9000})
	srdtunMTU65520 = srdtunKind("srdtun-mtu65520", "srdtun, inner MTU 65520", tunnel.Config{MTU: 65520})
	srdtun1Path    = srdtunKind("srdtun-1path", "srdtun, 1 path", tunnel.Config{SourcePorts: 1})
	// With one source port, and no local address in the file, srdtun makes one path to each address
	// of the peer. Each of the four paths uses its own cable.
	srdtun4Paths = kind{"srdtun-4paths", "srdtun, 4 paths sprayed", func(b *bench, s *site) (*link, error) {
		return startSrdtun(b, s, tunnel.Config{SourcePorts: 1})
	}}
)

// srdtunKind returns a kind that runs srdtun between the first addresses of both hosts. A setting
// that the configuration c omits has the daemon's default.
func srdtunKind(name, title string, c tunnel.Config) kind {
	return kind{name, title, func(b *bench, s *site) (*link, error) {
		one := *s
		one.a, one.b = oneAddress(s.a), oneAddress(s.b)
		return startSrdtun(b, &one, c)
	}}
}

func startSrdtun(b *bench, s *site, c tunnel.Config) (*link, error) {
	p, err := tunnel.NewPair(b.srdtun, s.a, s.b, c, false)
	if err != nil {
		if p != nil {
			err = fmt.Errorf("%w\n%s", err, p.Report())
		}
		return nil, err
	}
	return &link{to: innerB, dev: p.B.Name, pids: []int{p.A.Pid(), p.B.Pid()}, close: p.Close}, nil
}
