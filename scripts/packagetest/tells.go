package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// The constants are priorities in the journal (syslog(3)).
const (
	warning = "4"
	notice  = "5"
)

// told searches the journal of the service for a message with the given priority.
func told(priority, text string) bool {
	out, err := output("journalctl", "--quiet", "--no-pager", "-u", lab, "-o", "json")
	if err != nil {
		return false
	}
	for line := range strings.Lines(out) {
		var entry struct {
			Message  string `json:"MESSAGE"`
			Priority string `json:"PRIORITY"`
		}
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Priority == priority && strings.Contains(entry.Message, text) {
			return true
		}
	}
	return false
}

// tells interrupts the network between the two hosts for some time. The service must report the
// interruption in its journal.
func (h *host) tells() error {
	link := func(to string) error {
		_, err := output("ip", "-n", "far", "link", "set", "v1", to)
		return err
	}
	defer func() { _ = link("up") }() // the next checks need the link
	for _, c := range []struct{ to, priority, text string }{
		{"down", notice, "peer-silent: peer "}, // the peer has no endpoints
		{"up", notice, "peer-answers: peer "},
	} {
		if err := link(c.to); err != nil {
			return err
		}
		if err := until("the journal has "+c.text, func() bool { return told(c.priority, c.text) }); err != nil {
			return err
		}
	}
	return h.flows()
}

// reloads changes the configuration file of a running service. The service must apply and report
// a valid change, and must not apply or report an invalid change.
func (h *host) reloads() error {
	const file = "/etc/srdtun/lab.toml"
	right, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	public, err := newPeerKey()
	if err != nil {
		return err
	}
	more := fmt.Sprintf("%s[[peer]]\nname = \"third\"\npublic_key = %q\nallowed_ips = \"10.9.0.3/32\"\n", right, public)
	if err := os.WriteFile(file, []byte(more), 0o600); err != nil {
		return err
	}
	if out, err := output("systemctl", "reload", lab); err != nil {
		return fmt.Errorf("systemctl reload: %s: %w", out, err)
	}
	shown, err := output("srdtun", "show", "lab")
	if err != nil || !strings.Contains(shown, "third") {
		return fmt.Errorf("the new peer is not there: %v, %s", err, shown)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(more, "allowed_ips", "allowed_ip", 1)), 0o600); err != nil {
		return err
	}
	if out, err := output("systemctl", "reload", lab); err == nil {
		return fmt.Errorf("a wrong file was taken: %s", out)
	}
	if now, err := output("srdtun", "show", "lab"); err != nil || !strings.Contains(now, "third") || !active(lab) {
		return fmt.Errorf("a wrong file changed something: %v, %s", err, now)
	}
	if err := os.WriteFile(file, right, 0o600); err != nil {
		return err
	}
	if out, err := output("systemctl", "reload", lab); err != nil {
		return fmt.Errorf("systemctl reload: %s: %w", out, err)
	}
	if err := until("the journal has the change", func() bool { return told(notice, "config-changed: changed") }); err != nil {
		return err
	}
	if now := index(); now != h.index {
		return fmt.Errorf("device %s was %s", now, h.index)
	}
	return h.flows()
}
