package config

import (
	"fmt"
	"strings"
	"unicode"
)

// Export converts a configuration into a wg-quick(8) file. Keys that wg-quick(8) lacks become
// comments. For a peer with several endpoints, Export keeps only the first.
func Export(c *Config) []byte {
	var b strings.Builder
	b.WriteString("# Of " + oneLine(c.File) + ". The two protocols do not understand each other:\n# both ends of a tunnel need the same.\n")
	exportSection(&b, "interface", c, nil)
	for _, s := range schema {
		if s.name != "interface" && s.name != "peer" {
			exportRest(&b, s, c)
		}
	}
	for i := range c.Peers {
		b.WriteByte('\n')
		exportSection(&b, "peer", c, &c.Peers[i])
	}
	return []byte(b.String())
}

func exportSection(b *strings.Builder, name string, c *Config, p *Peer) {
	b.WriteString("[" + strings.ToUpper(name[:1]) + name[1:] + "]\n")
	for _, k := range sectionOf(name).keys {
		v := k.value(c, p)
		if v == "" && k.name == "listen_port" {
			v = fmt.Sprint(DefaultListenPort) // written because the default of wg differs: any port
		}
		if v == "" {
			continue
		}
		if lines := exportHooks(k.name, c); name == "interface" && lines != "" {
			b.WriteString(lines)
			continue
		}
		word, value := wgWord(k.name), fromTOML(v)
		if word == "Endpoint" {
			first, rest, _ := strings.Cut(value, ", ")
			if value = first; rest != "" {
				b.WriteString("# endpoints besides: " + rest + "\n")
			}
		}
		if word == "" {
			b.WriteString("# " + k.name + " = " + v + "\n")
			continue
		}
		b.WriteString(word + " = " + value + "\n")
	}
}

// exportHooks returns hook commands for bash(1), or "" if a command does not fit into a line.
func exportHooks(key string, c *Config) string {
	h := c.Interface.Hooks
	var text strings.Builder
	for i, commands := range [][][]string{h.PreUp, h.PostUp, h.PreDown, h.PostDown} {
		for _, argv := range commands {
			if hookKey(wgHooks[i]) != key {
				continue
			}
			line := shellLine(argv)
			if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
				return ""
			}
			text.WriteString(wgHooks[i] + " = " + line + "\n")
		}
	}
	return text.String()
}

// shellLine returns a command with its words quoted for a shell.
func shellLine(argv []string) string {
	if len(argv) == 3 && (argv[0] == "sh" || argv[0] == "bash") && argv[1] == "-c" {
		return strings.TrimPrefix(strings.TrimPrefix(argv[2], errexit), "set -e; ") // wg-quick(8) itself sets them
	}
	var words []string
	for i, w := range argv {
		if !plainWord.MatchString(w) && (w != "!" || i == 0) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// exportRest writes the keys that wg-quick(8) lacks as comments.
func exportRest(b *strings.Builder, s sectionSpec, c *Config) {
	for _, k := range s.keys {
		if v := k.value(c, nil); v != "" {
			b.WriteString("# " + s.name + "." + k.name + " = " + v + "\n")
		}
	}
}

// fromTOML converts a value to the form of wg-quick(8): without quotes, and lists with commas.
func fromTOML(v string) string {
	vals, err := decodeTOML("x = " + v + "\n")
	if err != nil {
		return v
	}
	list, ok := vals["x"].([]any)
	if !ok {
		return fmt.Sprint(vals["x"])
	}
	var parts []string
	for _, one := range list {
		parts = append(parts, fmt.Sprint(one))
	}
	return strings.Join(parts, ", ")
}
