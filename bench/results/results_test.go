package results

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const top = "../../"

// The document contains the stored tables, as "make results" writes it.
func TestDocumentIsWhatTheTablesSay(t *testing.T) {
	tables, err := load("stored")
	if err != nil {
		t.Fatal(err)
	}
	want, err := page(tables)
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile(top + "docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Error("docs/results.md is not what bench/results/stored gives: run make results")
	}
}

func TestStoredTablesAreWhole(t *testing.T) {
	tables, err := load("stored")
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, q := range questions {
		for _, name := range q.tables {
			asked[name] = true
		}
	}
	for name, v := range tables {
		if !asked[name] {
			t.Errorf("no question has the table %s", name)
		}
		if v.Date == "" || v.Command == "" {
			t.Errorf("%s has no date or no command", name)
		}
		for _, r := range v.Rows {
			if len(r) != len(v.Head) {
				t.Errorf("%s: %d cells in a row of %d: %q", name, len(r), len(v.Head), r)
			}
		}
		if v.Carried != "" {
			if _, err := os.Stat(filepath.Join(top, "docs", v.Carried)); err != nil {
				t.Errorf("%s is carried over from %s, which is not there", name, v.Carried)
			}
		}
	}
}

// write creates a file with the given lines.
func write(t *testing.T, lines ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lines.jsonl")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

const aboutLine = `{"about":{"date":"2026-11-22 10:00 UTC","machine":"2 x CPU","kernel":"6.18","versions":{"srdtun":"v1","wireguard-go":"2026"}}}`

func TestBenchIsTakenWithoutDisturbedValues(t *testing.T) {
	lines := []string{aboutLine}
	for _, k := range four {
		for _, v := range []string{"0.25", "0.10", "0.20"} {
			lines = append(lines, `{"round":1,"net":"4x100","kind":"`+k.name+`","row":"tcp1","metric":"gbit_per_s","value":`+v+`}`)
		}
		lines = append(lines, `{"round":2,"net":"4x100","kind":"`+k.name+`","row":"tcp1","metric":"gbit_per_s","value":9,"disturbed":"load"}`)
	}
	v, err := takeFabric(write(t, lines...))
	if err != nil {
		t.Fatal(err)
	}
	if v.Date != "2026-11-22" || v.Version != "v1" || v.Note != "The other programs in this table are wireguard-go 2026." {
		t.Errorf("head is %+v", v)
	}
	if got := v.Rows[0][4]; got != "200 [100..250]" {
		t.Errorf("one flow is %q", got)
	}
	if got := v.Rows[1][4]; got != "–" {
		t.Errorf("what was not measured is %q", got)
	}
}

// A flow's rate in VXLAN is compared with its rate without VXLAN in the same round.
func TestSharesAreOfTheSameRound(t *testing.T) {
	line := func(round, row, value, more string) string {
		return `{"round":` + round + `,"net":"real","kind":"srdtun","row":"` + row + `","metric":"gbit_per_s","value":` + value + more + `}`
	}
	all, err := readLines[benchLine](write(t,
		line("1", "tcp1", "4", ""), line("1", "vxlan", "2", ""),
		line("2", "tcp1", "2", ""), line("2", "vxlan", "2", ""),
		line("3", "tcp1", "1", `,"disturbed":"load"`), line("3", "vxlan", "9", ""),
		line("4", "vxlan", "9", "")))
	if err != nil {
		t.Fatal(err)
	}
	got, busy := benchValues(all, "real", "srdtun", &benchRow{row: "vxlan/tcp1", metric: "gbit_per_s"})
	if !slices.Equal(got, []float64{0.5, 1}) || busy {
		t.Errorf("shares %v, want 0.5 and 1", got)
	}
	if got, busy := benchValues(all[4:], "real", "srdtun", &benchRow{row: "vxlan/tcp1", metric: "gbit_per_s"}); !slices.Equal(got, []float64{9}) || !busy {
		t.Errorf("shares %v of a busy machine, want 9", got)
	}
}

func TestAKindThatIsMissingKeepsTheTable(t *testing.T) {
	file := write(t, aboutLine, `{"net":"4x100","kind":"srdtun","row":"tcp1","metric":"gbit_per_s","value":0.3}`)
	if _, err := takeFabric(file); err == nil {
		t.Error("a table without plain TCP was taken")
	}
}

// The result of a run with only some rows does not replace a table that has all rows.
func TestSomeRowsKeepTheTable(t *testing.T) {
	lines := []string{aboutLine}
	for _, k := range tunnels {
		for _, row := range []string{"tcp1", "vxlan"} {
			for _, metric := range []string{"gbit_per_s", "cpu_s_per_gb"} {
				lines = append(lines, `{"round":1,"net":"real","kind":"`+k.name+`","row":"`+row+`","metric":"`+metric+`","value":2}`)
			}
		}
	}
	file := write(t, lines...)
	if _, err := takeLink(file); err == nil {
		t.Error("a table without eight flows was taken")
	}
	if _, err := takeVXLAN(file); err != nil {
		t.Error(err)
	}
}

func TestDeathsAreSummedUp(t *testing.T) {
	var lines []string
	for range 98 {
		lines = append(lines, `{"before":400,"during":300,"stall":15,"dead":{"again":0}}`)
	}
	if _, err := takeBlackhole(write(t, lines...)); err == nil {
		t.Error("a 99th percentile of 98 values was taken")
	}
	lines = append(lines, `{"before":400,"during":300,"stall":30,"dead":{"again":1}}`, `{"before":400,"during":300,"stall":45,"dead":{"again":0}}`)
	v, err := takeBlackhole(write(t, lines...))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"15 / 30 / 45", "75 %", "1", "0"} {
		if got := v.Rows[i][1]; got != want {
			t.Errorf("%s: %q, want %q", v.Rows[i][0], got, want)
		}
	}
}

