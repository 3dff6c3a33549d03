package control

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/status.md anew")

// schemaFile lists every field of what the command prints as JSON.
const schemaFile = "../../docs/status.md"

// schemaHead is what stands before the tables.
const schemaHead = `# What ` + "`--json`" + ` prints

Every field, its type and its meaning. This page is made of the source by
` + "`go test ./overlay/control -run TestSchema -update`" + `, and a test fails when it is out of date.

` + "`schema`" + ` is %d. It grows when a field goes or means something else, not when there is a new one: a script
checks that it is the number it was written for, and ignores fields that it does not know.

Units are part of the names: ` + "`_us`" + ` microseconds, ` + "`_s`" + ` seconds, ` + "`_unix_s`" + ` seconds since 1970, ` + "`_bytes`" + ` bytes,
` + "`_per_s`" + ` a second. Counters begin with the daemon. Lists are never null: without entries they are ` + "`[]`" + `, and maps ` + "`{}`" + `.

` + "`srdtun show NAME --json`" + ` prints one object, ` + "`srdtun show --json`" + ` a list of them, ` + "`[]`" + ` if nothing runs.
`

// comments maps "Type.Field" to what stands behind or above the field.
func comments(t *testing.T) map[string]string {
	t.Helper()
	v := map[string]string{}
	for _, file := range []string{"status.go", "device.go", "see.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					text := strings.Join(strings.Fields(field.Doc.Text()+" "+field.Comment.Text()), " ")
					for _, name := range field.Names {
						v[spec.Name.Name+"."+name.Name] = text
					}
				}
			}
			return true
		})
	}
	return v
}

// jsonType is the type of a value in JSON, and the struct that it consists of, if any.
func jsonType(of reflect.Type) (name string, inner reflect.Type) {
	switch of.Kind() {
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Struct {
			return "list", of.Elem()
		}
		name, _ = jsonType(of.Elem())
		return "list of " + name + "s", nil
	case reflect.Map:
		return "map to number", nil
	case reflect.Struct:
		return "object", of
	case reflect.String:
		return "string", nil
	case reflect.Bool:
		return "boolean", nil
	}
	return "number", nil
}

// tabulate appends the table of a struct, and those of what is in it.
func tabulate(t *testing.T, b *strings.Builder, of reflect.Type, title string, meaning map[string]string) {
	t.Helper()
	fmt.Fprintf(b, "\n%s\n\n| field | type | meaning |\n| --- | --- | --- |\n", title)
	type part struct {
		at string
		of reflect.Type
	}
	var parts []part
	for i := range of.NumField() {
		f := of.Field(i)
		tag := f.Tag.Get("json")
		text := meaning[of.Name()+"."+f.Name]
		if tag == "" || text == "" {
			t.Errorf("%s.%s has no name in JSON, or no comment", of.Name(), f.Name)
		}
		kind, inner := jsonType(f.Type)
		if inner != nil {
			dots := tag
			if kind == "list" {
				dots += "[]"
			}
			parts = append(parts, part{dots, inner})
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", tag, kind, text)
	}
	prefix := title[strings.Index(title, "`")+1 : strings.LastIndex(title, "`")]
	for _, p := range parts {
		tabulate(t, b, p.of, "### `"+strings.TrimPrefix(prefix+"."+p.at, ".")+"`", meaning)
	}
}

// Every field of the schema is described in docs/status.md.
func TestSchemaIsDocumented(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, schemaHead, Schema)
	meaning := comments(t)
	for _, top := range []struct {
		title string
		of    any
	}{
		{"## `.`: show", Status{}}, {"## `.`: flows", Flows{}}, {"## `.`: ping, a line for each round", Pings{}},
	} {
		tabulate(t, &b, reflect.TypeOf(top.of), top.title, meaning)
	}
	text := strings.ReplaceAll(strings.ReplaceAll(b.String(), "### `..", "### `."), "## `.`: ", "## ")
	if *update {
		if err := os.WriteFile(schemaFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	now, err := os.ReadFile(schemaFile)
	if err != nil || string(now) != text {
		t.Errorf("docs/status.md is out of date (%v): go test ./overlay/control -run TestSchema -update", err)
	}
}

// The server itself says which schema a status has.
func TestSchemaIsSent(t *testing.T) {
	runDir(t)
	start(t, "srd0", newRecorder())
	st, err := dial(t, "srd0").Show()
	if err != nil || st.Schema != Schema {
		t.Errorf("schema %v, %v", st, err)
	}
}
