package manualtest

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Words splits a line at spaces outside of quotes, as a shell splits the lines of these
// documents.
func Words(line string) (v []string) {
	var b strings.Builder
	var quote rune
	open := false
	for _, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				b.WriteRune(r)
			}
		case r == '"' || r == '\'':
			quote, open = r, true
		case r == ' ':
			if open || b.Len() > 0 {
				v = append(v, b.String())
			}
			b.Reset()
			open = false
		default:
			b.WriteRune(r)
		}
	}
	if open || b.Len() > 0 {
		v = append(v, b.String())
	}
	return v
}

// Calls returns the arguments of each call of a program in the line. For the program srdtun in
// "srdtun genkey | sudo tee FILE | srdtun pubkey" the result is [genkey] and [pubkey].
func (l Line) Calls(program string) (calls [][]string) {
	var command []string
	for _, w := range append(Words(l.Text), ";") {
		switch {
		case w == "|" || w == "||" || w == "&&" || w == ";":
			if args, ok := callOf(command, program); ok {
				calls = append(calls, args)
			}
			command = nil
		default:
			command = append(command, w)
		}
	}
	return calls
}

// callOf returns the arguments of the program, if the command calls the program.
func callOf(command []string, program string) ([]string, bool) {
	for len(command) > 0 && (command[0] == "sudo" || command[0] == "env" || assigns(command[0])) {
		command = command[1:]
	}
	if len(command) > 2 && command[0] == "go" && command[1] == "run" {
		command = command[2:]
	}
	if len(command) > 2 && command[0] == "docker" && command[1] == "run" {
		command = command[max(2, slices.Index(command, program)):] // the arguments follow the image, which is named after its program
	}
	if len(command) == 0 || path.Base(command[0]) != program || strings.Contains(command[0], "://") {
		return nil, false
	}
	args := command[1:]
	if len(args) > 0 && args[0] == "->" { // an arrow in a drawing
		return nil, false
	}
	// The shell handles redirections, and the program does not see them.
	if i := slices.IndexFunc(args, func(w string) bool { return w[:min(1, len(w))] == ">" || w[:min(1, len(w))] == "<" }); i >= 0 {
		args = args[:i]
	}
	return args, true
}

// assigns reports whether w assigns a value to a variable, as PREFIX=/usr does.
func assigns(w string) bool {
	name, _, ok := strings.Cut(w, "=")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}

// Accepts checks a call against the tree of a program's commands. The command must exist, have
// each flag, and accept the number of arguments. Within a sentence, a command without arguments
// counts as its name. A word may offer a choice, as in NAME|FILE. A word in brackets is
// optional, and an ellipsis stands for any words.
func Accepts(root func() *cobra.Command, l Line, args []string) error {
	for i, w := range args {
		var instead [][]string
		switch {
		case (w == "..." || w == "…") && (i == 0 || !strings.HasPrefix(args[i-1], "--")): // otherwise the ellipsis is the flag's value
			return Accepts(root, l, slices.Delete(slices.Clone(args), i, i+1))
		case strings.HasPrefix(w, "[") && strings.HasSuffix(w, "]"):
			instead = [][]string{{}, {strings.Trim(w, "[]")}}
		case strings.Contains(w, "|"):
			for _, choice := range strings.Split(w, "|") {
				instead = append(instead, []string{choice})
			}
		default:
			continue
		}
		for _, v := range instead {
			if err := Accepts(root, l, slices.Concat(args[:i], v, args[i+1:])); err != nil {
				return err
			}
		}
		return nil
	}
	return accepts(root(), l, args)
}

func accepts(root *cobra.Command, l Line, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if c == root && !strings.HasPrefix(args[0], "-") {
		return fmt.Errorf("there is no command %s", args[0])
	}
	c.InitDefaultHelpFlag()
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	if rest = c.Flags().Args(); c == root || !l.Block && len(rest) == 0 {
		return nil
	}
	return c.ValidateArgs(rest)
}
