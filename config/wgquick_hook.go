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
	// shellWord matches a first word that only bash(1) can run, or that sets a variable for the
	// command.
	shellWord = regexp.MustCompile(`^(\.|:|alias|bg|bind|break|builtin|caller|case|cd|command|compgen|complete|compopt|continue|coproc|declare|dirs|disown|enable|eval|exec|exit|export|fc|fg|for|function|getopts|hash|help|history|if|jobs|let|local|logout|mapfile|popd|pushd|read|readarray|readonly|return|select|set|shift|shopt|source|suspend|test|time|times|trap|type|typeset|ulimit|umask|unalias|unset|until|wait|while|.*=.*)$`)
	// failsEarly matches a command that may go on after a failure, unless errexit is set.
	failsEarly = regexp.MustCompile(`;|(^|[^|])\|([^|]|$)`)
	// extglob matches patterns that bash(1) has only with this option, which wg-quick(8) sets.
	extglob = regexp.MustCompile(`[?*+@!]\(`)
	// interfaceName matches wg-quick's variable for the interface's name. Its other variables, and
	// its functions, have no counterpart.
	interfaceName = regexp.MustCompile(`\bINTERFACE\b`)
	wgVariable    = regexp.MustCompile(`\$\{?[#!]?(ADDRESSES|ARGS|CONFIG_FILE|DNS|DNS_SEARCH|MTU|POST_DOWN|POST_UP|PRE_DOWN|PRE_UP|PROGRAM|SAVE_CONFIG|SELF|TABLE|WG_CONFIG)\b`)
	wgFunction    = regexp.MustCompile("(?:^|[;&|({`!]|\\b(?:then|do|else|time)\\s)\\s*(cmd|cmd_\\w+|die|(?:add|del)_(?:addr|default|if|route)|set_(?:config|dns|mtu_up)|unset_dns|get_fwmark|remove_firewall|save_config|execute_hooks)(?:[\\s;]|$)")
	// runsWG matches a call of WireGuard's own tools, which do not work on srdtun's interfaces.
	runsWG = regexp.MustCompile("(?:^|[;&|({`]|\\b(?:sudo|exec|then|do|else|time|command|env)\\s)\\s*(?:[\\w./-]*/)?(?:a?wg(?:-quick)?)(?:\\s|$)")
	// showsMark matches a call of wg(8) that prints the mark of outer packets, as in the kill
	// switch of its manual.
	showsMark = regexp.MustCompile("\\$\\(\\s*a?wg\\s+show\\s+\\S+\\s+fwmark\\s*\\)|`\\s*a?wg\\s+show\\s+\\S+\\s+fwmark\\s*`")
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
	case len(text)+len(errexit+setInterface) > maxWord:
		return im.fail(im.line, word, "is longer than %d bytes; put it into a script", maxWord-len(errexit+setInterface))
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
			command := hookCommand(text)
			if im.opt.NoBash && !im.opt.NoHooks && command[0] == "bash" {
				im.note(item.line, word, "runs in bash, as with wg-quick, and bash is not installed here (warning)")
			}
			kept = append(kept, wgItem{listTOML(command), item.line})
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
// another call of wg(8), or needs wg-quick(8) itself, the result `why` has the reason why it is
// left out.
func withoutWG(text, mark string) (command, why string) {
	if mark != "" {
		text = showsMark.ReplaceAllLiteralString(text, mark)
	}
	if runsWG.MatchString(text) {
		return "", "it calls wg, which knows nothing of this interface; see srdtun show and srdtun set"
	}
	if m := wgFunction.FindStringSubmatch(text); m != nil {
		return "", "it calls " + m[1] + ", a function of wg-quick"
	}
	for _, m := range wgVariable.FindAllStringSubmatch(text, -1) {
		if own := regexp.MustCompile(`\b((for|read|local|declare)\s+` + m[1] + `\b|` + m[1] + `\+?=)`); !own.MatchString(text) {
			return "", "it uses $" + m[1] + ", a variable of wg-quick"
		}
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

// errexit makes bash(1) exit at the first failed command, as in wg-quick(8).
const errexit = "set -eo pipefail; "

// setInterface sets the variable in which wg-quick(8) has the interface's name.
const setInterface = "INTERFACE='%i'; "

// hookCommand splits a simple text into words, and passes any other text to bash(1), in which
// wg-quick(8) runs it.
func hookCommand(text string) []string {
	words := strings.Fields(text)
	simple := len(words) <= maxWords && !shellWord.MatchString(words[0])
	for i, w := range words {
		simple = simple && (plainWord.MatchString(w) || w == "!" && i > 0)
	}
	if simple {
		return words
	}
	shell := []string{"bash", "-c"}
	if extglob.MatchString(text) {
		shell = []string{"bash", "-O", "extglob", "-c"}
	}
	set := ""
	if failsEarly.MatchString(text) {
		set = errexit
	}
	if interfaceName.MatchString(text) {
		set += setInterface
	}
	return append(shell, set+text)
}
