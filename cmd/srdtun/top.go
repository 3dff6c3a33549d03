package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/cmd/srdtun/internal/view"
	"github.com/srdtun/srdtun/internal/pause"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"golang.org/x/sys/unix"
)

const (
	// topEvery is the interval at which the command top polls the daemon. With this interval a user
	// sees the failure of a path within a second.
	topEvery = 250 * time.Millisecond
	// topShare limits the load on the daemon, because collecting a status of a thousand peers takes
	// time. After a reply, the command top waits at least topShare times the time that the reply
	// took.
	topShare = 10
	// batchEvery is the interval at which screens are printed if there is no terminal.
	batchEvery = time.Second
	// batchWidth and batchHeight are the size of printed screens, in characters.
	batchWidth  = 80
	batchHeight = 24
)

type topFlags struct {
	batch  bool
	frames int
	ascii  bool
}

func topCommand() *cobra.Command {
	var f topFlags
	c := &cobra.Command{
		Use:   "top NAME|FILE",
		Short: "Watch the paths of a running interface",
		Long: `Watch the paths of a running interface. For each pair of addresses there are the
number of working paths, the round trip, its course over the last 20 s, the share of the
traffic, and the loss. Below is a character for each path: # up, ? silent, x down. A fault
shows within a second.

Keys: q quits, p shows single paths, tab the next peer, the arrows scroll. Without a
terminal, or on a dumb one, a screen is printed each second.`,
		Args:              takes(1, 1),
		ValidArgsFunction: completeRunning,
		RunE:              func(_ *cobra.Command, args []string) error { return top(args[0], f) },
	}
	c.Flags().BoolVarP(&f.batch, "batch", "b", false, "print screens one after the other")
	c.Flags().IntVarP(&f.frames, "number", "n", 0, "end after this many screens in batch mode; 0: never")
	c.Flags().BoolVar(&f.ascii, "ascii", false, "draw with ASCII only, the default if the locale is not UTF-8")
	return c
}

func top(arg string, f topFlags) error {
	if f.frames < 0 {
		return usagef("--number %d is negative", f.frames)
	}
	r, err := askOne(arg, control.Part{})
	if err != nil {
		return err
	}
	m := &topModel{at: r.at, screen: view.Top{ASCII: f.ascii || !utf8Locale(), Colour: colour(os.Stdout)}, width: batchWidth, height: batchHeight}
	m.screen.Feed(time.Now(), r.Status)
	if f.batch || !isTerminal(os.Stdout) || os.Getenv("TERM") == "dumb" {
		return m.batch(f.frames)
	}
	_, err = tea.NewProgram(m).Run()
	if errors.Is(err, tea.ErrInterrupted) {
		return nil
	}
	return err
}

// utf8Locale reports whether the locale has UTF-8, by the rule of locale(7).
func utf8Locale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(os.Getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

// topModel is the terminal program of top, and implements tea.Model.
type topModel struct {
	at            rundir.Place
	screen        view.Top
	width, height int
}

// answer is the daemon's reply to a request, with the time that it took.
type answer struct {
	status *control.Status
	err    error
	at     time.Time
	took   time.Duration
}

// ask requests the daemon's status once.
func (m *topModel) ask() tea.Msg {
	begin := time.Now()
	st, err := status(m.at)
	return answer{st, err, time.Now(), time.Since(begin)}
}

// Init implements tea.Model.
func (m *topModel) Init() tea.Cmd { return m.ask }

// Update implements tea.Model.
func (m *topModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch v := msg.(type) {
	case answer:
		m.take(v)
		return m, tea.Tick(max(topEvery-v.took, topShare*v.took), func(time.Time) tea.Msg { return m.ask() })
	case tea.WindowSizeMsg:
		m.width, m.height = v.Width, v.Height
	case tea.KeyPressMsg:
		return m, m.key(v.String())
	}
	return m, nil
}

func (m *topModel) take(v answer) {
	if v.err != nil {
		m.screen.Fail(oneLine(v.err))
		return
	}
	m.screen.Feed(v.at, v.status)
}

func (m *topModel) key(k string) tea.Cmd {
	switch k {
	case "q", "ctrl+c", "esc":
		return tea.Quit
	case "p", "enter":
		m.screen.Toggle()
	case "tab", "right", "l":
		m.screen.Next(1)
	case "shift+tab", "left", "h":
		m.screen.Next(-1)
	case "down", "j":
		m.screen.Scroll(1)
	case "up", "k":
		m.screen.Scroll(-1)
	case "pgdown", "space":
		m.screen.Scroll(m.height / 2)
	case "pgup":
		m.screen.Scroll(-m.height / 2)
	}
	return nil
}

// View implements tea.Model.
func (m *topModel) View() tea.View {
	v := tea.NewView(m.screen.Frame(m.width, m.height))
	v.AltScreen = true
	return v
}

// batch prints the given number of screens; with 0 it prints until interrupted. Like the live
// screen, batch continues if the daemon does not reply.
func (m *topModel) batch(frames int) error {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	m.screen.Colour = false
	for i := 1; ; i++ {
		if _, err := fmt.Println(m.screen.Frame(m.width, m.height) + "\n"); err != nil {
			return err
		}
		if i == frames || !pause.For(ctx, batchEvery) {
			return nil
		}
		m.take(m.ask().(answer))
	}
}
