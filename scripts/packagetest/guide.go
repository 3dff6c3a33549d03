package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// guide is the path of the guide (docs/guide.md) in the copy of the root.
const guide = shareDir + "/guide.md"

var (
	fragment    = regexp.MustCompile(`\A(\[[a-z[]|[a-z_]+ = ["\[0-9tf])`)
	placeholder = regexp.MustCompile(`public_key = "PUBLIC KEY[^"]*"`)
	keyOfFile   = regexp.MustCompile(`private_key = "PRIVATE KEY[^"]*"`)
	peersDir    = regexp.MustCompile(`dir = "([^"]+)"`)
	ruleFile    = regexp.MustCompile(`"(/[^"]+\.nft)"`)
)

// standIns replace programs that the guide's recipes need and a minimal Debian lacks. The
// replacement of nft prints its input file.
var standIns = map[string]string{
	"/usr/local/sbin/resolvconf": "#!/bin/sh\ncat >/dev/null\n",
	"/usr/local/sbin/nft":        "#!/bin/sh\nexec cat \"$2\"\n",
}

// recipes runs each configuration of the guide as the service that the README recommends.
func (h *host) recipes() (err error) {
	text, err := os.ReadFile(guide)
	if err != nil {
		return err
	}
	for file, script := range standIns {
		defer os.Remove(file)
		if err := os.WriteFile(file, []byte(script), 0o755); err != nil {
			return err
		}
	}
	n, section := 0, ""
	for _, block := range strings.Split(string(text), "\n\n") {
		if title, ok := strings.CutPrefix(block, "## "); ok {
			section = title
		}
		body := strings.TrimPrefix(strings.ReplaceAll("\n"+block, "\n    ", "\n"), "\n")
		if !strings.HasPrefix(block, "    ") || !fragment.MatchString(body) {
			continue
		}
		n++
		if err := recipe(fmt.Sprintf("guide%d", n), 52000+n, body); err != nil {
			return fmt.Errorf("%s: %w\n%s", section, err, body)
		}
	}
	h.note = fmt.Sprintf(" (%d)", n)
	if n < 8 {
		return fmt.Errorf("%d recipes: this is not the guide", n)
	}
	return errors.Join(refusedRecipes(), pingsAsHook())
}

// pingsAsHook runs ping(8) as a command of a service, on a host that docs/reload.md describes. The
// program drops its rights by setuid(2).
func pingsAsHook() error {
	private, err := output("srdtun", "genkey")
	if err != nil {
		return err
	}
	const file, rule = "/etc/srdtun/pings.toml", "/etc/sysctl.d/50-ping.conf"
	defer os.Remove(rule)
	defer os.Remove(file)
	text := fmt.Sprintf("[interface]\nprivate_key = %q\nlisten_port = 0\naddress = [\"10.6.0.1/24\"]\npost_up = [[\"ping\", \"-c1\", \"10.6.0.1\"]]\n", private)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	for _, command := range []string{
		"echo 'net.ipv4.ping_group_range = 0 2147483647' >" + rule + "; sysctl -p " + rule,
		"systemctl start srdtun@pings && systemctl stop srdtun@pings",
	} {
		if _, err := output("sh", "-c", command); err != nil {
			log, _ := output("journalctl", "--no-pager", "-n", "10", "-u", "srdtun@pings")
			return fmt.Errorf("%w: %s", err, log)
		}
	}
	return nil
}

// recipe starts and stops the service with one configuration of the guide.
func recipe(name string, port int, body string) error {
	if m := peersDir.FindStringSubmatch(body); m != nil {
		if out, err := output("install", "-d", "-m", "0755", m[1]); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		defer os.RemoveAll(m[1])
	}
	if m := ruleFile.FindStringSubmatch(body); m != nil {
		if err := os.WriteFile(m[1], []byte("# rules\n"), 0o644); err != nil {
			return err
		}
		defer os.Remove(m[1])
	}
	if err := complete(name, port, body); err != nil {
		return err
	}
	defer os.Remove("/etc/srdtun/" + name + ".toml")
	check, err := output("srdtun", "check", name)
	if err != nil || strings.Contains(check, "the user of srdtun@") || strings.Contains(check, "does not pass this key file") {
		return fmt.Errorf("check: %v: %s", err, check)
	}
	service := "srdtun@" + name + ".service"
	if out, err := output("systemctl", "start", service); err != nil {
		log, _ := output("journalctl", "--no-pager", "-n", "10", "-u", service)
		return fmt.Errorf("%w: %s: %s", err, out, log)
	}
	_, err = output("systemctl", "stop", service)
	return err
}

