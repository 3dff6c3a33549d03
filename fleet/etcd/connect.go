package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/srdtun/srdtun/fleet/agent"
	"github.com/srdtun/srdtun/fleet/internal/member"
)

const (
	// askFor bounds the time of one request. Five seconds are enough for an election in etcd, with
	// a margin.
	askFor = 5 * time.Second
	// reconnectMost is the maximum pause between two attempts to connect to etcd. The pause is
	// shorter than a lease, because the agent must renew its lease in time when etcd returns.
	reconnectMost = time.Second
	// probeEvery and probeFor are the interval and timeout of probes that detect a failed
	// connection. etcd refuses a client that probes more often than every 5 s.
	probeEvery = 10 * time.Second
	probeFor   = 3 * time.Second
	// maxAnswer bounds the size of a response from etcd in bytes. A full page of the largest
	// records has a quarter of this size. The largest value that etcd accepts by default, 1.5 MB,
	// fits too, with its key.
	maxAnswer = 4 << 20
)

// connection holds the address of etcd, and the client's credentials.
type connection struct {
	endpoints    []string
	cacert       string
	cert, key    string
	user         string
	passwordFile string
	prefix       string
	lease        time.Duration // lifetime of a member's lease
}

func (c *connection) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&c.endpoints, "endpoints", []string{"http://127.0.0.1:2379"}, "addresses of etcd")
	f.StringVar(&c.cacert, "cacert", "", "`file` with the certificates to check etcd's certificate")
	f.StringVar(&c.cert, "cert", "", "`file` with this client's certificate")
	f.StringVar(&c.key, "key", "", "`file` with the key of the client's certificate")
	f.StringVar(&c.user, "user", "", "user of etcd")
	f.StringVar(&c.passwordFile, "password-file", "", "`file` with the password, on its first line")
	f.StringVar(&c.prefix, "prefix", "/srdtun/fleet/", "prefix of all keys; a member's key ends with its name")
}

// joinFlags adds the flags that are only for the command join.
func (c *connection) joinFlags(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&c.lease, "lease", defaultLease, "time after which a silent member is removed, 3s to 10s")
}

// dial creates an etcd client, and does not wait for a connection, because etcd may be down.
func (c *connection) dial() (agent.Store, error) {
	if c.lease != 0 && (c.lease < minLease || c.lease > maxLease || c.lease%time.Second != 0) {
		return nil, member.Usagef("--lease %v: want whole seconds, %v to %v", c.lease, minLease, maxLease)
	}
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	s := &store{login: login{user: c.user}, prefix: c.prefix, lease: c.lease}
	if s.password, err = c.password(); err != nil {
		return nil, err
	}
	if s.client, err = clientv3.New(config); err != nil {
		return nil, err
	}
	return s, nil
}

// config reads the files that the flags name.
func (c *connection) config() (clientv3.Config, error) {
	if !strings.HasSuffix(c.prefix, "/") {
		return clientv3.Config{}, member.Usagef("--prefix %q does not end with a slash", c.prefix)
	}
	config := clientv3.Config{
		Endpoints:            c.endpoints,
		DialKeepAliveTime:    probeEvery,
		DialKeepAliveTimeout: probeFor,
		MaxCallRecvMsgSize:   maxAnswer,
		// The log of the client library is off, because it would log every attempt. The agent logs
		// each fault once.
		Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnectMost},
			MinConnectTimeout: probeFor,
		})},
	}
	var err error
	if config.TLS, err = c.tls(); err != nil {
		return config, err
	}
	return config, nil
}

// password returns the first line of the password file. A password is never a command-line
// argument, because other users could read it there.
func (c *connection) password() (string, error) {
	switch {
	case c.user == "" && c.passwordFile == "":
		return "", nil
	case c.user == "" || c.passwordFile == "":
		return "", member.Usagef("--user and --password-file go together")
	}
	data, err := agent.ReadFile(c.passwordFile)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(data), "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return "", fmt.Errorf("%s: the first line has no password", c.passwordFile)
	}
	return line, nil
}

// tls returns the TLS configuration, or nil if no endpoint requires TLS.
func (c *connection) tls() (*tls.Config, error) {
	secure := false
	for _, e := range c.endpoints {
		secure = secure || strings.HasPrefix(e, "https://")
		if strings.HasPrefix(e, "http://") && (c.cacert != "" || c.cert != "") {
			return nil, member.Usagef("--endpoints %s is not encrypted, in spite of certificates", e)
		}
	}
	if !secure && c.cacert == "" && c.cert == "" {
		return nil, nil
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if (c.cert == "") != (c.key == "") {
		return nil, member.Usagef("--cert and --key go together")
	}
	if c.cert != "" {
		pair, err := tls.LoadX509KeyPair(c.cert, c.key)
		if err != nil {
			return nil, err
		}
		t.Certificates = []tls.Certificate{pair}
	}
	if c.cacert != "" {
		data, err := agent.ReadFile(c.cacert)
		if err != nil {
			return nil, err
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(data) {
			return nil, errors.New(c.cacert + ": no certificate in it")
		}
	}
	return t, nil
}