func TestValuesInWords(t *testing.T) {
	for _, x := range []struct {
		got, want string
	}{
		{median(nil, 1), "–"},
		{median([]float64{3}, 1), "3.00"},
		{median([]float64{30, 10}, 1), "20.0 [10.0..30.0]"},
		{carriedName("congestion.md"), "congestion"},
	} {
		if x.got != x.want {
			t.Errorf("%q, want %q", x.got, x.want)
		}
	}
}

func TestFewRunsAreNoTable(t *testing.T) {
	if _, err := takePlans(t.TempDir()); err == nil {
		t.Error("a table of no runs was taken")
	}
	if _, err := takePolicies(write(t, "")); err == nil {
		t.Error("a table of no comparison was taken")
	}
}

func TestApplicationsAreWholeOrKept(t *testing.T) {
	var lines []string
	for _, k := range appKinds {
		for _, r := range appRows {
			var values []string
			for i, name := range slices.Concat(r.values, []string{"calm_p50_ms", "failed", "commits", "deaths"}) {
				values = append(values, fmt.Sprintf(`{"name":%q,"value":%d}`, name, i))
			}
			lines = append(lines, fmt.Sprintf(`{"app":%q,"kind":%q,"version":"v1","values":[%s]}`, r.app, k.name, strings.Join(values, ",")))
		}
	}
	v, err := takeApps(write(t, lines...))
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Rows[3][3]; got != "0 / 1 / 2" || v.Version != "v1" {
		t.Errorf("the ring's row is %q of version %q", got, v.Version)
	}
	if _, err := takeApps(write(t, lines[1:]...)); err == nil {
		t.Error("a table without PostgreSQL over plain TCP was taken")
	}
	lines[0] = `{"app":"postgres","kind":"tcp","error":"it stood still"}`
	if _, err := takeApps(write(t, lines...)); err == nil {
		t.Error("a run that failed was taken")
	}
}

// If a transport has no value for a row, the cell has a single dash, even if the row joins two
// values.
func TestMessagesAreTaken(t *testing.T) {
	lines := []string{aboutLine}
	add := func(net, kind, row, metric, value string) {
		lines = append(lines, `{"round":1,"net":"`+net+`","kind":"`+kind+`","row":"`+row+`","metric":"`+metric+`","value":`+value+`}`)
	}
	for _, k := range messageKinds {
		for _, net := range []string{"one-link", "four-links"} {
			add(net, k.name, "pingpong", "p50_us", "20")
			add(net, k.name, "pingpong", "p99_us", "40")
		}
	}
	add("one-link", "srdperf", "write", "gbit_per_s", "3")
	add("one-link", "srdperf", "read", "gbit_per_s", "4")
	v, err := takeMessages(write(t, lines...))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := v.Rows[0], []string{v.Rows[0][0], "20.0 / 40.0", "20.0 / 40.0", "20.0 / 40.0"}; !slices.Equal(got, want) {
		t.Errorf("ping-pong is %q", got)
	}
	i := slices.IndexFunc(v.Rows, func(r []string) bool { return strings.Contains(r[0], "writes / reads") })
	if got, want := v.Rows[i][1:], []string{"–", "–", "3.00 / 4.00"}; !slices.Equal(got, want) {
		t.Errorf("writes and reads are %q, want %q", got, want)
	}
	if _, err := takeMessages(write(t, lines[:len(lines)-4]...)); err == nil {
		t.Error("a file without the fabric is accepted")
	}
}

// If a run is incomplete, the old table is kept.
func TestHalfACloudIsNoTable(t *testing.T) {
	lines := []string{aboutLine}
	for _, k := range cloudKinds {
		for _, m := range []string{`"flow1","metric":"mbit_per_s"`, `"flow8","metric":"mbit_per_s"`, `"fetch","metric":"p50_ms"`, `"fetch","metric":"p99_ms"`, `"ask","metric":"p50_us"`, `"ask","metric":"p99_us"`} {
			for _, net := range []string{"cloud500", "cloud2000"} {
				lines = append(lines, `{"round":1,"net":"`+net+`","kind":"`+k.name+`","row":`+m+`,"value":48}`)
			}
		}
	}
	if v, err := takeCloud(write(t, lines...)); err != nil || len(v.Rows) != 6 || v.Rows[2][6] != "48.0 / 48.0" {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err := takeCloud(write(t, lines[:len(lines)-9]...)); err == nil {
		t.Errorf("%+v", v)
	}
}
