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

// wgHooks are the keys whose values bash(1) reads.
var wgHooks = []string{"PreUp", "PostUp", "PreDown", "PostDown"}

// wgHookKey is the usual spelling of such a key; "" if it is none.
func wgHookKey(name string) string {
	for _, w := range wgHooks {
		if plain(name) == strings.ToLower(w) {
			return w
		}
	}
	return ""
}

// hookKey is ours.
func hookKey(word string) string {
	return map[string]string{"PreUp": "pre_up", "PostUp": "post_up", "PreDown": "pre_down", "PostDown": "post_down"}[word]
}

// cutShellComment cuts a comment off a command: what is behind a "#" that begins a word
// and is in no quotes.
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
	// plainWord is a word that a shell gives to a program as it is.
	plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)
	// shellWord is a first word that is the shell's own, or a setting for the command.
	shellWord = regexp.MustCompile(`^(\.|:|alias|case|cd|command|declare|eval|exec|exit|export|for|function|if|let|local|popd|pushd|read|return|set|shift|shopt|source|time|trap|type|ulimit|umask|unset|until|wait|while|.*=.*)$`)
	// bashOnly is what sh(1) does not know (bash(1)); wg-quick(8) is written in bash.
	bashOnly = regexp.MustCompile(`[<>]\(|\[\[|<<<|&>|\|&|\$'|\(\(|=~|\{[^{} ]*(,|\.\.)[^{} ]*\}|\$\{[^}]*(//|\^\^|,,|\[|:\d)|\$(RANDOM|UID|HOSTNAME|EUID|SECONDS)\b|(^|[;&|({]\s*)(source|shopt|declare|function|let|pushd|popd)\s|\+=\(`)
	// runsWG is a command of WireGuard's own tools, which do not know our interface.
	runsWG = regexp.MustCompile("(?:^|[;&|({`]|\\b(?:sudo|exec|then|do|else|time|command|env)\\s)\\s*(?:[\\w./-]*/)?(?:a?wg(?:-quick)?)(?:\\s|$)")
	// showsMark asks wg(8) for the mark of the outer packets, as its kill switch does.
	showsMark = regexp.MustCompile("\\$\\(\\s*a?wg show \\S+ fwmark\\s*\\)|`\\s*a?wg show \\S+ fwmark\\s*`")
	// setsKey gives the interface its key from somewhere else, as wg-quick(8) shows it.
	setsKey     = regexp.MustCompile(`\ba?wg\s+set\s+\S+\s+.*\bprivate-key\b`)
	setsKeyFile = regexp.MustCompile(`^(?:\S*/)?a?wg\s+set\s+\S+\s+private-key\s+(?:<\(\s*cat\s+([^\s;&|<>$()"'` + "`" + `]+)\s*\)|([^\s;&|<>$()"'` + "`" + `]+))$`)
)

// hook takes a command over: a program with its words as a list of them, and all else
// through the shell that would have read it.
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
	f.items = append(f.items, wgItem{text, im.line}) // in TOML once the mark is known
	return nil
}

// keyHook takes the private key from the file that a command reads it from.
func (im *importer) keyHook(word, text string) error {
	m := setsKeyFile.FindStringSubmatch(text)
	if m == nil {
		im.keyBy = &wgField{word: word, line: im.line}
		im.remarkHook(word, text, "it gives the key by a command, which import does not run")
		return nil
	}
	file := strings.ReplaceAll(m[1]+m[2], "%i", im.opt.Name)
	if !strings.HasPrefix(file, "/") {
		return im.fail(im.line, word, "the key file %s must be named from / on", quoted(file))
	}
	im.at.drop("private_key_file")
	im.at.add("private_key_file", word, im.line).value = inTOML(file)
	return nil
}

// remarkHook leaves a command in the comments, and says why.
func (im *importer) remarkHook(word, text, why string) {
	im.iface.remarks = append(im.iface.remarks, word+" = "+text, "  ^ not taken over: "+why)
}

// settleHooks makes commands of what hooks say.
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
		im.note(0, strings.Join(im.hooks, ", "), "taken over as commands, which run with the daemon's rights: look at them, or leave them out with --no-hooks")
	}
}

func counted(word string, n int) string {
	if n == 1 {
		return word
	}
	return fmt.Sprintf("%s (%d)", word, n)
}

// remarkUnwanted leaves commands in the comments, ready to be taken in.
func (im *importer) remarkUnwanted(f *wgField) {
	im.note(f.items[0].line, f.word, "left out, as --no-hooks says")
	for _, l := range f.lines() {
		im.iface.remarks = append(im.iface.remarks, l.text)
	}
	im.iface.drop(f.key)
}

// withoutWG puts the mark of the outer packets where a command asks wg(8) for it, and says
// why a command that calls wg(8) for something else is not taken over.
func withoutWG(text, mark string) (command, why string) {
	if mark != "" {
		text = showsMark.ReplaceAllLiteralString(text, mark)
	}
	if runsWG.MatchString(text) {
		return "", "it calls wg, which knows nothing of this interface; see srdtun show and srdtun set"
	}
	return text, ""
}

// outerMark is the mark of the outer packets, for commands that ask wg(8) for it; "" if
// there is none. With a default route wg-quick(8) chooses one, and so does the daemon, so
// that it becomes a setting.
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

// showsDefault is a default route in TOML.
var showsDefault = regexp.MustCompile(`/0"$`)

// anyItem reports whether a list of the sections has a member of a kind.
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

// errexit makes sh(1) end with the first command that fails, as wg-quick(8) does.
const errexit = "set -e; "

// hookCommand is what runs a text that was written for bash.
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
