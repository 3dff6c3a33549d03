package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/dolthub/go-mysql-server/server"
	"github.com/go-sql-driver/mysql"
	"github.com/sirupsen/logrus"
)

func init() { logrus.SetOutput(io.Discard) } // the server's log

// pool starts a server and returns a pool of connections to it.
func pool(t *testing.T, serving server.Config, cfg *mysql.Config) *sql.DB {
	t.Helper()
	there, here := opened(t), opened(t)
	there.Allow(here.PublicKey())
	s, err := there.server(serving)
	must(t, err)
	var done sync.WaitGroup
	done.Go(func() { s.Start() })
	db, err := here.dial(cfg, there.PublicKey(), netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), there.Port()))
	must(t, err)
	t.Cleanup(func() { db.Close(); s.Close(); done.Wait() })
	return db
}

func opened(t *testing.T) end {
	e, err := open()
	must(t, err)
	t.Cleanup(func() { e.streams.Close() })
	return e
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestRun(t *testing.T) { must(t, run(t.Context())) }

// Many goroutines share few connections, with prepared statements and arguments.
func TestPool(t *testing.T) {
	const connections, queries = 8, 200
	db := pool(t, server.Config{}, mysql.NewConfig())
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	_, err := db.ExecContext(t.Context(), "CREATE TABLE numbers (n INT PRIMARY KEY, word VARCHAR(20))")
	must(t, err)
	insert, err := db.PrepareContext(t.Context(), "INSERT INTO numbers VALUES (?, ?)")
	must(t, err)
	defer insert.Close()
	for i := range queries { // tables in memory lose concurrent inserts
		_, err := insert.ExecContext(t.Context(), i, fmt.Sprint("word ", i))
		must(t, err)
	}
	var all sync.WaitGroup
	for i := range queries {
		all.Go(func() {
			var word string
			err := db.QueryRowContext(t.Context(), "SELECT word FROM numbers WHERE n = ?", i).Scan(&word)
			if err != nil || word != fmt.Sprint("word ", i) {
				t.Errorf("%d: %q, %v", i, word, err)
			}
		})
	}
	all.Wait()
	if s := db.Stats(); s.OpenConnections > connections || s.InUse != 0 {
		t.Errorf("%+v", s)
	}
}

// A context that ends interrupts a query, and the pool stays usable.
func TestCancel(t *testing.T) {
	db := pool(t, server.Config{}, mysql.NewConfig())
	must(t, db.PingContext(t.Context()))
	for _, want := range []error{context.Canceled, context.DeadlineExceeded} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if want == context.Canceled {
			ctx, cancel = context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
		}
		if _, err := db.ExecContext(ctx, "SELECT SLEEP(600)"); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		cancel()
	}
	must(t, db.PingContext(t.Context()))
}

// The driver's read timeout is a deadline of the stream.
func TestReadTimeout(t *testing.T) {
	cfg := mysql.NewConfig()
	cfg.ReadTimeout, cfg.Logger = time.Second, &mysql.NopLogger{}
	db := pool(t, server.Config{}, cfg)
	if _, err := db.ExecContext(t.Context(), "SELECT SLEEP(600)"); !errors.Is(err, mysql.ErrInvalidConn) {
		t.Errorf("%v, want %v", err, mysql.ErrInvalidConn)
	}
	must(t, db.PingContext(t.Context()))
}

// A large argument and a result of many windows arrive whole.
func TestLargeResult(t *testing.T) {
	const rows, size = 200, 100_000
	db := pool(t, server.Config{}, mysql.NewConfig())
	_, err := db.ExecContext(t.Context(), "CREATE TABLE large (n INT PRIMARY KEY, bytes LONGBLOB)")
	must(t, err)
	row := func(i int) []byte { return bytes.Repeat([]byte{byte(i), 0, 255, '\''}, size/4) }
	for i := range rows {
		_, err := db.ExecContext(t.Context(), "INSERT INTO large VALUES (?, ?)", i, row(i))
		must(t, err)
	}
	result, err := db.QueryContext(t.Context(), "SELECT n, bytes FROM large ORDER BY n")
	must(t, err)
	defer result.Close()
	n := 0
	for ; result.Next(); n++ {
		var i int
		var got sql.RawBytes
		must(t, result.Scan(&i, &got))
		if i != n || !bytes.Equal(got, row(i)) {
			t.Fatalf("row %d: number %d, %d bytes", n, i, len(got))
		}
	}
	if err := result.Err(); n != rows || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
}

// After the server has closed an idle connection, the pool opens another, and no query fails: the
// driver's first write fails, so that it may send the query again.
func TestIdleConnectionClosed(t *testing.T) {
	cfg := mysql.NewConfig()
	cfg.Logger = &mysql.NopLogger{}
	db := pool(t, server.Config{ConnReadTimeout: 200 * time.Millisecond}, cfg)
	for range 3 {
		var one int
		if err := db.QueryRowContext(t.Context(), "SELECT 1").Scan(&one); err != nil || one != 1 {
			t.Errorf("%d, %v", one, err)
		}
		time.Sleep(500 * time.Millisecond)
	}
}
