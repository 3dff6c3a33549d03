package e2e

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/linkemu"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// cables joins the cut cables of the fabric. The cable of spine n gets the n-th impairment in both
// directions.
func cables(t *testing.T, f *fabric.Fabric, impairments ...linkemu.Impairment) []*linkemu.Cable {
	t.Helper()
	var all []*linkemu.Cable
	for i, im := range impairments {
		ab, err := linkemu.NewLine(uint64(2*i+1), im)
		must(t, err)
		ba, _ := linkemu.NewLine(uint64(2*i+2), im)
		var c *linkemu.Cable
		must(t, f.Lines[i].Do(func() (err error) { c, err = linkemu.Join("left", "right", ab, ba); return err }))
		t.Cleanup(func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
		all = append(all, c)
	}
	must(t, f.Warm())
	return all
}

// TestDownloadOverImpairedPaths downloads 1 GiB while each path has a different fault. Corrupted
// packets have a correct UDP checksum, so only authentication can detect them.
func TestDownloadOverImpairedPaths(t *testing.T) {
	long(t)
	const size, limit = 1 << 30, 4 * time.Minute
	f := network(t, fabric.Spec{Lines: true})
	joined := cables(t, f,
		linkemu.Impairment{Loss: 0.05},
		linkemu.Impairment{Reorder: 0.1},
		linkemu.Impairment{Duplicate: 0.05},
		linkemu.Impairment{Corrupt: 0.01, FixChecksum: true},
	)
	pair(t, f, tunnel.Config{})
	content, err := meter.Serve(f.B(1), tunnel.Inner4(2), size)
	must(t, err)
	defer content.Close()
	d, err := meter.Curl(f.A(1), content.URL(), limit)
	must(t, err)
	t.Logf("%d bytes in %.1f s: %.0f Mbit/s", d.Bytes, d.Took.Seconds(), float64(d.Bytes)*8e-6/d.Took.Seconds())
	if d.Bytes != size || d.SHA256 != content.SHA256 {
		t.Errorf("SHA-256 %s of %d bytes, want %s of %d", d.SHA256, d.Bytes, content.SHA256, content.Size)
	}
	for i, c := range joined {
		ab, ba := c.Stats()
		t.Logf("path %d: from the server lost %d, reordered %d, duplicated %d, corrupted %d of %d frames; to it %d frames; not carried: %+v",
			i+1, ba.Lost, ba.Reordered, ba.Duplicated, ba.Corrupted, ba.In, ab.In, c.Drops())
		// An unused path would have no affected packets.
		if harmed := ba.Lost + ba.Reordered + ba.Duplicated + ba.Corrupted; harmed < 10 {
			t.Errorf("path %d did only %d times what it was there for", i+1, harmed)
		}
	}
}
