package manualtest

import (
	"reflect"
	"testing"

	"github.com/spf13/cobra"
)

const page = "# Title\n\nSay `tool show\n--json` or `show`:\n\n    tool set a \\\n        b    # why\n    tool x  for this   tool y\n\n    more\n\nEnd.\n\n```\na screen\n```\n"

func TestSplit(t *testing.T) {
	blocks, paragraphs := Split("d", page)
	if len(blocks) != 2 || blocks[0].First() != `tool set a \` || !blocks[1].Fence || blocks[1].Text != "a screen" {
		t.Errorf("%+v", blocks)
	}
	if len(paragraphs) != 3 {
		t.Errorf("%q", paragraphs)
	}
}

func TestOutput(t *testing.T) {
	b := Block{Text: "tool a  # \"one way\"\ntool b    # why\n"}
	if v := b.Output(); len(v) != 1 || v["tool a"] != "one way" {
		t.Errorf("%q", v)
	}
}

func TestCalls(t *testing.T) {
	var have [][]string
	for _, l := range Lines("d", page) {
		have = append(have, l.Calls("tool")...)
	}
	want := [][]string{{"show", "--json"}, {"set", "a", "b"}, {"x"}, {"y"}}
	if !reflect.DeepEqual(have, want) {
		t.Errorf("%q, want %q", have, want)
	}
	have = Line{Text: "tool genkey | sudo tee FILE | A=b bin/tool pubkey >out && mytool x | docker run -v a tool down"}.Calls("tool")
	if want = [][]string{{"genkey"}, {"pubkey"}, {"down"}}; !reflect.DeepEqual(have, want) {
		t.Errorf("%q, want %q", have, want)
	}
}

func TestAccepts(t *testing.T) {
	root := func() *cobra.Command {
		run := func(*cobra.Command, []string) {}
		root := &cobra.Command{Use: "tool"}
		show := &cobra.Command{Use: "show", Args: cobra.MaximumNArgs(1), Run: run}
		show.Flags().Bool("json", false, "")
		root.AddCommand(show, &cobra.Command{Use: "down", Args: cobra.ExactArgs(1), Run: run})
		return root
	}
	for line, ok := range map[string]bool{
		"tool": true, "tool show": true, "tool show a --json": true, "tool show [NAME]": true, "tool down A|B": true,
		"tool show ... a": true, "tool --help": true,
		"tool shew": false, "tool show --yaml": false, "tool show a b": false, "tool down": false, "tool down [NAME]": false,
	} {
		l := Line{Text: line, Block: true}
		if err := Accepts(root, l, l.Calls("tool")[0]); (err == nil) != ok {
			t.Errorf("%s: %v", line, err)
		}
	}
	if l := (Line{Text: "tool down"}); Accepts(root, l, l.Calls("tool")[0]) != nil {
		t.Error("the name of a command is not accepted within a sentence")
	}
}

func TestExamples(t *testing.T) {
	have := linesOfExample("e", "#   OPTIONS=--a b\nExecStart=+/usr/bin/tool join $OPTIONS $X\n"+
		"  image: tool\n  args: [up, lab]\n  image: other\n  args:\n    - join\n    - --c=d\n  env:\n    - no\n  image: bare\n    build: ..\n    command: [up, lab]\n")
	want := []Line{{"e", "/usr/bin/tool join --a b $X", true}, {"e", "tool up lab", true}, {"e", "other join --c=d", true}, {"e", "bare", true}, {"e", "srdtun up lab", true}}
	if !reflect.DeepEqual(have, want) {
		t.Errorf("%+v, want %+v", have, want)
	}
	have, err := Examples("../..")
	if err != nil || len(have) < 7 {
		t.Errorf("%+v, %v", have, err)
	}
}
