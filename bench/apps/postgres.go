package apps

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// postgres is the experiment with a PostgreSQL server and its synchronous standby. A commit ends
// when the standby has confirmed it. PostgreSQL runs without fsync, because both servers share one
// disk here.
var postgres = app{"postgres", "PostgreSQL, synchronous standby", fabric.Spec{}, (*run).postgres}

const (
	pgDir  = "/usr/lib/postgresql/15/bin" // Debian 12's
	pgUser = "postgres"
	pgPort = "5432"
	// pgScale is pgbench's scale factor. Each unit adds 15 MB to the database, so a base backup
	// takes seconds.
	pgScale = 20
	// Together the pgClients clients commit pgRate times a second. The duration of a commit is
	// measured from its due time. So a stall is visible even if it delays the start of later
	// commits.
	pgClients, pgRate = 16, 300
	pgReady           = 30 * time.Second
)

// database is a primary server on host 0 and its standby on host 1.
type database struct {
	c             *cluster
	ends          ends
	primary, copy string // data folders
	socket        string // folder of the primary's socket
}

func (r *run) postgres(c *cluster) (values []value, err error) {
	d := &database{c: c, primary: filepath.Join(r.dir, "primary"), copy: filepath.Join(c.dir, "standby"), socket: c.dir}
	defer func() { d.ends.stop() }()
	if err := d.startPrimary(); err != nil {
		return nil, err
	}
	rate, err := d.backup()
	if err != nil {
		return nil, err
	}
	values = append(values, value{"basebackup_mbit", rate})
	if err := d.startStandby(); err != nil {
		return values, err
	}
	n := r.deaths
	if c.nodes == nil {
		n /= 4 // each failure takes these transports seconds
	}
	answers, failed, all, err := d.commit(n)
	if err != nil {
		return values, err
	}
	return append(append(values, r.told(answers, all)...), value{"failed", float64(failed)}, value{"commits", float64(len(answers))}), nil
}

// asUser returns a PostgreSQL command that runs as another user, because PostgreSQL refuses to run
// as root.
func asUser(name string, args ...string) []string {
	return append([]string{"setpriv", "--reuid", pgUser, "--regid", pgUser, "--clear-groups", filepath.Join(pgDir, name)}, args...)
}

// do runs a PostgreSQL command on host i and waits until the command ends.
func (d *database) do(i int, name string, args ...string) (string, error) {
	words := asUser(name, args...)
	words = d.c.command(words[0], words[1:]...)
	return d.c.hosts[i].Run(words[0], words[1:]...)
}

// server starts a PostgreSQL server on host i.
func (d *database) server(i int, data string) error {
	words := asUser("postgres", "-D", data, "-p", pgPort, "-c", "listen_addresses="+d.c.addrs[i].String(),
		"-c", "unix_socket_directories="+d.socket+strconv.Itoa(i), "-c", "fsync=off", "-c", "autovacuum=off",
		"-c", "wal_init_zero=off", // writing 16 MB of zeros would delay commits by 50 ms
		"-c", "max_wal_size=16GB", "-c", "checkpoint_timeout=1h", "-c", "logging_collector=off")
	p, err := d.c.start(i, words[0], words[1:]...)
	if err != nil {
		return err
	}
	d.ends = append(d.ends, p)
	for until := time.Now().Add(pgReady); ; time.Sleep(100 * time.Millisecond) {
		if _, err = d.do(i, "pg_isready", "-q", "-h", d.socket+strconv.Itoa(i), "-p", pgPort); err == nil {
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("PostgreSQL does not start: %w\n%s", err, p.Log.String())
		}
	}
}

// own creates an empty folder that belongs to PostgreSQL's user.
func (d *database) own(dir string) error {
	_, err := d.c.hosts[0].Run("install", "-d", "-o", pgUser, "-g", pgUser, "-m", "0700", dir)
	return err
}

// startPrimary starts the primary without a standby. The first call of startPrimary also fills the
// database.
func (d *database) startPrimary() error {
	for i := range d.c.hosts {
		if err := d.own(d.socket + strconv.Itoa(i)); err != nil {
			return err
		}
	}
	_, err := os.Stat(d.primary)
	filled := err == nil
	if !filled {
		if err := d.own(d.primary); err != nil {
			return err
		}
		if _, err := d.do(0, "initdb", "-A", "trust", "-N", "-D", d.primary); err != nil {
			return err
		}
		hba := "local all all trust\nhost all all 0.0.0.0/0 trust\nhost replication all 0.0.0.0/0 trust\n"
		if err := os.WriteFile(filepath.Join(d.primary, "pg_hba.conf"), []byte(hba), 0o644); err != nil {
			return err
		}
	}
	// An earlier "alter system" makes commits wait for a standby, but no standby runs yet. So its
	// file is emptied.
	if err := os.WriteFile(filepath.Join(d.primary, "postgresql.auto.conf"), nil, 0o644); err != nil {
		return err
	}
	if err := d.server(0, d.primary); err != nil || filled {
		return err
	}
	_, err = d.do(0, "pgbench", "-h", d.socket+"0", "-p", pgPort, "-i", "-q", "-s", strconv.Itoa(pgScale), "postgres")
	return err
}

