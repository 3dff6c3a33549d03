package apps

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCommitsCountFromWhenTheyWereDue(t *testing.T) {
	log := "3 17 2500000 0 1763900000 250000 40\n" +
		"4 18 failed 0 1763900000 260000 40\n" +
		"1 0 900 0 1763900001 1 0 0\n"
	all, err := readCommits(strings.NewReader(log))
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	if d := all[0].answered.Sub(all[0].asked); d != 2500*time.Millisecond {
		t.Errorf("the first took %v", d)
	}
	if want := time.Unix(1763900000, 250e6); !all[0].answered.Equal(want) {
		t.Errorf("the first ended at %v", all[0].answered)
	}
	if _, err := readCommits(strings.NewReader("1 2 x 0 5 6\n")); err == nil {
		t.Error("a time that is no number was taken")
	}
}

func TestFailures(t *testing.T) {
	if n, err := failures("tps = 1\nnumber of failed transactions: 12 (0.1%)\n"); n != 12 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := failures("pgbench: error: aborted"); err == nil {
		t.Error("silence of pgbench was taken for success")
	}
}

// A response counts for a spine failure if its request was open while the spine was down, even if
// the response arrived long afterwards.
func TestStalls(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(1e6 + int64(ms)) }
	d := death{at(0), at(1000), at(3000)}
	answers := []answer{
		{at(100), at(105)},    // before the failure
		{at(990), at(4200)},   // begun before the failure, answered after it
		{at(1500), at(1600)},  // within the failure
		{at(3100), at(13100)}, // after the spine was healed
	}
	dying, calm := stalls(answers, []death{d})
	if dying[0] != 3210*time.Millisecond || calm[0] != 3210*time.Millisecond {
		t.Errorf("dying %v, calm %v", dying, calm)
	}
	if got := longest(answers[:1], d.calm, d.died); got != 5*time.Millisecond {
		t.Errorf("calm alone %v", got)
	}
}

func TestOnly(t *testing.T) {
	apps := []string{"postgres", "etcd"}
	for _, c := range []struct {
		only, name string
		want       bool
	}{{"", "etcd", true}, {"etcd", "etcd", true}, {"etcd", "postgres", false}, {"srdtun", "postgres", true}, {"srdtun,etcd", "postgres", false}} {
		if got := chosen(c.only, c.name, apps); got != c.want {
			t.Errorf("-only %q: %s %v", c.only, c.name, got)
		}
	}
	if err := (options{only: "mysql"}).check(); err == nil {
		t.Error("an application that is not there was taken")
	}
}

// Each row of the table belongs to an existing application. A run with one transport shows only the
// rows that have values.
func TestTable(t *testing.T) {
	names := words()
	for _, row := range rows {
		if !strings.Contains(strings.Join(names, " "), row.app) {
			t.Errorf("row %q is of no application", row.title)
		}
	}
	r := &run{all: []record{{App: "etcd", Kind: "srdtun", Values: []value{{"elections", 0}}}}}
	_, table := r.table()
	if len(table) != 1 || strings.Join(table[0][1:], " ") != "– – 0" {
		t.Errorf("%q", table)
	}
}

// told returns the output of the incast for a simple case. In round n each flow takes n times the
// ideal, and half of the processors are idle.
func told(t *testing.T) []string {
	t.Helper()
	var lines []string
	for _, m := range messages {
		for round := range mpiWarm + m.rounds {
			for rank := 1; rank <= mpiSenders*mpiEach; rank++ {
				us := time.Duration(1+round) * incastIdeal(m.size) / time.Microsecond
				lines = append(lines, fmt.Sprintf("flow %d %d %d %d", m.size, round, rank, us))
			}
			lines = append(lines, fmt.Sprintf("idle %d %d 10 20", m.size, round))
		}
	}
	return lines
}

func TestIncast(t *testing.T) {
	// 48 times 2 MB, with the headers of Ethernet, IP and TCP, are 100 MB, which are sent at 12.5
	// MB/s.
	if got := incastIdeal(2_000_000).Round(10 * time.Millisecond); got != 8030*time.Millisecond {
		t.Errorf("ideal %v, want 8.03s", got)
	}
	lines := told(t)
	values, err := incastValues(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []value{{"2m_max_over_ideal", float64(mpiWarm + messages[0].rounds)}, {"64k_idle", 0.5}, {"64k_p99_over_ideal", float64(mpiWarm + messages[1].rounds)}} {
		i := slices.IndexFunc(values, func(v value) bool { return v.Name == want.Name })
		if i < 0 || math.Abs(values[i].Value-want.Value) > 0.01 {
			t.Errorf("%v, want %v", values, want)
		}
	}
	for what, lines := range map[string][]string{"one flow less": lines[:len(lines)-2], "what is no flow": append([]string{"flow x"}, lines...)} {
		if _, err := incastValues(strings.NewReader(strings.Join(lines, "\n"))); err == nil {
			t.Errorf("%s was taken", what)
		}
	}
}

// Warm-up rounds are not measured, so the fastest flow is that of the first round after them.
func TestIncastLeavesWarmUpOut(t *testing.T) {
	var lines []string
	for _, l := range told(t) {
		f := strings.Fields(l)
		if f[0] == "flow" && f[2] == "0" {
			l = strings.Join(append(f[:4], "999999999"), " ")
		}
		lines = append(lines, l)
	}
	values, err := incastValues(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		if v.Value > 100 {
			t.Errorf("%s is %v", v.Name, v.Value)
		}
	}
}

// Processor time is counted from the beginning of each round to its end, without warm-up rounds,
// however the output is divided into writes.
func TestTollIsOfRounds(t *testing.T) {
	x := &toll{c: &cluster{}, pids: []int{}, used: map[int]time.Duration{}, of: map[int]time.Duration{}}
	for _, part := range []string{"begin 5 0 0 0\nidle 5 0 ", "1 2\nbeg", "in 5 1 0 0\n", "idle 5"} {
		if _, err := x.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if len(x.of) != 0 {
		t.Errorf("%v before a round that counts has ended", x.of)
	}
	x.began = x.began.Add(-time.Second)
	if _, err := x.Write([]byte(" 1 3 4\n")); err != nil {
		t.Fatal(err)
	}
	if got := x.of[5]; got < time.Second || got > time.Minute*time.Duration(runtime.NumCPU()) {
		t.Errorf("all processors had %v in a second", got)
	}
}
