package pause

import (
	"context"
	"testing"
	"time"
)

func TestFor(t *testing.T) {
	begin := time.Now()
	if !For(t.Context(), 10*time.Millisecond) || time.Since(begin) < 10*time.Millisecond {
		t.Errorf("the pause of 10 ms ended after %v", time.Since(begin))
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if For(ended, time.Hour) {
		t.Error("an ended context is live")
	}
}
