package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/cmd/srdtun/internal/doctor"
	"github.com/srdtun/srdtun/config"
)

func doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor [NAME|FILE]",
		Short: "Check this host, and say what to change",
		Long: `Check this host: report settings that prevent a tunnel or slow it down, and how to
change them. With a NAME, check its configuration too. Nothing is changed. The exit code
is 1 if something would prevent the start.`,
		Args:              takes(0, 1),
		ValidArgsFunction: completeConfigured,
		RunE: func(_ *cobra.Command, args []string) error {
			plan := doctor.Plan{SourcePorts: config.DefaultSourcePorts, ListenPort: config.DefaultListenPort}
			if len(args) > 0 {
				c, err := loadFound(args[0])
				if err != nil {
					return err
				}
				plan = planOf(c)
			} else {
				plan.Conflicts = append(runningConflicts(), runningClashes()...)
				plan.Running, plan.Faults = devices("")
			}
			v := doctor.Judge(doctor.Look(), plan)
			writeFindings(os.Stdout, v)
			if doctor.Worst(v) == doctor.Fault {
				return &toldError{errors.New("this host would not start a tunnel")}
			}
			return nil
		},
	}
}

func planOf(c *config.Config) doctor.Plan {
	p := doctor.Plan{SourcePorts: c.Paths.SourcePorts, ListenPort: c.Interface.ListenPort}
	p.Running, p.Faults = devices(c.Interface.Name)
	for _, d := range conflicts(c) {
		p.Conflicts = append(p.Conflicts, d.Error())
	}
	for _, l := range c.Paths.Local {
		if l.Interface != "" {
			p.Uplinks = append(p.Uplinks, l.Interface)
		}
	}
	return p
}

// devices returns the devices of the running interfaces, or of the one with the given name, and
// their faults.
func devices(name string) (v []doctor.Device, faults []string) {
	for _, st := range interfaces() {
		if name != "" && st.Interface != name {
			continue
		}
		v = append(v, doctor.Device{Interface: st.Interface, Device: st.Device})
		for _, line := range st.Faults[:min(len(st.Faults), troublesMost)] {
			faults = append(faults, st.Interface+": "+line)
		}
	}
	return v, faults
}

// writeFindings prints a line for each finding, and below it the reason and the advice.
func writeFindings(w io.Writer, v []doctor.Finding) {
	wide := 0
	for _, f := range v {
		wide = max(wide, len(f.Check))
	}
	for _, f := range v {
		fmt.Fprintf(w, "%-8s %-*s  %s\n", f.Level, wide, f.Check, f.Saw)
		if f.Level == doctor.OK {
			continue // it needs no action, so no further text
		}
		if f.Why != "" {
			fmt.Fprintf(w, "%-8s %-*s  why: %s\n", "", wide, "", f.Why)
		}
		if f.Advice != "" {
			fmt.Fprintf(w, "%-8s %-*s  do:  %s\n", "", wide, "", f.Advice)
		}
	}
}
