package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/srdtun/srdtun/cmd/srdtun/internal/view"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
)

func topOf(st control.Status) *topModel {
	m := &topModel{at: rundir.Place{Device: st.Interface}, screen: view.Top{ASCII: true}, width: 80, height: 24}
	m.screen.Feed(time.Unix(1000, 0), &st)
	return m
}

// The keys of the keyboard have the effects that the last line describes. An unknown key has no
// effect.
func TestTopKeys(t *testing.T) {
	m := topOf(sample("srd0"))
	m.Update(tea.KeyPressMsg{Code: tea.KeyTab})
	if s := m.View().Content; !strings.Contains(s, "peer hub (2 of 2)") || !strings.Contains(s, "q quit  p single paths") {
		t.Errorf("after tab:\n%s", s)
	}
	m.Update(tea.KeyPressMsg{Code: 'p', Text: "p"})
	if s := m.View().Content; !strings.Contains(s, "?    17  192.0.2.2:40001") {
		t.Errorf("after p:\n%s", s)
	}
	for _, k := range []tea.KeyPressMsg{{Code: tea.KeyUp}, {Code: tea.KeyPgDown}, {Code: 'z', Text: "z"}, {Code: tea.KeyDown}} {
		if _, cmd := m.Update(k); cmd != nil {
			t.Errorf("%v does something", k)
		}
	}
	for _, k := range []tea.KeyPressMsg{{Code: 'q', Text: "q"}, {Code: 'c', Mod: tea.ModCtrl}, {Code: tea.KeyEscape}} {
		_, cmd := m.Update(k)
		if cmd == nil {
			t.Errorf("%v does not quit", k)
			continue
		}
		if _, quits := cmd().(tea.QuitMsg); !quits {
			t.Errorf("%v does not quit", k)
		}
	}
}

// When the daemon has ended, the screen says so and keeps the last status. The screen fits the
// terminal's size.
func TestTopOfAnEndedDaemon(t *testing.T) {
	m := topOf(sample("srd0"))
	m.Update(tea.WindowSizeMsg{Width: 60, Height: 12})
	_, again := m.Update(answer{err: errors.New("srd0 is not running"), at: time.Unix(1001, 0)})
	s := m.View().Content
	if again == nil || !strings.Contains(s, "srd0 is not running\n") || !strings.Contains(s, "peer spoke (1 of 2)") {
		t.Errorf("%s", s)
	}
	if n := strings.Count(s, "\n") + 1; n != 12 {
		t.Errorf("%d lines of 12", n)
	}
	st := sample("srd0")
	m.Update(answer{status: &st, at: time.Unix(1002, 0)})
	if s := m.View().Content; strings.Contains(s, "not running") {
		t.Errorf("it runs again:\n%s", s)
	}
}
