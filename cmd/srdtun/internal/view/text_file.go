package view

import (
	"strings"

	"github.com/srdtun/srdtun/overlay/control"
)

// conflicts prints the outer packets that go into a tunnel.
func (t *text) conflicts(st *control.Status) {
	for _, line := range st.Conflicts {
		t.field(t.style(styleRed, "conflict"), "%s", line)
	}
}

// differences prints the keys in which the running configuration differs from the file.
func (t *text) differences(st *control.Status) {
	if len(st.Unsaved) > 0 {
		t.field("differs from the file", "%s", strings.Join(st.Unsaved, ", "))
	}
	if len(st.Pending) > 0 {
		t.field("needs a restart", "%s", strings.Join(st.Pending, ", "))
	}
}
