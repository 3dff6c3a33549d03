package dashboard

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// In both colour schemes, text has a contrast of at least 4.5 to 1 to its background (WCAG 2.2,
// success criterion 1.4.3). Scripts use only colours that the style sheet defines.
func TestColoursOfBothSchemes(t *testing.T) {
	f, _ := feed(1)
	h := Handler(f)
	css := ask(h, "/style.css").Body.String()
	dark, light, _ := strings.Cut(css, "@media (prefers-color-scheme: light)")
	light, _, _ = strings.Cut(light, "\n}")
	variable := regexp.MustCompile(`--([a-z0-9-]+): (#[0-9a-f]{6});`)
	for name, text := range map[string]string{"dark": dark, "light": light} {
		colours := map[string]string{}
		for _, m := range variable.FindAllStringSubmatch(text, -1) {
			colours[m[1]] = m[2]
		}
		if len(colours) != 18 {
			t.Errorf("%s: %d colours", name, len(colours))
		}
		for _, ink := range []string{"text", "dim", "out", "in", "warn", "bad", "good"} {
			for _, ground := range []string{"back", "panel"} {
				if c := contrast(t, colours[ink], colours[ground]); c < 4.5 {
					t.Errorf("%s: --%s on --%s has a contrast of %.1f", name, ink, ground, c)
				}
			}
		}
	}
	for _, path := range []string{"/draw.js", "/page.js"} {
		if found := regexp.MustCompile(`"#[0-9a-f]{3,8}"`).FindString(ask(h, path).Body.String()); found != "" {
			t.Errorf("%s has a colour of its own, %s", path, found)
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// luminance returns the relative luminance of a colour (WCAG 2.2, definitions).
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	v, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 24)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, weight := range []float64{0.0722, 0.7152, 0.2126} {
		c := float64(v>>(8*i)&0xff) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
