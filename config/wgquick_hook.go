package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/srdtun/srdtun/internal/wgquick"
)

// wgHooks are the wg-quick keys whose values are commands for bash(1).
var wgHooks = []string{"PreUp", "PostUp", "PreDown", "PostDown"}

// wgHookKey returns the usual spelling of a key in wgHooks, or "" for another key.
func wgHookKey(name string) string {
	for _, w := range wgHooks {
		if plain(name) == strings.ToLower(w) {
			return w
		}
	}
	return ""
}

// hookKey returns the configuration key for a key in wgHooks.
func hookKey(word string) string {
	return map[string]string{"PreUp": "pre_up", "PostUp": "post_up", "PreDown": "pre_down", "PostDown": "post_down"}[word]
}

// cutShellComment separates a command from its comment. A comment begins with a "#" at the start
// of a word outside quotes.
func cutShellComment(text string) (command, note string) {
	quote := byte(0)
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '#' && (i == 0 || text[i-1] == ' ' || text[i-1] == '\t'):
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

var (
	// plainWord matches a word that a shell passes unchanged to a program.
	plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)
	// shellWord matches a first word that only a shell can run, or that sets a variable for the
	// command.
	shellWord = regexp.MustCompile(`^(\.|:|alias|case|cd|command|declare|eval|exec|exit|export|for|function|if|let|local|popd|pushd|read|return|set|shift|shopt|source|time|trap|type|ulimit|umask|unset|until|wait|while|.*=.*)$`)
	// bashOnly matches syntax that bash(1) has and sh(1) lacks, because wg-quick(8) runs hooks in
	// bash.
	bashOnly = regexp.MustCompile(`[<>]\(|\[\[|<<<|&>|\|&|\$'|\(\(|=~|\{[^{} ]*(,|\.\.)[^{} ]*\}|\$\{[^}]*(//|\^\^|,,|\[|:\d)|\$(RANDOM|UID|HOSTNAME|EUID|SECONDS)\b|(^|[;&|({]\s*)(source|shopt|declare|function|let|pushd|popd)\s|\+=\(`)
	// runsWG matches a call of WireGuard's own tools, which do not work on srdtun's interfaces.
	runsWG = regexp.MustCompile("(?:^|[;&|({`]|\\b(?:sudo|exec|then|do|else|time|command|env)\\s)\\s*(?:[\\w./-]*/)?(?:a?wg(?:-quick)?)(?:\\s|$)")
	// showsMark matches a call of wg(8) that prints the mark of outer packets, as in the kill
	// switch of its manual.
	showsMark = regexp.MustCompile("\\$\\(\\s*a?wg show \\S+ fwmark\\s*\\)|`\\s*a?wg show \\S+ fwmark\\s*`")
	// setsKey matches the command that sets the interface's private key in the manual of
	// wg-quick(8).
	setsKey     = regexp.MustCompile(`\ba?wg\s+set\s+\S+\s+.*\bprivate-key\b`)
	setsKeyFile = regexp.MustCompile(`^(?:\S*/)?a?wg\s+set\s+\S+\s+private-key\s+(?:<\(\s*cat\s+([^\s;&|<>$()"'` + "`" + `]+)\s*\)|([^\s;&|<>$()"'` + "`" + `]+))$`)
)

// hook imports a hook command. A program with plain words becomes a list of words, and any other
// command runs in a shell.
func (im *importer) hook(word, text string) error {
	switch {
	case im.at.name != "interface":
		return im.fail(im.line, word, "belongs in [Interface]")
	case text == "":
		return nil
	case !utf8.ValidString(text):
		return im.fail(im.line, word, "is not UTF-8 text")
	case len(text)+len(errexit) > maxWord:
		return im.fail(im.line, word, "is longer than %d bytes; put it into a script", maxWord-len(errexit))
	}
	if setsKey.MatchString(text) {
		return im.keyHook(word, text)
	}
	key := hookKey(word)
	f := im.at.add(key, word, im.line)
	if len(f.items) >= maxCommands {
		return im.fail(im.line, word, "more than %d of them; put them into a script", maxCommands)
	}
	f.items = append(f.items, wgItem{text, im.line}) // converted to TOML once the mark is known
	return nil
}

// keyHook imports the path of the key file from a hook that sets the private key.
func (im *importer) keyHook(word, text string) error {
	m := setsKeyFile.FindStringSubmatch(text)
	if m == nil {
		im.keyBy = &wgField{word: word, line: im.line}
		im.remarkHook(word, text, "it gives the key by a command, which import does not run")
		return nil
	}
	file := strings.ReplaceAll(m[1]+m[2], "%i", im.opt.Name)
	if !strings.HasPrefix(file, "/") {
		return im.fail(im.line, word, "the key file %s must be named from / on", shownPath(file))
	}
	im.keyFile = file
	im.at.drop("private_key_file")
	im.at.add("private_key_file", word, im.line).value = inTOML(file)
	return nil
}

