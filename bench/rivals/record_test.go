package rivals

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestRecordsAreReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "bench.jsonl")
	a := about{Date: "today", Rounds: 5, Versions: map[string]string{"nebula": "v1"}}
	r, err := newRecorder(path, a)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := r.add(record{Round: i, Net: "real", Kind: "tcp", Row: rowTCP1, Metric: gbps, Value: 0.5, Disturbed: "steal"}); err != nil {
			t.Fatal(err)
		}
	}
	// The recorder is not closed, because a run may end at any point.
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, all, err := readRecords(f)
	if err != nil || !reflect.DeepEqual(a, b) || !reflect.DeepEqual(all, r.all) {
		t.Errorf("%+v, %+v, %v", b, all, err)
	}
	if _, _, err := readRecords(strings.NewReader(`{"round":1}`)); err == nil {
		t.Error("a file that does not say what was run is accepted")
	}
}
