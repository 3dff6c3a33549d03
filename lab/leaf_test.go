package lab

import (
	"testing"
	"time"
)

// This is CONGA's example (figure 2). Leaves that know the load of remote links carry more than
// ECMP does, and more than leaves that know only their own uplinks.
func TestLeavesSeeTheFarLink(t *testing.T) {
	p, err := Load("conga-static.toml", data)
	if err != nil {
		t.Fatal(err)
	}
	p.Limit.Duration = 60 * time.Millisecond
	carried := map[string]int64{}
	for i := range p.Cases {
		r, err := Run(p, &p.Cases[i], Ideal, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range r.Samples[len(r.Samples)/3:] {
			for _, n := range row {
				carried[r.Case] += n
			}
		}
	}
	if carried["conga"] <= max(carried["ecmp"], carried["local"]) {
		t.Errorf("bytes carried: %v", carried)
	}
}

// A flow plan with several hosts describes one flow of each host.
func TestFlowOfSeveralHosts(t *testing.T) {
	p, err := load(head + network + "[[case]]\nname = \"x\"\ntransport = \"srd\"\n[[case.flow]]\nsrc = 1\ndst = 17\nsize = 9\nhosts = 3\nstep = 2\nstagger = \"5us\"\n")
	if err != nil {
		t.Fatal(err)
	}
	v, err := Flows(p, &p.Cases[0], 1)
	if err != nil || len(v) != 3 || v[2].Src != 3 || v[2].Dst != 21 || v[2].At != 10*time.Microsecond {
		t.Errorf("%v, %+v", err, v)
	}
}
