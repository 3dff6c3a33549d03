package netconf

import (
	"testing"

	"github.com/vishvananda/netlink"
)

// Before a plan is applied, Existing returns the routes that the kernel would refuse, because
// another interface has them in the same table.
func TestExistingRoutesAreKnownBefore(t *testing.T) {
	host(t)
	other := tun(t, "other0")
	tun(t, "srd0")
	plan := func(routes ...string) Plan {
		return Plan{Link: "srd0", StateFile: stateFile(t, "srd0"), Routes: prefixes(routes...)}
	}
	halves := []string{"0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1"}
	if v := plan(halves...).Existing(); len(v) != 0 {
		t.Errorf("without routes: %v", v)
	}
	for _, half := range prefixes(halves...) {
		must(t, (routeStep{Prefix: half, Table: tableMain, Link: "other0", Index: other.Attrs().Index}).do(new(netlink.Handle)))
	}
	for _, half := range halves {
		v := plan(half, "10.99.0.0/16").Existing()
		_, err := Apply(plan(half, "10.99.0.0/16"))
		if len(v) != 1 || err == nil || "interface srd0: "+v[0].Error() != err.Error() {
			t.Errorf("%s: told %v, and the start says %v", half, v, err)
		}
	}
	for _, p := range []Plan{plan("0.0.0.0/0", "10.99.0.0/16", "::/0"), {Link: "other0", Routes: prefixes(halves...)}, {Link: "srd0", Routes: prefixes(halves...), Table: Table{ID: 4711}}, {Link: "srd0", Routes: prefixes(halves...), Table: Table{Off: true}}} {
		if v := p.Existing(); len(v) != 0 {
			t.Errorf("%+v: %v", p, v)
		}
	}
}