// shownPath returns the path of a key file for a message. A path is no secret, but a key may be
// typed in its place. So a part that looks random is hidden.
func shownPath(path string) string {
	if !pathLike.MatchString(path) {
		return quoted(path)
	}
	return untangled(path, true)
}

// remarkHook keeps a hook command as a comment, with the reason.
func (im *importer) remarkHook(word, text, why string) {
	im.iface.remarks = append(im.iface.remarks, word+" = "+text, "  ^ not taken over: "+why)
}

// settleHooks converts the texts of hooks into commands.
func (im *importer) settleHooks() {
	mark := im.outerMark()
	for _, word := range wgHooks {
		f := im.iface.field(hookKey(word))
		if f == nil {
			continue
		}
		var kept []wgItem
		for _, item := range f.items {
			text, why := withoutWG(item.text, mark)
			if why != "" {
				im.note(item.line, word, "not taken over: %s", why)
				im.remarkHook(word, item.text, why)
				continue
			}
			kept = append(kept, wgItem{listTOML(hookCommand(text)), item.line})
		}
		switch f.items = kept; {
		case len(kept) == 0:
			im.iface.drop(f.key)
		case im.opt.NoHooks:
			im.remarkUnwanted(f)
		default:
			im.hooks = append(im.hooks, counted(word, len(kept)))
		}
	}
	if len(im.hooks) > 0 {
		im.note(0, strings.Join(im.hooks, ", "), "imported as commands, which run with the daemon's rights: check them, or leave them out with --no-hooks")
	}
}

func counted(word string, n int) string {
	if n == 1 {
		return word
	}
	return fmt.Sprintf("%s (%d)", word, n)
}

// remarkUnwanted keeps hook commands as comments, so that the user can uncomment them.
func (im *importer) remarkUnwanted(f *wgField) {
	im.note(f.items[0].line, f.word, "left out because of --no-hooks")
	for _, l := range f.lines() {
		im.iface.remarks = append(im.iface.remarks, l.text)
	}
	im.iface.drop(f.key)
}

// withoutWG replaces a call of wg(8) that prints the mark by the mark itself. If the command has
// another call of wg(8), the result `why` has the reason why it is left out.
func withoutWG(text, mark string) (command, why string) {
	if mark != "" {
		text = showsMark.ReplaceAllLiteralString(text, mark)
	}
	if runsWG.MatchString(text) {
		return "", "it calls wg, which knows nothing of this interface; see srdtun show and srdtun set"
	}
	return text, ""
}

// outerMark returns the mark of outer packets that wg(8) would print to a hook, or "" if there is
// none. If there is a default route but no mark, wg-quick(8) and the daemon choose one at run time.
// In that case the importer writes a mark into the configuration, so that it is known.
func (im *importer) outerMark() string {
	if f := im.iface.field("fwmark"); f != nil {
		if f.value == "0" || f.value == "0x0" || f.value == `"off"` {
			return ""
		}
		return f.value
	}
	table := im.iface.field("table")
	if table != nil && table.value != `"auto"` || !anyItem(im.peers, showsDefault, "allowed_ips") ||
		!anyItem([]*wgSection{im.iface}, showsMark, "pre_up", "post_up", "pre_down", "post_down") {
		return ""
	}
	f := im.iface.add("fwmark", "FwMark", im.iface.line)
	f.value, f.remark = strconv.Itoa(wgquick.Mark), "the commands name it"
	return f.value
}

// showsDefault matches a default route in TOML syntax.
var showsDefault = regexp.MustCompile(`/0"$`)

// anyItem reports whether the pattern `kind` matches a member of a list in the sections.
func anyItem(sections []*wgSection, kind *regexp.Regexp, keys ...string) bool {
	for _, s := range sections {
		for _, key := range keys {
			if f := s.field(key); f != nil && slices.ContainsFunc(f.items, func(i wgItem) bool { return kind.MatchString(i.text) }) {
				return true
			}
		}
	}
	return false
}

// errexit makes sh(1) exit at the first failed command, as wg-quick(8) does.
const errexit = "set -e; "

// hookCommand splits a simple text into words, and passes any other text to a shell.
func hookCommand(text string) []string {
	words := strings.Fields(text)
	simple := len(words) <= maxWords && !shellWord.MatchString(words[0])
	for i, w := range words {
		simple = simple && (plainWord.MatchString(w) || w == "!" && i > 0)
	}
	if simple {
		return words
	}
	shell := "sh"
	if bashOnly.MatchString(text) {
		shell = "bash"
	}
	if strings.Contains(text, ";") {
		text = errexit + text
	}
	return []string{shell, "-c", text}
}
