package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/overlay/control"
)

// well returns the facts of a host without faults.
func well() *Facts {
	return &Facts{
		Kernel: "6.18.5", Processors: 8, NetAdmin: true, GSO: true, GRO: true, ReceiveMost: 212992, SendMost: 212992,
		Descriptors: 1 << 20, ClockSynchronised: true, Conntrack: 100, ConntrackMost: 262144, MultipathHash: [2]int{1, 1}, IPv6: true,
		ReversePath: map[string]int{"all": 0, "eth0": 2, "eth1": 2},
	}
}

var plan = Plan{SourcePorts: 32, Uplinks: []string{"eth0", "eth1"}, ListenPort: 51820}

func TestNothingToSayOfAHostThatIsWell(t *testing.T) {
	for _, f := range Judge(well(), plan) {
		if f.Level != OK || f.Advice != "" || f.Why != "" || f.Saw == "" {
			t.Errorf("%+v", f)
		}
	}
}

func TestEachFaultHasItsAdvice(t *testing.T) {
	for _, c := range []struct {
		name   string
		harm   func(*Facts)
		check  string
		level  Level
		advice string
	}{
		{"no device", func(f *Facts) { f.Tun = TunMissing }, "TUN device", Fault, "modprobe tun"},
		{"its mode", func(f *Facts) { f.Tun, f.TunMode = TunRefused, 0o600 }, "TUN device", Fault, "chmod 666"},
		{"no privileges", func(f *Facts) { f.NetAdmin, f.ReceiveMost, f.SendMost = false, 8<<20, 4<<20 }, "privileges", Warning, "systemctl start"},
		{"an old kernel", func(f *Facts) { f.Kernel = "6.1.0-18-amd64" }, "kernel", Warning, "6.2"},
		{"an older kernel", func(f *Facts) { f.Kernel = "5.10.0" }, "kernel", Warning, "6.2"},
		{"no trains", func(f *Facts) { f.GSO, f.GRO = false, false }, "UDP trains", Warning, "gVisor"},
		{"many ports", func(f *Facts) { f.Descriptors = 100 }, "descriptors", Fault, "LimitNOFILE"},
		{"one processor", func(f *Facts) { f.Processors = 1 }, "processors", Warning, "two"},
		{"a free clock", func(f *Facts) { f.ClockSynchronised = false }, "clock", Warning, "timesyncd"},
		{"a full table", func(f *Facts) { f.Conntrack = 250000 }, "connection tracking", Warning, "nf_conntrack_max=1048576"},
		{"strict for one", func(f *Facts) { f.ReversePath["eth1"] = 1 }, "reverse path filter", Warning, "conf.eth1.rp_filter=2"},
		{"anybody's redirects", func(f *Facts) { f.Redirects = true }, "ICMP redirects", Warning, "accept_redirects=0"},
		{"a router", func(f *Facts) { f.Forwarding, f.MultipathHash = true, [2]int{0, 1} }, "multipath hash", Warning, "hash_policy=1"},
		{"no IPv6", func(f *Facts) { f.IPv6 = false }, "IPv6", Warning, "disable_ipv6=0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := well()
			c.harm(f)
			for _, v := range Judge(f, plan) {
				switch {
				case v.Check != c.check && v.Level != OK:
					t.Errorf("%+v", v)
				case v.Check == c.check && (v.Level != c.level || !strings.Contains(v.Advice, c.advice) || v.Why == ""):
					t.Errorf("%+v, want %v and %q", v, c.level, c.advice)
				}
			}
			if w := Worst(Judge(f, plan)); w != c.level {
				t.Errorf("the worst is %v", w)
			}
		})
	}
}

func TestBuffersMatterToWhoCannotGoBeyond(t *testing.T) {
	f := well()
	f.NetAdmin = false
	for _, v := range Judge(f, plan) {
		if v.Check == "UDP buffers" && (v.Level != Warning || !strings.Contains(v.Advice, "rmem_max=8388608")) {
			t.Errorf("%+v", v)
		}
	}
}

