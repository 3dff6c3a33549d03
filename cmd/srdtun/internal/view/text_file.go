package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/srdtun/srdtun/overlay/control"
)

// conflicts prints a line for each case of outer packets that are routed into a tunnel.
func (t *text) conflicts(st *control.Status) {
	for _, line := range st.Conflicts {
		t.field(t.style(styleRed, "conflict"), "%s", line)
	}
}

// faults prints the states in which nothing passes, or less than configured.
func (t *text) faults(st *control.Status) {
	for _, line := range st.Faults {
		t.field(t.style(styleRed, "fault"), "%s", line)
	}
}

// expiredPeers returns the peers that have expired, as text.
func expiredPeers(st *control.Status) (parts []string) {
	for i := range st.Expired {
		e := &st.Expired[i]
		parts = append(parts, fmt.Sprintf("%s at %s", cmp.Or(e.Name, e.PublicKey), time.Unix(e.ExpiredUnixS, 0).UTC().Format(time.RFC3339)))
	}
	return parts
}

// differences prints the keys whose values differ between the running configuration and the file.
func (t *text) differences(st *control.Status) {
	if st.FileStale != "" {
		t.field("file", "%s", st.FileStale)
	}
	if len(st.Unsaved) > 0 {
		t.field("differs from the file", "%s", strings.Join(st.Unsaved, ", "))
	}
	if len(st.Pending) > 0 {
		t.field("needs a restart", "%s", strings.Join(st.Pending, ", "))
	}
}
