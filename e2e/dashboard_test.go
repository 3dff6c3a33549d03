package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/browser"
	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
	"github.com/srdtun/srdtun/overlay/control"
)

// picture is the file for the screenshot of the page.
var picture = flag.String("dashboard.png", "", "take a picture of the dashboard when a path has died and is back")

const (
	pageAt = "127.0.0.1:9587"
	// The constants are the size in pixels of the screenshot in docs/.
	pageWidth, pageHeight = 1280, 860
	// seen bounds the time until the page shows a failed path, on a busy machine. In this time, the
	// transport detects the failure, the daemon takes a sample within half a second, and the page
	// draws the sample.
	seen = 20 * time.Second
)

// TestDashboardSeesAPathDie opens the page in a browser while a spine fails and recovers under
// load.
func TestDashboardSeesAPathDie(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	p := pair(t, f, tunnel.Config{SourcePorts: 12, Extra: "\n[dashboard]\nlisten = \"" + pageAt + "\"\n"})
	b, err := browser.Start(p.A.Host.Namespace, t.TempDir(), pageWidth, pageHeight)
	must(t, err)
	defer b.Close()
	load, err := meter.Start(meter.Flow{Client: f.A(1), Server: f.B(1), To: tunnel.Inner4(2), Streams: 4, For: 3 * time.Minute})
	must(t, err)
	defer load.Stop()
	must(t, b.Open("http://"+pageAt+"/"))
	await := func(script string) {
		t.Helper()
		must(t, b.Await(script, seen))
	}
	const data = "document.body.dataset."
	await(fmt.Sprintf("%[1]ssamples > 3 && %[1]spaths > 0 && %[1]sactive == %[1]spaths", data))
	checkTimes(t, b, p.A)
	pause(picturePause)
	must(t, f.Break(2))
	began := time.Now()
	await(data + "down > 0 && " + data + "active > 0")
	t.Logf("the page shows it after %v", time.Since(began).Round(10*time.Millisecond))
	await(`/b: [0-9]+ of [0-9]+ paths do not work/.test(document.getElementById("events").textContent)`)
	pause(picturePause)
	must(t, f.Heal())
	await(data + "down == 0 && " + data + "active == " + data + "paths")
	await(`/b: all [0-9]+ paths work again/.test(document.getElementById("events").textContent)`)
	await(`/bit/.test(document.getElementById("out").textContent)`)
	pause(picturePause)
	checkSchemes(t, b)
	takePicture(t, b)
	if len(b.Faults) > 0 {
		t.Errorf("the page complains: %s", strings.Join(b.Faults, "\n"))
	}
}

// checkTimes compares the page's round-trip time and reordering delay with the values of the daemon
// at n, while the policy sprays four flows over four spines.
func checkTimes(t *testing.T, b *browser.Browser, n *tunnel.Node) {
	t.Helper()
	// After the first half second, some frames wait for earlier frames in each half second of full
	// load.
	for _, tile := range []string{"rtt", "wait"} {
		must(t, b.Await(fmt.Sprintf("%s > 0", milliseconds(tile)), seen))
		if err := b.Await(fmt.Sprintf(`/\d+(\.\d+)? (ms|µs) of it in queues|[1-9]\d* frames\/s had to wait/.test(document.getElementById("%s-note").textContent)`, tile), seen); err != nil {
			t.Error(err)
		}
		// The chart next to the tile must contain a line, and so more colours than the grid has.
		if err := b.Await(fmt.Sprintf(`(() => { const c = document.getElementById("chart-%s"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, v = new Set();
			for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200) v.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return v.size > 8; })()`, tile), seen); err != nil {
			t.Error(err)
		}
	}
	// Both values change constantly, so one agreement between page and daemon is enough.
	var said string
	for end := time.Now().Add(seen); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		rtt, err := b.Eval(milliseconds("rtt"))
		must(t, err)
		wait, err := b.Eval(milliseconds("wait"))
		must(t, err)
		var st control.Status
		shown, err := n.Show()
		if err == nil {
			err = json.Unmarshal(shown, &st)
		}
		must(t, err)
		least, most := math.Inf(1), 0.0
		for _, path := range st.Peers[0].Paths {
			if ms := float64(path.SRTTUs) / 1000; path.State == control.PathActive && ms > 0 {
				least, most = min(least, ms), max(most, ms)
			}
		}
		longest := float64(st.Peers[0].Order.LongestHoldUs) / 1000
		said = fmt.Sprintf("round trip %s ms, paths have %.3f to %.3f; reorder wait %s ms, the longest was %.3f", rtt, least, most, wait, longest)
		if r, w := number(rtt), number(wait); r >= least/2 && r <= 2*most && w > 0 && w <= longest {
			t.Log(said)
			return
		}
	}
	t.Errorf("not plausible: %s", said)
}

// milliseconds returns a script that evaluates to the number of a tile that shows a time, or to NaN
// if the tile shows no time.
func milliseconds(tile string) string {
	return fmt.Sprintf(`((m) => m ? m[1] / (m[2] === "ms" ? 1 : 1000) : NaN)(/^([\d.]+) (ms|µs)$/.exec(document.getElementById("%s").textContent))`, tile)
}

func number(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// checkSchemes tests the page on narrow and wide screens, in the light and the dark colour scheme.
func checkSchemes(t *testing.T, b *browser.Browser) {
	t.Helper()
	for _, width := range []int{720, 1600, pageWidth} {
		for _, scheme := range []string{"light", "dark"} {
			must(t, errors.Join(b.Resize(width, pageHeight), b.Prefer(scheme)))
			if err := b.Await("document.documentElement.scrollWidth <= innerWidth", seen); err != nil {
				t.Errorf("%d pixels, %s: the page is too wide: %v", width, scheme, err)
			}
			m := look(t, b)
			if n := colours(m); n < 100 {
				t.Errorf("%d pixels, %s: a picture of %d colours shows nothing", width, scheme, n)
			}
			if light := color.GrayModel.Convert(m.At(0, 0)).(color.Gray).Y > 128; light != (scheme == "light") {
				t.Errorf("%d pixels: the background is not %s", width, scheme)
			}
		}
	}
}

// look returns a screenshot of the page.
func look(t *testing.T, b *browser.Browser) image.Image {
	t.Helper()
	shot, err := b.Screenshot()
	must(t, err)
	m, err := png.Decode(bytes.NewReader(shot))
	must(t, err)
	return m
}

// picturePause lets the screenshot show some time before, during and after the fault.
const picturePause = 36 * time.Second

func pause(d time.Duration) {
	if *picture != "" {
		time.Sleep(d)
	}
}

func takePicture(t *testing.T, b *browser.Browser) {
	t.Helper()
	if *picture == "" {
		return
	}
	file, err := os.Create(*picture)
	must(t, err)
	defer file.Close()
	small := png.Encoder{CompressionLevel: png.BestCompression}
	must(t, small.Encode(file, coarse(look(t, b))))
}

func colours(m image.Image) int {
	seen := map[color.Color]bool{}
	for y := range m.Bounds().Dy() {
		for x := range m.Bounds().Dx() {
			seen[m.At(x, y)] = true
		}
	}
	return len(seen)
}

// coarse keeps six bits of each colour channel. The difference is invisible, and the file is a
// fifth smaller.
func coarse(m image.Image) image.Image {
	c := image.NewRGBA(m.Bounds())
	draw.Draw(c, c.Bounds(), m, image.Point{}, draw.Src)
	for i, v := range c.Pix {
		c.Pix[i] = v&^3 | v>>6
	}
	return c
}
