package meter

import "testing"

func TestParseCPU(t *testing.T) {
	c, err := parseCPU("cpu  100 20 300 4000 50 6 70 8 0 0\ncpu0 1 1 1 1\n")
	if want := (CPUTime{4.96, 0.2, 0.08}); err != nil || c != want {
		t.Errorf("%+v, %v, want %+v", c, err, want)
	}
	for _, bad := range []string{"", "cpu 1 2 3", "intr 1 2 3 4 5 6 7 8 9", "cpu 1 2 x 4 5 6 7 8"} {
		if _, err := parseCPU(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
