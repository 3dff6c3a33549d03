// Package browser drives a headless Chromium inside a network namespace through a pipe. The pipe
// carries the Chrome DevTools Protocol, in JSON messages that each end with a zero byte.
package browser

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// patience bounds the time of one step of Chromium. The start of Chromium takes 1 s on an idle
// machine, and 10 s on a busy machine.
const patience = 40 * time.Second

// Browser is a Chromium process with one page.
type Browser struct {
	cmd     *exec.Cmd
	log     fabric.Log
	in      *os.File
	out     *os.File
	answers chan answer
	number  int
	session string // session ID of the page
	Faults  []string
}

type answer struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Start runs Chromium with a window of the given size, and stores its files in dir.
func Start(at *fabric.Namespace, dir string, width, height int) (*Browser, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	defer theirOut.Close()
	// Chromium refuses to create a sandbox for root, so it runs without a sandbox.
	b := &Browser{in: in, out: out, answers: make(chan answer, 64), cmd: at.Command("chromium", "--headless", "--no-sandbox",
		"--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--hide-scrollbars",
		"--remote-debugging-pipe", "--user-data-dir="+dir, fmt.Sprintf("--window-size=%d,%d", width, height), "about:blank")}
	b.cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir)
	b.cmd.Stdout, b.cmd.Stderr = &b.log, &b.log
	b.cmd.ExtraFiles = []*os.File{theirIn, theirOut} // descriptors 3 and 4
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := at.Do(b.cmd.Start); err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	go b.listen()
	return b, b.attach(width, height)
}

// listen reads messages from Chromium until the pipe ends.
func (b *Browser) listen() {
	defer close(b.answers)
	for r := bufio.NewReader(b.out); ; {
		text, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var a answer
		if json.Unmarshal(text[:len(text)-1], &a) == nil {
			b.answers <- a
		}
	}
}

// attach opens a page and attaches to it.
func (b *Browser) attach(width, height int) error {
	var page struct {
		TargetID  string `json:"targetId"`
		SessionID string `json:"sessionId"`
	}
	if err := b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &page); err != nil {
		return err
	}
	if err := b.call("Target.attachToTarget", map[string]any{"targetId": page.TargetID, "flatten": true}, &page); err != nil {
		return err
	}
	b.session = page.SessionID
	return errors.Join(
		b.call("Runtime.enable", nil, nil), b.call("Log.enable", nil, nil), b.call("Page.enable", nil, nil),
		b.Resize(width, height))
}

// Resize gives the page a size in pixels.
func (b *Browser) Resize(width, height int) error {
	size := map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}
	return b.call("Emulation.setDeviceMetricsOverride", size, nil)
}

// Prefer sets the colour scheme that the reader prefers, "light" or "dark".
func (b *Browser) Prefer(scheme string) error {
	features := []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}
	return b.call("Emulation.setEmulatedMedia", map[string]any{"features": features}, nil)
}

// call sends a command to Chromium, and waits for the answer. Meanwhile, call records errors that
// the page reports.
func (b *Browser) call(method string, params, result any) error {
	b.number++
	if params == nil {
		params = struct{}{}
	}
	ask, err := json.Marshal(map[string]any{"id": b.number, "method": method, "params": params, "sessionId": b.session})
	if b.session == "" {
		ask, err = json.Marshal(map[string]any{"id": b.number, "method": method, "params": params})
	}
	if err != nil {
		return err
	}
	if _, err := b.in.Write(append(ask, 0)); err != nil {
		return fmt.Errorf("%s: %w\n%s", method, err, b.log.String())
	}
	for limit := time.After(patience); ; {
		select {
		case a, ok := <-b.answers:
			switch {
			case !ok:
				return fmt.Errorf("%s: chromium ended\n%s", method, b.log.String())
			case a.Method == "Runtime.exceptionThrown" || a.Method == "Log.entryAdded":
				b.Faults = append(b.Faults, string(a.Params))
			case a.ID != b.number:
			case a.Error != nil:
				return fmt.Errorf("%s: %s", method, a.Error.Message)
			case result == nil:
				return nil
			default:
				return json.Unmarshal(a.Result, result)
			}
		case <-limit:
			return fmt.Errorf("%s: no answer after %v\n%s", method, patience, b.log.String())
		}
	}
}

// Open loads a URL into the page.
func (b *Browser) Open(url string) error {
	var went struct {
		ErrorText string `json:"errorText"`
	}
	if err := b.call("Page.navigate", map[string]any{"url": url}, &went); err != nil || went.ErrorText != "" {
		return errors.Join(err, fmt.Errorf("%s: %s", url, went.ErrorText))
	}
	return nil
}

// Eval runs a script in the page, and returns its result as text.
func (b *Browser) Eval(script string) (string, error) {
	var got struct {
		Result struct {
			Value any `json:"value"`
		} `json:"result"`
		Exception json.RawMessage `json:"exceptionDetails"`
	}
	err := b.call("Runtime.evaluate", map[string]any{"expression": "String(" + script + ")", "returnByValue": true}, &got)
	if err == nil && got.Exception != nil {
		err = fmt.Errorf("%s: %s", script, got.Exception)
	}
	text, _ := got.Result.Value.(string)
	return text, err
}

// Await waits until a script returns true, at most limit. Until then the script may fail, for
// example while the page loads.
func (b *Browser) Await(script string, limit time.Duration) error {
	for end := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
		got, err := b.Eval(script)
		switch {
		case err == nil && got == "true":
			return nil
		case time.Now().After(end):
			return fmt.Errorf("%s: still %q, %v, after %v; the page complains of %v", script, got, err, limit, b.Faults)
		}
	}
}

// Screenshot returns a PNG picture of the window.
func (b *Browser) Screenshot() ([]byte, error) {
	var shot struct {
		Data string `json:"data"`
	}
	if err := b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(shot.Data)
}

// Close ends Chromium and all its processes.
func (b *Browser) Close() {
	_ = b.in.Close()
	_ = syscall.Kill(-b.cmd.Process.Pid, syscall.SIGKILL)
	_ = b.cmd.Wait() // ignores the error of the killed process
	_, _ = io.Copy(io.Discard, b.out)
	for range b.answers {
	}
	_ = b.out.Close()
}
