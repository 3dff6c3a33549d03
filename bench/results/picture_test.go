package results

import "testing"

// The picture shows the values of the stored table.
func TestLinkPicture(t *testing.T) {
	tables, err := load("stored")
	if err != nil {
		t.Fatal(err)
	}
	link := tables["link"]
	p, err := linkPicture(link)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Panels) != len(drawnRows) {
		t.Errorf("%d panels", len(p.Panels))
	}
	for _, v := range p.Panels {
		if n := len(v.Bars); n != len(link.Head)-1 || v.Bars[n-1].Name != "srdtun" || v.Bars[n-1].Tone != 0 {
			t.Errorf("%s: %+v", v.Title, v.Bars)
		}
		for _, b := range v.Bars {
			if !(0 < b.Low && b.Low <= b.Value && b.Value <= b.High) {
				t.Errorf("%s: %+v", v.Title, b)
			}
		}
	}
}

func TestLinkPictureOfAnotherTable(t *testing.T) {
	if _, err := linkPicture(&table{Rows: [][]string{{"something else", "1 [1..1]"}}}); err == nil {
		t.Error("a table of something else is drawn")
	}
}
