package main

import (
	"image"
	"path/filepath"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/scripts/picture"
)

const goodBars = `{"title":"t","subtitle":"s","panels":[{"title":"p","unit":"Gbit/s","bars":[
{"name":"a","value":2,"low":1.5,"high":2.5,"tone":0},{"name":"b","value":1,"low":1,"high":1.2,"tone":1}]}]}`

// dots returns the number of dots with the colour of a tone.
func dots(img image.Image, tone int) (n int) {
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			r, g, b, _ := img.At(x, y).RGBA()
			if c := tones[tone]; uint8(r>>8) == c.R && uint8(g>>8) == c.G && uint8(b>>8) == c.B {
				n++
			}
		}
	}
	return n
}

func TestDrawsBars(t *testing.T) {
	img := drawn(t, goodBars)
	// The range is drawn over the bar, so the ratio of the areas is not exactly 2 to 1.
	if a, b := dots(img, 0), dots(img, 1); b < 1000 || float64(a) < 1.7*float64(b) || float64(a) > 2.3*float64(b) {
		t.Errorf("bars of 2 and 1 have %d and %d dots", a, b)
	}
}

func TestRefusesBars(t *testing.T) {
	for _, c := range [][2]string{
		{`"low":1.5`, `"low":2.1`}, {`"high":2.5`, `"high":1.9`}, {`"low":1.5`, `"low":-1`}, {`"tone":1`, `"tone":3`},
		{`"title":"t"`, `"title":"t","marks":[{"y":1}]`}, {`"name"`, `"nam"`},
	} {
		if run(strings.NewReader(strings.Replace(goodBars, c[0], c[1], 1)), filepath.Join(t.TempDir(), "f.png")) == nil {
			t.Errorf("%s is accepted", c[1])
		}
	}
}

// All values of a panel have the same number of decimals.
func TestNumbersOfAPanel(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{[]float64{5, 2.3, 0.834}, "5.00 2.30 0.83"}, {[]float64{64.1, 248}, "64 248"}, {[]float64{15.6, 0.87}, "15.6 0.9"}, {[]float64{0}, "0"},
	} {
		var p Panel
		var have []string
		for _, v := range c.values {
			p.Bars = append(p.Bars, picture.Bar{Value: v})
		}
		for _, v := range c.values {
			have = append(have, p.number(v))
		}
		if got := strings.Join(have, " "); got != c.want {
			t.Errorf("%v: %s, want %s", c.values, got, c.want)
		}
	}
}
