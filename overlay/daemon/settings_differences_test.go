package daemon

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/config"
)

// However much the owner of drop-in files changes, the reply to root's reload stays small enough
// for the client. It contains all of root's own changes.
func TestGuestsChangesFillNoAnswer(t *testing.T) {
	long := strings.Repeat("\u2028", 20<<10)
	var diff []config.Change
	for i := range 4096 {
		diff = append(diff, config.Change{Key: fmt.Sprintf("peer.g%d", i), New: long, Live: true, Guest: true})
		if i%64 == 0 {
			diff = append(diff, config.Change{Key: fmt.Sprintf("peer.r%d", i), New: "x", Live: true})
		}
	}
	got := differences(diff)
	roots := 0
	for _, d := range got {
		if strings.HasPrefix(d.Key, "peer.r") {
			roots++
		}
	}
	last := got[len(got)-1]
	if roots != 64 || len(got) != 64+guestDifferences+1 || last.Text != fmt.Sprintf("~ %d more changes", 4096-guestDifferences) || !last.Live {
		t.Errorf("%d of root's, %d in all, the last is %q", roots, len(got), last.Text)
	}
	if text, err := json.Marshal(got); err != nil || len(text) > 1<<20 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	for i := range diff {
		diff[i].Guest, diff[i].Old, diff[i].Live = false, "y", i == 0
	}
	got = differences(diff)
	if text, err := json.Marshal(got); err != nil || len(text) > 16<<20 || !strings.HasSuffix(got[len(got)-1].Text, "more changes (some need a restart)") || got[len(got)-1].Live {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}
