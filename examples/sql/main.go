// Command sql runs a driver of database/sql over an endpoint of package ep. The server is a MySQL
// server in Go with tables in memory, which listens on streams of package epnet. The driver dials
// them. Server and driver are unchanged, and need no TLS, because endpoints encrypt and authenticate
// their packets.
//
//	go run .
package main

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"

	mysqlserver "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/memory"
	"github.com/dolthub/go-mysql-server/server"
	enginesql "github.com/dolthub/go-mysql-server/sql"
	"github.com/go-sql-driver/mysql"

	"github.com/srdtun/srdtun/srd/ep"
	"github.com/srdtun/srdtun/srd/ep/epnet"
)

// protocol is the protocol name that both endpoints must use.
const protocol = "sql-example/1"

const database = "example"

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "sql:", err)
		os.Exit(1)
	}
}

// run serves a database at one endpoint, and asks it from another.
func run(ctx context.Context) error {
	there, err := open()
	if err != nil {
		return err
	}
	defer there.streams.Close()
	here, err := open()
	if err != nil {
		return err
	}
	defer here.streams.Close()
	there.Allow(here.PublicKey())
	s, err := there.server(server.Config{})
	if err != nil {
		return err
	}
	var serving sync.WaitGroup
	serving.Go(func() { s.Start() })
	defer func() { s.Close(); serving.Wait() }()

	db, err := here.dial(mysql.NewConfig(), there.PublicKey(), netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), there.Port()))
	if err != nil {
		return err
	}
	defer db.Close()
	var version string
	if err := db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return err
	}
	fmt.Println("MySQL", version)
	return nil
}

// end is an endpoint with streams.
type end struct {
	*ep.Endpoint
	streams *epnet.Streams
}

func open() (end, error) {
	e, err := ep.Open(ep.Config{Key: ep.NewKey(), Protocol: protocol})
	if err != nil {
		return end{}, err
	}
	s, err := epnet.NewStreams(e)
	return end{e, s}, err
}

// server returns a MySQL server for the streams that peers open.
func (e end) server(cfg server.Config) (_ *server.Server, err error) {
	if cfg.Listener, err = e.streams.Listen(); err != nil {
		return nil, err
	}
	databases := memory.NewDBProvider(memory.NewDatabase(database))
	engine := mysqlserver.NewDefault(databases)
	return server.NewServer(cfg, engine, enginesql.NewContext, memory.NewSessionBuilder(databases), nil)
}

// dial returns a pool of connections to the server at another endpoint.
func (e end) dial(cfg *mysql.Config, key ep.PublicKey, at ...netip.AddrPort) (*sql.DB, error) {
	cfg.User, cfg.DBName = "root", database
	cfg.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return e.streams.Dial(ctx, key, at...) }
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}
