package control

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the fields of docs/monitoring.md anew")

// schemaFile lists every field of the command's JSON output.
const schemaFile = "../../docs/monitoring.md"

// comments maps "Type.Field" to the comment at the end of the field's line, or above it.
func comments(t *testing.T) map[string]string {
	t.Helper()
	v := map[string]string{}
	for _, file := range []string{"status.go", "device.go", "see.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		must(t, err)
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

// jsonType returns the name of a value's type in JSON, and the struct type that the value consists
// of, if any.
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

// fields appends a row for each field of a struct, and the rows of its inner structs. For an inner
// struct that already has rows, fields adds only its name.
func fields(t *testing.T, b *strings.Builder, of reflect.Type, prefix string, meaning, seen map[string]string) {
	t.Helper()
	seen[of.Name()] = strings.TrimSuffix(prefix, ".")
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
		at := prefix + tag
		switch {
		case inner == nil && kind != "number":
			text = kind + ": " + text
		case inner != nil && seen[inner.Name()] != "":
			text = "as `" + seen[inner.Name()] + "`: " + text
		case inner != nil:
			if kind == "list" {
				at += "[]"
			}
			seen[inner.Name()] = at
			parts = append(parts, part{at, inner})
		}
		fmt.Fprintf(b, "| `%s` | %s |\n", at, text)
	}
	for _, p := range parts {
		fields(t, b, p.of, p.at+".", meaning, seen)
	}
}

// Every field of the schema is described in docs/monitoring.md.
func TestSchemaIsDocumented(t *testing.T) {
	var b strings.Builder
	meaning, seen := comments(t), map[string]string{}
	for _, top := range []struct {
		title string
		of    any
	}{{"show", Status{}}, {"flows", Flows{}}, {"ping, a line for each round", Pings{}}} {
		fmt.Fprintf(&b, "\n| %s | |\n| --- | --- |\n", top.title)
		fields(t, &b, reflect.TypeOf(top.of), "", meaning, seen)
	}
	b.WriteString("\n")
	now, err := os.ReadFile(schemaFile)
	must(t, err)
	part := regexp.MustCompile(`(?s)(<!-- fields: [^\n]*-->\n).*?(<!-- end -->)`)
	want := part.ReplaceAllLiteralString(string(now), part.FindStringSubmatch(string(now))[1]+b.String()+"<!-- end -->")
	if *update {
		must(t, os.WriteFile(schemaFile, []byte(want), 0o644))
	} else if string(now) != want {
		t.Errorf("%s is out of date: go test ./overlay/control -run TestSchema -update", schemaFile)
	}
}
