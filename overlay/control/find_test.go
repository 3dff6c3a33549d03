package control

import "testing"

func TestFindPeer(t *testing.T) {
	st := Status{Peers: []Peer{
		{Name: "hub", PublicKey: "K1=", AllowedIPs: []string{"10.80.0.0/24", "0.0.0.0/0", "fd80::/64"}},
		{Name: "db", PublicKey: "K2=", AllowedIPs: []string{"10.80.0.2/32", "fd80::2/128"}},
		{Name: "10.80.0.3", PublicKey: "K3="}, // Find takes an address for an inner one, not for this name
		{PublicKey: "K4=", AllowedIPs: []string{"nonsense", "10.80.0.4/32"}},
	}}
	for who, want := range map[string]string{
		"hub": "K1=", "K2=": "K2=", "10.80.0.2": "K2=", "10.80.0.77": "K1=", "192.0.2.1": "K1=", "10.80.0.3": "K1=",
		"fd80::2": "K2=", "fd80:0::0002": "K2=", "fd80::3": "K1=", "10.80.0.4": "K4=",
		"fd99::1": "", "": "", "nobody": "", "10.80.0.0/24": "", "::ffff:10.80.0.2": "",
	} {
		got := ""
		if p := st.Find(who); p != nil {
			got = p.PublicKey
		}
		if got != want {
			t.Errorf("%q: %q, want %q", who, got, want)
		}
	}
}