// complete makes a whole configuration from a fragment, and adds keys and the parts that the
// fragment omits.
func complete(name string, port int, body string) error {
	private, public, err := newKeys()
	if err != nil {
		return err
	}
	key := fmt.Sprintf("public_key = %q", public)
	body = keyOfFile.ReplaceAllString(placeholder.ReplaceAllString(body, key), "")
	own := fmt.Sprintf("[interface]\nprivate_key = %q\nlisten_port = %d\n", private, port)
	switch {
	case strings.HasPrefix(body, "[interface]\n"):
		body = own + strings.TrimPrefix(body, "[interface]\n")
	case strings.HasPrefix(body, "allowed_ips"):
		body = own + "[[peer]]\n" + body
	default:
		body = own + body
	}
	if strings.Contains(body, "[[peer]]\n") && !strings.Contains(body, "public_key") {
		body = strings.Replace(body, "[[peer]]\n", "[[peer]]\n"+key+"\n", 1)
	}
	return os.WriteFile("/etc/srdtun/"+name+".toml", []byte(body+"\n"), 0o600)
}

// refusedRecipes tests configurations with common mistakes. The command "srdtun check", run by
// root, must report each mistake before the start. A service with such a mistake fails only once,
// and its log line names the remedy.
func refusedRecipes() error {
	private, err := output("srdtun", "genkey")
	if err != nil {
		return err
	}
	own := fmt.Sprintf("[interface]\nprivate_key = %q\nlisten_port = 52100\n", private)
	const open = "readable or writable by group or others (mode 0644); run: chmod 600 /etc/srdtun/badmode.toml"
	for _, c := range []struct{ name, text, warned, says, status string }{
		{"badfile", "[interface]\nprivate_key_file = \"badfile.key\"\n", "LoadCredential=badfile.key:/etc/srdtun/badfile.key", "the unit needs LoadCredential=badfile.key:/etc/srdtun/badfile.key", "77"},
		{"baddir", own + "[peers]\ndir = \"baddir.d\"\n", "/etc/srdtun has mode 0700", "put it in /etc/srdtun-peers, mode 0755", "77"},
		{"badport", strings.Replace(own, "52100", "443", 1), "AmbientCapabilities=CAP_NET_BIND_SERVICE", "AmbientCapabilities=CAP_NET_BIND_SERVICE", "77"},
		{"badmode", own, open, open, "78"}, // the service has a copy with another mode
	} {
		file := "/etc/srdtun/" + c.name + ".toml"
		if err := errors.Join(os.WriteFile(file, []byte(c.text), 0o600), os.WriteFile("/etc/srdtun/badfile.key", []byte(private+"\n"), 0o600),
			os.MkdirAll("/etc/srdtun/baddir.d", 0o755)); err != nil {
			return err
		}
		if c.name == "badmode" {
			if err := os.Chmod(file, 0o644); err != nil {
				return err
			}
		}
		check, err := output("sh", "-c", "srdtun check "+c.name+" 2>&1")
		if (err == nil) == (c.status == "78") || !strings.Contains(check, c.warned) {
			return fmt.Errorf("check %s does not warn: %v: %s", c.name, err, check)
		}
		if err := failsOnce(c.name, c.says); err != nil {
			return err
		}
		status, _ := output("systemctl", "show", "-P", "ExecMainStatus", "srdtun@"+c.name)
		if status != c.status {
			return fmt.Errorf("%s ends with %s, want %s", c.name, status, c.status)
		}
		_, _ = output("systemctl", "reset-failed", "srdtun@"+c.name)
		os.Remove(file)
	}
	return errors.Join(os.Remove("/etc/srdtun/badfile.key"), os.RemoveAll("/etc/srdtun/baddir.d"), os.RemoveAll("/etc/srdtun-peers"))
}