func TestInnerTCPInSinglePackets(t *testing.T) {
	for _, c := range []struct {
		name   string
		device control.Device
		level  Level
		text   string // part of the finding's text
	}{
		{"super-frames", control.Device{ReadSuperFrames: 1600, ReadSingles: 1800}, OK, "no running tunnel"},
		{"few", control.Device{ReadSingles: 900}, OK, "no running tunnel"},
		{"single packets", control.Device{ReadSuperFrames: 10, ReadSingles: 4000, ReadAccECN: 1}, Warning, "ethtool -K lab tso on"},
		{"AccECN", control.Device{ReadSuperFrames: 10, ReadSingles: 4000, ReadAccECN: 3900}, Warning, "tcp_ecn=2"},
		{"by the configuration", control.Device{NoOffload: true, ReadSingles: 4000}, OK, "because offload = false"},
	} {
		p := plan
		p.Running = []Device{{"other", control.Device{}}, {"lab", c.device}}
		for _, v := range Judge(well(), p) {
			if v.Check == "inner TCP" && (v.Level != c.level || !strings.Contains(v.Saw+v.Advice, c.text)) {
				t.Errorf("%s: %+v", c.name, v)
			}
		}
	}
}

func TestSysctlsAreRead(t *testing.T) {
	root := t.TempDir()
	for name, value := range map[string]string{
		"core/rmem_max": "1000\n", "netfilter/nf_conntrack_count": "7\n", "netfilter/nf_conntrack_max": "8\n", "ipv4/ip_forward": "1\n",
		"ipv4/fib_multipath_hash_policy": "0\n", "ipv6/conf/all/disable_ipv6": "0\n", "ipv4/conf/eth0/rp_filter": "1\n", "core/wmem_max": "nonsense",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := &Facts{ReversePath: map[string]int{}}
	f.lookSysctls(root)
	if f.ReceiveMost != 1000 || f.SendMost != wantSend || f.Conntrack != 7 || f.ConntrackMost != 8 || !f.Forwarding ||
		f.MultipathHash != [2]int{0, 1} || !f.IPv6 || f.ReversePath["eth0"] != 1 {
		t.Errorf("%+v", f)
	}
}

// The kernel's document ip-sysctl specifies which redirects a host accepts.
func TestRedirects(t *testing.T) {
	for _, c := range []struct {
		name                 string
		forward              string
		all, one             string // accept_redirects
		secureAll, secureOne string
		want                 bool
	}{
		{"a host as it comes", "0", "1", "1", "1", "1", false},
		{"of anybody", "0", "0", "1", "0", "0", true},
		{"a gateway's for one", "0", "1", "1", "0", "1", false},
		{"none", "0", "0", "0", "0", "0", false},
		{"a router of which one says so", "1", "0", "1", "0", "0", false},
		{"a router of which both do", "1", "1", "1", "0", "0", true},
	} {
		root := t.TempDir()
		for name, value := range map[string]string{
			"ipv4/ip_forward": c.forward, "ipv4/conf/all/accept_redirects": c.all, "ipv4/conf/eth0/accept_redirects": c.one,
			"ipv4/conf/all/secure_redirects": c.secureAll, "ipv4/conf/eth0/secure_redirects": c.secureOne,
		} {
			file := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(value+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f := &Facts{ReversePath: map[string]int{}}
		if f.lookSysctls(root); f.Redirects != c.want {
			t.Errorf("%s: %v", c.name, f.Redirects)
		}
	}
}

func TestTunDevice(t *testing.T) {
	f := &Facts{}
	if f.lookTun(filepath.Join(t.TempDir(), "tun")); f.Tun != TunMissing {
		t.Error("a file that is not there is no device")
	}
}

// The test checks that Look works. It makes no claim about the host on which it runs.
func TestLook(t *testing.T) {
	if f := Look(); f.Kernel == "" || f.Processors < 1 || f.Descriptors == 0 || f.ReceiveMost == 0 {
		t.Errorf("%+v", f)
	}
}

// A container cannot set the clock, so there is no warning.
func TestClockOfAContainer(t *testing.T) {
	f := well()
	f.ClockSynchronised, f.Container = false, true
	for _, v := range Judge(f, plan) {
		if v.Check == "clock" && (v.Level != OK || v.Advice != "" || v.Saw == "it is synchronised") {
			t.Errorf("%+v", v)
		}
	}
}

// If outer packets of one tunnel enter another one, the warning has the names of both.
func TestOtherTunnels(t *testing.T) {
	if v := otherTunnels(nil, Plan{}); v.Level != OK {
		t.Errorf("%+v", v)
	}
	if v := otherTunnels(nil, Plan{Conflicts: []string{"a: into b", "b: into a"}}); v.Level != Warning || v.Saw != "a: into b; b: into a" {
		t.Errorf("%+v", v)
	}
}
