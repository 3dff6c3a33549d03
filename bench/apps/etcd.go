package apps

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// etcd is the experiment with a cluster of three etcd members. The leader is alone on its leaf, so
// each of its streams crosses a spine. All timeouts have etcd's defaults: a heartbeat is sent every
// 100 ms, and a second without a heartbeat causes an election.
var etcd = app{"etcd", "etcd, three members", fabric.Spec{HostsA: 1, HostsB: 2}, (*run).etcd}

const (
	etcdPeer, etcdClient = "2380", "2379"
	etcdReady            = 20 * time.Second
	// etcdEvery is the time between two writes, and etcdPatience bounds the duration of a write.
	etcdEvery    = 20 * time.Millisecond
	etcdPatience = 30 * time.Second
)

// member is one member of the etcd cluster.
type member struct {
	name   string
	client *http.Client // a client on the member's own host
}

func (r *run) etcd(c *cluster) (values []value, err error) {
	var running ends
	defer func() { running.stop() }()
	var members []*member
	var peers []string
	for i, a := range c.addrs {
		peers = append(peers, fmt.Sprintf("m%d=http://%s", i, net.JoinHostPort(a.String(), etcdPeer)))
	}
	for i, a := range c.addrs {
		m := &member{name: "m" + strconv.Itoa(i), client: clientIn(c.hosts[i])}
		peer := "http://" + net.JoinHostPort(a.String(), etcdPeer)
		p, err := c.start(i, "etcd", "--name", m.name, "--data-dir", c.dir+"/"+m.name, "--initial-cluster", strings.Join(peers, ","),
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--listen-client-urls", "http://127.0.0.1:"+etcdClient, "--advertise-client-urls", "http://127.0.0.1:"+etcdClient)
		if err != nil {
			return nil, err
		}
		running = append(running, p)
		members = append(members, m)
	}
	if err := lead(members, 0); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, running[0].Log.String())
	}
	w := write(members[0])
	defer w.stop()
	elections := 0
	term, err := members[0].term()
	if err != nil {
		return nil, err
	}
	// count adds the number of elections since the last call, which is the number of new terms,
	// because each election begins a term.
	count := func() error {
		now, err := members[0].term()
		elections += now - term
		term = now
		return err
	}
	// The spines fail one after another. Heartbeats are too few packets to show which spine carries
	// them, so the busiest spine is unknown.
	n := max(len(c.f.Spines), r.deaths/5)
	all, err := c.deaths(n, func(i int, _ []uint64) (int, error) {
		if err := count(); err != nil {
			return 0, err
		}
		err := lead(members, 0)
		if err == nil {
			term, err = members[0].term() // moving the leadership is not counted
		}
		return i%len(c.f.Spines) + 1, err
	})
	answers := w.stop()
	if err = errors.Join(err, count()); err != nil {
		return nil, err
	}
	return append(r.told(answers, all), value{"elections", float64(elections)}, value{"failed", float64(w.failed)}), nil
}

// clientIn returns an HTTP client that connects from a host's namespace.
func clientIn(h *fabric.Host) *http.Client {
	return &http.Client{Timeout: etcdPatience, Transport: &http.Transport{
		DialContext: func(_ context.Context, network, address string) (net.Conn, error) {
			return h.Dial(network, address, time.Second)
		},
	}}
}

// call calls a method of etcd through its JSON gateway.
func (m *member) call(method string, in, out any) error {
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	answer, err := m.client.Post("http://127.0.0.1:"+etcdClient+"/v3/"+method, "application/json", bytes.NewReader(text))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd: %s: %s: %s", method, answer.Status, said)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(said, out)
}

// status is a member's state, as etcd reports it. etcd's JSON encodes numbers as strings.
type status struct {
	Header struct {
		Member string `json:"member_id"`
	} `json:"header"`
	Leader string `json:"leader"`
	Term   string `json:"raftTerm"`
}

func (m *member) status() (s status, err error) {
	err = m.call("maintenance/status", struct{}{}, &s)
	return s, err
}

// term returns the member's current Raft term. Each election begins a term, so the number of
// elections so far is at most the number of the term.
func (m *member) term() (int, error) {
	s, err := m.status()
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(s.Term)
}

// leader returns the index of the member that leads the cluster.
func leader(members []*member) (int, error) {
	for i, m := range members {
		s, err := m.status()
		if err != nil {
			return 0, err
		}
		if s.Leader == s.Header.Member && s.Leader != "" {
			return i, nil
		}
	}
	return 0, errors.New("etcd has no leader")
}

// lead waits until the cluster has a leader, and then transfers the leadership to a given member.
func lead(members []*member, to int) (err error) {
	for until := time.Now().Add(etcdReady); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		var now int
		if now, err = leader(members); err != nil {
			continue
		}
		if now == to {
			return nil
		}
		var s status
		if s, err = members[to].status(); err == nil {
			err = members[now].call("maintenance/transfer-leadership", map[string]string{"targetID": s.Header.Member}, nil)
		}
	}
	return fmt.Errorf("member %d does not become etcd's leader: %w", to, err)
}

type writer struct {
	end     chan struct{}
	once    sync.Once
	group   sync.WaitGroup
	mu      sync.Mutex
	answers []answer
	failed  int
}

// write starts a write every etcdEvery, even if the previous write is not finished.
func write(m *member) *writer {
	w := &writer{end: make(chan struct{})}
	w.group.Go(func() {
		tick := time.NewTicker(etcdEvery)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-w.end:
				return
			case <-tick.C:
				w.group.Go(func() { w.one(m, n) })
			}
		}
	})
	return w
}

func (w *writer) one(m *member, n int) {
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	asked := time.Now()
	err := m.call("kv/put", map[string]string{"key": b64("k"), "value": b64(strconv.Itoa(n))}, nil)
	answered := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.failed++
	}
	w.answers = append(w.answers, answer{asked, answered})
}

// stop waits for the last write and returns the times of all writes. A second call of stop() is
// allowed.
func (w *writer) stop() []answer {
	w.once.Do(func() { close(w.end) })
	w.group.Wait()
	return w.answers
}
