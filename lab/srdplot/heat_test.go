package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const goodHeat = `{"title":"t","subtitle":"s","heat":{"rows":["a","b"],"columns":[{"group":"g","name":"one"},{"group":"h","name":"two"}],
"cells":[[1,1.5],[0,40]]}}`

func TestDrawsHeat(t *testing.T) {
	img := drawn(t, goodHeat)
	areas := map[[3]uint8]int{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			r, g, b, _ := img.At(x, y).RGBA()
			areas[[3]uint8{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)}]++
		}
	}
	for _, v := range []float64{1, 1.5, heatFull} { // 40 is as dark as a colour gets
		c, _ := heatColour(v)
		if n := areas[[3]uint8{c.R, c.G, c.B}]; n < 10000 {
			t.Errorf("%d dots of the colour of %g", n, v)
		}
	}
}

func TestRefusesHeat(t *testing.T) {
	for _, c := range [][2]string{
		{`[1,1.5]`, `[1]`}, {`[1,1.5]`, `[1,0.5]`}, {`["a","b"]`, `["a"]`}, {`[{"group":"g","name":"one"},{"group":"h","name":"two"}]`, `[]`},
		{`"title":"t"`, `"title":"t","marks":[{"y":1}]`}, {`"rows"`, `"lines"`},
	} {
		if run(strings.NewReader(strings.Replace(goodHeat, c[0], c[1], 1)), filepath.Join(t.TempDir(), "f.png")) == nil {
			t.Errorf("%s is accepted", c[1])
		}
	}
}

func TestHalves(t *testing.T) {
	for name, want := range map[string][]string{"one": {"one"}, "a link failed": {"a link", "failed"}, "a b": {"a", "b"}} {
		if got := halves(name); !slices.Equal(got, want) {
			t.Errorf("%q: %q", name, got)
		}
	}
}
