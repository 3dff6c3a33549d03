package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// bar shows progress on a terminal. If there is no terminal, it does nothing.
type bar struct {
	w    io.Writer
	mu   sync.Mutex // guards said, and w
	said time.Time
}

// barEvery is the redraw interval, and barWidth is the width in columns.
const (
	barEvery = 200 * time.Millisecond
	barWidth = 30
)

func newBar(w io.Writer) *bar {
	f, ok := w.(*os.File)
	if !ok {
		return &bar{}
	}
	if i, err := f.Stat(); err != nil || i.Mode()&os.ModeCharDevice == 0 {
		return &bar{}
	}
	return &bar{w: w}
}

func (b *bar) show(label string, share float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.w == nil || time.Since(b.said) < barEvery {
		return
	}
	b.said = time.Now()
	full := int(share * barWidth)
	fmt.Fprintf(b.w, "\r\x1b[K[%s%s] %3.0f %% %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), 100*share, label)
}

func (b *bar) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.w != nil {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
}
