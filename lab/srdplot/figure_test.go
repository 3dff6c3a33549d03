package main

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const good = `{"title":"t","subtitle":"s","x":"s","y":"Mbit/s","lines":[{"name":"a","points":[[0,1],[1,2]],"label":"a","label_at":[0,1]}],
"spans":[{"from":0.2,"to":0.5,"caption":"dead"}],"marks":[{"y":4,"caption":"all"}]}`

// drawn draws a figure and reads the bitmap back.
func drawn(t *testing.T, figure string) image.Image {
	t.Helper()
	out := filepath.Join(t.TempDir(), "f.png")
	if err := run(strings.NewReader(figure), out); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func TestDraws(t *testing.T) {
	img := drawn(t, good)
	line, other := 0, 0
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			r, g, b, _ := img.At(x, y).RGBA()
			switch [3]uint32{r >> 8, g >> 8, b >> 8} {
			case [3]uint32{uint32(palette[0].R), uint32(palette[0].G), uint32(palette[0].B)}:
				line++
			case [3]uint32{uint32(shaded.R), uint32(shaded.G), uint32(shaded.B)}:
				other++
			}
		}
	}
	if img.Bounds().Dx() != 2016 || line < 1000 || other < 10000 {
		t.Errorf("%v: %d dots of the line, %d of the span", img.Bounds(), line, other)
	}
}

// The same figure as vectors, over a logarithmic axis. The line and all words are in it.
func TestDrawsVectors(t *testing.T) {
	out := filepath.Join(t.TempDir(), "f.svg")
	log := strings.Replace(strings.Replace(good, `[[0,1],[1,2]]`, `[[0.1,1],[500,2]]`, 1), `"title"`, `"x_log":true,"title"`, 1)
	log = strings.Replace(log, `"label_at":[0,1]`, `"label_at":[1,1]`, 1)
	if err := run(strings.NewReader(log), out); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<svg", "Mbit/s", "#0072B2", ">100<", "dead"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%q is not in the picture", want)
		}
	}
	if run(strings.NewReader(strings.Replace(log, "[0.1,1]", "[0,1]", 1)), out) == nil {
		t.Error("0 on a logarithmic axis is accepted")
	}
	both := strings.Replace(strings.Replace(log, `"x_log"`, `"y_log":true,"x_log"`, 1), `"spans":[{"from":0.2,"to":0.5,"caption":"dead"}],`, "", 1)
	if err := run(strings.NewReader(both), out); err != nil {
		t.Error(err)
	}
	if run(strings.NewReader(strings.Replace(both, "[500,2]", "[500,0]", 1)), out) == nil {
		t.Error("0 on a logarithmic axis is accepted")
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range [][2]string{
		{`"points":[[0,1],[1,2]]`, `"points":[[0,1]]`}, {`"from":0.2`, `"from":0.7`}, {`"title"`, `"titel"`},
	} {
		if run(strings.NewReader(strings.Replace(good, c[0], c[1], 1)), filepath.Join(t.TempDir(), "f.png")) == nil {
			t.Errorf("%s is accepted", c[1])
		}
	}
}
