package results

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// benchLine is a line of the file that "bench rivals" writes. The file's first line describes the
// run, and each other line is a value.
type benchLine struct {
	About *struct {
		Date     string            `json:"date"`
		Machine  string            `json:"machine"`
		Kernel   string            `json:"kernel"`
		Versions map[string]string `json:"versions"`
	} `json:"about"`
	Round     int     `json:"round"`
	Net       string  `json:"net"`
	Kind      string  `json:"kind"`
	Row       string  `json:"row"`
	Metric    string  `json:"metric"`
	Value     float64 `json:"value"`
	Disturbed string  `json:"disturbed"`
	Error     string  `json:"error"`
}

// benchRow is a row of a table, with the factor by which its values are multiplied. For a row
// "a/b", each value is the value of a divided by the value of b in the same round.
type benchRow struct {
	title       string
	row, metric string
	unit        float64
}

// kinds lists the columns of a table by their names in the file.
type kinds []struct{ name, title string }

var four = kinds{{"tcp", "plain TCP"}, {"wireguard-go", "wireguard-go"}, {"mptcp", "kernel MPTCP"}, {"srdtun", "srdtun"}}

func takeFabric(file string) (*table, error) {
	return takeBench(file, "4x100", four, []benchRow{
		{"one TCP flow, Mbit/s", "tcp1", "gbit_per_s", 1000},
		{"… processor s per GB, whole machine", "tcp1", "cpu_s_per_gb", 1},
		{"eight TCP flows, Mbit/s", "tcp8", "gbit_per_s", 1000},
		{"… processor s per GB", "tcp8", "cpu_s_per_gb", 1},
	})
}

var tunnels = kinds{{"wireguard-go", "wireguard-go"}, {"wireguard-ts", "Tailscale's fork"}, {"nebula", "Nebula"}, {"srdtun", "srdtun"}}

// takeVXLAN makes the table for a flow inside VXLAN. The VXLAN measurement has a separate file
// because it takes minutes.
func takeVXLAN(file string) (*table, error) {
	return whole(takeBench(file, "real", tunnels, []benchRow{
		{"one TCP flow in VXLAN, Gbit/s", "vxlan", "gbit_per_s", 1},
		{"… divided by the rate without VXLAN, in the same round", "vxlan/tcp1", "gbit_per_s", 1},
		{"… processor s per GB, whole machine", "vxlan", "cpu_s_per_gb", 1},
	}))
}

func takeLink(file string) (*table, error) {
	return whole(takeBench(file, "real", tunnels, []benchRow{
		{"one TCP flow, Gbit/s", "tcp1", "gbit_per_s", 1},
		{"… processor s per GB, whole machine", "tcp1", "cpu_s_per_gb", 1},
		{"eight TCP flows, Gbit/s", "tcp8", "gbit_per_s", 1},
		{"64-byte UDP without loss, 1,000 packets/s", "udp64", "kpackets_per_s", 1},
		{"64-byte requests, idle, p50, us", "rtt", "p50_us", 1},
		{"… p99", "rtt", "p99_us", 1},
		{"… beside a bulk flow, p50, us", "rtt-load", "p50_us", 1},
		{"… p99", "rtt-load", "p99_us", 1},
		{"memory with eight TCP flows, MiB", "tcp8", "rss_mib", 1},
	}))
}

// whole passes a table on, or returns an error if the table lacks a value.
func whole(t *table, err error) (*table, error) {
	if err != nil {
		return nil, err
	}
	for _, cells := range t.Rows {
		if slices.Contains(cells, nothing) {
			return nil, fmt.Errorf("not all was measured of %q", cells[0])
		}
	}
	return t, nil
}

// takeBench builds the document's table for one network. Every compared transport must have values
// for this network. A value of a disturbed measurement counts only if its transport has no other
// value.
func takeBench(file, net string, columns kinds, rows []benchRow) (*table, error) {
	all, err := readLines[benchLine](file)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 || all[0].About == nil {
		return nil, errNothing
	}
	a := all[0].About
	kernel, _, _ := strings.Cut(a.Kernel, "-") // the rest is the suffix of the kernel's distributor
	t := &table{Date: a.Date, Machine: a.Machine + ", Linux " + kernel, Version: a.Versions["srdtun"], Head: []string{""}}
	t.Date, _, _ = strings.Cut(t.Date, " ")
	var others []string
	for _, name := range slices.Sorted(maps.Keys(a.Versions)) {
		if name != "srdtun" {
			others = append(others, name+" "+a.Versions[name])
		}
	}
	if len(others) > 0 {
		t.Note = "The other programs in this table are " + strings.Join(others, "; ") + "."
	}
	busy := false
	values := func(kind string, r *benchRow) []float64 {
		v, disturbed := benchValues(all[1:], net, kind, r)
		busy = busy || disturbed
		return v
	}
	for _, k := range columns {
		t.Head = append(t.Head, k.title)
		if values(k.name, &rows[0]) == nil {
			return nil, fmt.Errorf("%s has nothing of %s on %s", file, k.name, net)
		}
	}
	for i := range rows {
		cells := []string{rows[i].title}
		for _, k := range columns {
			cells = append(cells, median(values(k.name, &rows[i]), rows[i].unit))
		}
		t.Rows = append(t.Rows, cells)
	}
	if busy {
		t.Note = strings.TrimSpace(t.Note + " Other processes used the machine at the same time.")
	}
	return t, nil
}

// benchValues returns the values of a transport in a row. A value of a disturbed measurement
// counts only if there is no other value. In that case the result `busy` is true.
func benchValues(all []benchLine, net, kind string, r *benchRow) (v []float64, busy bool) {
	row, over, share := strings.Cut(r.row, "/")
	whole := map[int]*benchLine{} // values of the row after the slash, by round
	for i := range all {
		if x := &all[i]; x.Error == "" && x.Net == net && x.Kind == kind && x.Row == over && x.Metric == r.metric {
			whole[x.Round] = x
		}
	}
	var late []float64
	for _, x := range all {
		if x.Error != "" || x.Net != net || x.Kind != kind || x.Row != row || x.Metric != r.metric {
			continue
		}
		disturbed, value := x.Disturbed != "", x.Value
		if share {
			o := whole[x.Round]
			if o == nil {
				continue
			}
			disturbed, value = disturbed || o.Disturbed != "", value/o.Value
		}
		if disturbed {
			late = append(late, value)
		} else {
			v = append(v, value)
		}
	}
	if v == nil {
		return late, late != nil
	}
	return v, false
}
