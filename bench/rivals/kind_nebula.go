package rivals

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/srdtun/srdtun/e2e/fabric"
)

var nebula = kind{"nebula", "nebula", startNebula}

// nebulaConfig is the template of one end's configuration file. AES is the faster of nebula's two
// ciphers, and an MTU of 1440 fills outer packets of 1500 bytes. All other settings have the values
// of nebula's example file. The file has the other end's address, so nebula needs no lighthouse.
const nebulaConfig = `pki: {ca: %[1]s/ca.crt, cert: %[1]s/%[2]s.crt, key: %[1]s/%[2]s.key}
static_host_map: {'%[4]s': ['%[5]s:4242']}
lighthouse: {am_lighthouse: false}
listen: {host: 0.0.0.0, port: 4242, routines: 1}
tun: {dev: %[3]s, mtu: 1440, tx_queue: 500}
cipher: aes
logging: {level: warning}
firewall: {outbound: [{port: any, proto: any, host: any}], inbound: [{port: any, proto: any, host: any}]}
`

func startNebula(b *bench, s *site) (*link, error) {
	dir, err := os.MkdirTemp(b.scratch, "nebula")
	if err != nil {
		return nil, err
	}
	d := &daemons{}
	l := &link{to: innerB, dev: fabric.TunnelName("b"), close: func() error {
		return firstError(d.close(), os.RemoveAll(dir))
	}}
	cert := func(args ...string) error {
		cmd := exec.Command(b.tools.nebulaCert, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("nebula-cert %s: %w: %s", args[0], err, out)
		}
		return nil
	}
	if err := cert("ca", "-name", "bench", "-out-crt", "ca.crt", "-out-key", "ca.key"); err != nil {
		return l, err
	}
	for _, e := range []struct {
		name       string
		host, far  *fabric.Host
		addr, peer netip.Addr
	}{{"a", s.a, s.b, innerA, innerB}, {"b", s.b, s.a, innerB, innerA}} {
		if err := cert("sign", "-name", e.name, "-networks", e.addr.String()+"/24", "-ca-crt", "ca.crt", "-ca-key", "ca.key",
			"-out-crt", e.name+".crt", "-out-key", e.name+".key"); err != nil {
			return l, err
		}
		file := filepath.Join(dir, e.name+".yml")
		text := fmt.Sprintf(nebulaConfig, dir, e.name, fabric.TunnelName(e.name), e.peer, e.far.Addr4())
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return l, err
		}
		p, err := e.host.Start(b.tools.nebula, "-config", file)
		if err != nil {
			return l, err
		}
		d.running, l.pids = append(d.running, p), append(l.pids, p.Pid())
	}
	if err := reach(s.a, innerB); err != nil {
		return l, fmt.Errorf("%w\n%s%s", err, d.running[0].Log.String(), d.running[1].Log.String())
	}
	return l, nil
}