// backup copies the primary's data over the network, and returns the rate in Mbit/s.
func (d *database) backup() (float64, error) {
	if err := d.own(d.copy); err != nil {
		return 0, err
	}
	begun := time.Now()
	if _, err := d.do(1, "pg_basebackup", "-h", d.c.addrs[0].String(), "-p", pgPort, "-D", d.copy, "-R", "-c", "fast", "--no-sync"); err != nil {
		return 0, err
	}
	took := time.Since(begun)
	size := int64(0)
	err := filepath.WalkDir(d.copy, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return float64(size) * 8 / took.Seconds() / 1e6, err
}

// sql runs an SQL query on the primary.
func (d *database) sql(text string) (string, error) {
	out, err := d.do(0, "psql", "-h", d.socket+"0", "-p", pgPort, "-Atq", "-c", text, "postgres")
	return strings.TrimSpace(out), err
}

// startStandby starts the standby, and waits until commits need the standby's confirmation.
func (d *database) startStandby() error {
	if err := d.server(1, d.copy); err != nil {
		return err
	}
	for _, text := range []string{"alter system set synchronous_standby_names = '*'", "select pg_reload_conf()"} {
		if _, err := d.sql(text); err != nil {
			return err
		}
	}
	for until := time.Now().Add(pgReady); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		if n, err := d.sql("select count(*) from pg_stat_replication where sync_state = 'sync'"); err != nil || n == "1" {
			return err
		}
	}
	return errors.New("PostgreSQL's standby does not follow")
}

// commit runs clients on the primary's host while n spines fail, one after another. Each time the
// spine fails that carried the most bytes.
func (d *database) commit(n int) (answers []answer, failed int, all []death, err error) {
	const before = 2 * time.Second
	seconds := int((before + spanOf(n)).Seconds()) + 2
	log := filepath.Join(d.socket+"0", "commits")
	words := asUser("pgbench", "-h", d.socket+"0", "-p", pgPort, "-n", "-N", "-c", strconv.Itoa(pgClients), "-R", strconv.Itoa(pgRate),
		"-T", strconv.Itoa(seconds), "-l", "--log-prefix", log, "postgres")
	p, err := d.c.hosts[0].Start(words[0], words[1:]...)
	if err != nil {
		return nil, 0, nil, err
	}
	time.Sleep(before)
	all, err = d.c.deaths(n, func(_ int, since []uint64) (int, error) { return d.c.f.Busiest(since) })
	if err != nil {
		p.Kill()
		return nil, 0, nil, err
	}
	if err := p.Wait(spanOf(1) + 30*time.Second); err != nil {
		return nil, 0, nil, fmt.Errorf("pgbench: %w\n%s", err, p.Log.String())
	}
	if failed, err = failures(p.Log.String()); err != nil {
		return nil, 0, nil, err
	}
	files, err := filepath.Glob(log + ".*")
	if err != nil || len(files) == 0 {
		return nil, 0, nil, errors.Join(errors.New("pgbench has written no log"), err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, 0, nil, err
		}
		part, err := readCommits(f)
		err = errors.Join(err, f.Close(), os.Remove(name))
		if err != nil {
			return nil, 0, nil, err
		}
		answers = append(answers, part...)
	}
	slices.SortFunc(answers, func(a, b answer) int { return a.answered.Compare(b.answered) })
	return answers, failed, all, nil
}

// failures returns the number of failed transactions that pgbench reports.
func failures(said string) (int, error) {
	const key = "number of failed transactions: "
	_, rest, ok := strings.Cut(said, key)
	if !ok {
		return 0, fmt.Errorf("pgbench says nothing of failed transactions:\n%s", said)
	}
	number, _, _ := strings.Cut(rest, " ")
	return strconv.Atoi(number)
}

// readCommits reads pgbench's log of transactions: "client number time script epoch us lag". The
// field "time" is the time since the transaction was due, in microseconds.
func readCommits(in io.Reader) (all []answer, err error) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 6 || f[2] == "failed" || f[2] == "skipped" {
			continue
		}
		var v [3]int64
		for i, k := range []int{2, 4, 5} {
			if v[i], err = strconv.ParseInt(f[k], 10, 64); err != nil {
				return nil, fmt.Errorf("pgbench's log: %q: %w", lines.Text(), err)
			}
		}
		at := time.Unix(v[1], v[2]*int64(time.Microsecond))
		all = append(all, answer{at.Add(-time.Duration(v[0]) * time.Microsecond), at})
	}
	return all, lines.Err()
}
