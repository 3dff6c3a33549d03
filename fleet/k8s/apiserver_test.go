//go:build apiserver

package k8s

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/srdtun/srdtun/fleet"
	"github.com/srdtun/srdtun/fleet/agent"
	"github.com/srdtun/srdtun/fleet/internal/member"
)

// "make test-k8s" runs these tests with a real API server.
var (
	apiserver = flag.String("apiserver", "kube-apiserver", "the program")
	etcd      = flag.String("etcd", "etcd", "the program that it keeps its state in")
	dead      = flag.Duration("dead", 12*time.Second, "how long the API server is away")
	members   = flag.Int("members", 1000, "of a large fleet")
)

const (
	// The agents use the manifest's service account, which has no rights except those of its role.
	adminToken, agentToken = "admin", "agent"
	serverURL              = "https://127.0.0.1:6443"
	serverStart            = 2 * time.Minute // long enough for a busy machine
)

// server is a kube-apiserver with an etcd, in the test's network namespace.
type server struct {
	t        *testing.T
	dir      string
	etcd     *exec.Cmd
	process  *exec.Cmd
	client   http.Client
	manifest []byte
}

func newServer(t *testing.T) *server {
	s := &server{t: t, dir: t.TempDir()}
	s.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // its certificate is new
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s.file("sa.key", pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	s.file("tokens.csv", []byte(adminToken+",admin,1,system:masters\n"+agentToken+",system:serviceaccount:srdtun:srdtun,2\n"))
	s.config(adminToken, "{token: "+adminToken+"}")
	s.config(agentToken, "{token: "+agentToken+"}") // this token does not name a node
	s.etcd = s.run("etcd", *etcd, "--data-dir", filepath.Join(s.dir, "etcd"))
	s.start()
	t.Cleanup(func() { s.stop(); s.end(s.etcd) })
	return s
}

func (s *server) config(name, user string) string {
	s.t.Helper()
	return s.file(name+".conf", fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: u, user: %s}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, serverURL, user))
}

// agentOf writes a kubeconfig for the service account in a pod on the given node. Its token has the
// same claims as in a real pod.
func (s *server) agentOf(i int) string {
	s.t.Helper()
	return s.config(fmt.Sprintf("agent-n%d", i), fmt.Sprintf(
		`{token: %s, as: "system:serviceaccount:srdtun:srdtun", as-user-extra: {"authentication.kubernetes.io/node-name": [n%d]}}`, adminToken, i))
}

func (s *server) file(name string, data []byte) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// run starts a program, which is ended at the end of the test.
func (s *server) run(name, program string, args ...string) *exec.Cmd {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	c := exec.Command(program, args...)
	c.Stdout, c.Stderr, c.Dir = log, log, s.dir
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *server) end(c *exec.Cmd) {
	_ = c.Process.Kill()
	_ = c.Wait()
}

func (s *server) start() {
	s.t.Helper()
	s.process = s.run("apiserver", *apiserver, "--etcd-servers=http://127.0.0.1:2379", "--bind-address=127.0.0.1",
		"--secure-port=6443", "--cert-dir=certs", "--service-account-issuer=https://test", "--service-account-key-file=sa.key",
		"--service-account-signing-key-file=sa.key", "--service-cluster-ip-range=10.0.0.0/24", "--token-auth-file=tokens.csv",
		"--authorization-mode=RBAC", "--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none")
	for end := time.Now().Add(serverStart); ; time.Sleep(200 * time.Millisecond) {
		if _, err := s.ask("GET", "/readyz", nil); err == nil {
			return
		} else if time.Now().After(end) {
			log, _ := os.ReadFile(filepath.Join(s.dir, "apiserver.log"))
			s.t.Fatalf("no API server: %v\n%s", err, log[max(0, len(log)-2000):])
		}
	}
}

func (s *server) stop() { s.end(s.process) }

// ask sends a request as the cluster's administrator.
func (s *server) ask(method, path string, body any) ([]byte, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	q, err := http.NewRequest(method, serverURL+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Authorization", "Bearer "+adminToken)
	q.Header.Set("Content-Type", "application/json")
	r, err := s.client.Do(q)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	data, err = io.ReadAll(r.Body)
	if err == nil && r.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, r.Status, data)
	}
	return data, err
}

func (s *server) must(method, path string, body any) {
	s.t.Helper()
	if _, err := s.ask(method, path, body); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) addNode(i int, annotations map[string]string) {
	s.t.Helper()
	s.must("POST", "/api/v1/nodes", map[string]any{"metadata": map[string]any{"name": fmt.Sprint("n", i), "annotations": annotations}})
}

// apply creates the objects of the manifest. The server refuses unknown fields.
func (s *server) apply() {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(home, "../../contrib/kubernetes/srdtun.yaml"))
	if err != nil {
		s.t.Fatal(err)
	}
	at := map[string]string{
		"Namespace": "/api/v1/namespaces", "ServiceAccount": "/api/v1/namespaces/srdtun/serviceaccounts",
		"ClusterRole":                      "/apis/rbac.authorization.k8s.io/v1/clusterroles",
		"ClusterRoleBinding":               "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
		"DaemonSet":                        "/apis/apps/v1/namespaces/srdtun/daemonsets",
		"ValidatingAdmissionPolicy":        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
		"ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
	}
	n := 0
	for part := range strings.SplitSeq(string(data), "\n---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(part), &object); err != nil {
			s.t.Fatal(err)
		}
		kind, _ := object["kind"].(string)
		if at[kind] == "" {
			continue // the comment at the beginning
		}
		s.must("POST", at[kind]+"?fieldValidation=Strict", object)
		n++
	}
	if n != len(at) {
		s.t.Fatalf("%d of %d objects in the manifest", n, len(at))
	}
}

// dialed returns a client of the API server.
func dialed(t *testing.T, kubeconfig, annotation string) *nodes {
	t.Helper()
	s, err := (&cluster{kubeconfig: kubeconfig, annotation: annotation}).dial()
	if err != nil {
		t.Fatal(err)
	}
	return s.(*nodes)
}

// home is the directory in which the test was started, which is the folder of the package.
var home = func() string { d, _ := os.Getwd(); return d }()

// allow writes an allow list of n members.
func (s *server) allow(n int) string {
	var b bytes.Buffer
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "n%d %v 10.%d.%d.1/32\n", i, fleet.Key{0: byte(i), 1: byte(i >> 8), 31: 1}, i/256, i%256)
	}
	return s.file(fmt.Sprintf("allow-%d", n), b.Bytes())
}

// node is a running agent of one node.
type node struct {
	s    *server
	dir  string
	log  lines
	stop func()
}

func (s *server) join(i int, list string) *node {
	s.t.Helper()
	n := &node{s: s, dir: s.t.TempDir()}
	n.again(i, list)
	return n
}

// again starts the agent, with the files that are already in its directory.
func (n *node) again(i int, list string) {
	t := n.s.t
	t.Helper()
	files := agent.Files{Allow: list}
	policy, err := files.Load()
	if err != nil {
		t.Fatal(err)
	}
	self := member.Self{Addresses: []string{fmt.Sprintf("192.0.2.1:%d", 10000+i)}}
	record, err := self.Record(fmt.Sprint("n", i), policy)
	if err != nil {
		t.Fatal(err)
	}
	m := agent.Member{Store: dialed(t, n.s.agentOf(i), defaultAnnotation), Record: record, Policy: files, Dir: n.dir,
		Log: slog.New(slog.NewTextHandler(&n.log, nil)), RetryMost: retryMost}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- agent.Join(ctx, m) }()
	stopped := false
	n.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(n.stop)
}

func (n *node) has() (v []string) {
	entries, err := os.ReadDir(n.dir)
	if err != nil {
		n.s.t.Fatal(err)
	}
	for _, e := range entries {
		v = append(v, strings.TrimSuffix(strings.TrimPrefix(e.Name(), "fleet-"), ".toml"))
	}
	return v
}

// await waits until a node has the given other nodes as peers, and returns how long that took.
func (n *node) await(most time.Duration, want ...string) time.Duration {
	n.s.t.Helper()
	slices.Sort(want)
	begin := time.Now()
	for ; !slices.Equal(n.has(), want); time.Sleep(2 * time.Millisecond) {
		if time.Since(begin) > most {
			n.s.t.Fatalf("after %v it has %v, not %v; log:\n%s", most, n.has(), want, n.log.String())
		}
	}
	return time.Since(begin)
}

func TestRealAPIServer(t *testing.T) {
	s := newServer(t)
	s.apply()
	list := s.allow(4)
	for i := range 4 {
		s.addNode(i+1, nil)
	}
	one, two := s.join(1, list), s.join(2, list)
	one.await(2*time.Second, "n2")
	two.await(2*time.Second, "n1")
	begin := time.Now()
	three := s.join(3, list)
	three.await(2*time.Second, "n1", "n2")
	one.await(2*time.Second, "n2", "n3")
	t.Logf("a third one is everybody's peer after %v", time.Since(begin).Round(time.Millisecond))

	// With a stolen token, no foreign host can become a member.
	thief := dialed(t, s.agentOf(4), defaultAnnotation)
	stranger := &fleet.Record{Name: "n4", PublicKey: key(99)}
	if err := thief.write(t.Context(), "n4", stranger.Format()); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Second); !strings.Contains(one.log.String(), "n4 is refused"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not refused:\n%s", one.log.String())
		}
	}
	one.await(time.Second, "n2", "n3")
	// The role has no permissions except those that the agent needs.
	if _, err := thief.Get(t.Context(), "n4", metav1.GetOptions{}); err == nil {
		t.Error("the agent may get single Nodes, which it does not need")
	}
	if err := thief.Delete(t.Context(), "n4", metav1.DeleteOptions{}); err == nil {
		t.Error("the agent may delete Nodes")
	}

	// While the API server is down, all members remain peers, even if an agent is restarted.
	s.stop()
	two.stop()
	two.again(2, list)
	time.Sleep(*dead)
	one.await(time.Second, "n2", "n3")
	two.await(time.Second, "n1", "n3")
	s.start()
	four := s.join(4, list)
	four.await(retryMost+5*time.Second, "n1", "n2", "n3")
	t.Logf("after %v without API server others have the fourth in %v", *dead, one.await(retryMost+5*time.Second, "n2", "n3", "n4"))

	// A deleted member stops being a peer.
	four.stop()
	s.must("DELETE", "/api/v1/nodes/n4", nil)
	t.Logf("a deleted Node is gone after %v", one.await(10*time.Second, "n2", "n3"))
}

// An agent's token permits changes of only one annotation of its own Node.
func TestRealPolicyOfTheManifest(t *testing.T) {
	s := newServer(t)
	s.apply()
	s.addNode(1, map[string]string{"other": "1"})
	s.addNode(2, nil)
	client := func(kubeconfig, annotation string) *nodes {
		t.Helper()
		return dialed(t, kubeconfig, annotation)
	}
	own := client(s.agentOf(1), defaultAnnotation)
	const most = 30 * time.Second // the server takes this long at most to compile a new policy
	for end := time.Now().Add(most); own.write(t.Context(), "n2", []byte("x")) == nil; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the token of n1 changes n2")
		}
	}
	refused := func(what string, err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
	patch := func(n *nodes, node, text string) error {
		_, err := n.Patch(t.Context(), node, types.MergePatchType, []byte(text), metav1.PatchOptions{})
		return err
	}
	refused("another node", own.write(t.Context(), "n2", []byte("x")), "the Node that it runs on, and no other")
	refused("another node, removing", own.write(t.Context(), "n2", nil), "the Node that it runs on, and no other")
	refused("another annotation", client(s.agentOf(1), "other").write(t.Context(), "n1", []byte("2")), "srdtun.io/member, and no other")
	refused("another annotation, removing", client(s.agentOf(1), "other").write(t.Context(), "n1", nil), "srdtun.io/member, and no other")
	refused("a new annotation", client(s.agentOf(1), "new").write(t.Context(), "n1", []byte("2")), "srdtun.io/member, and no other")
	refused("a label", patch(own, "n1", `{"metadata":{"labels":{"a":"b"}}}`), "nothing else of a Node")
	refused("a taint", patch(own, "n1", `{"spec":{"taints":[{"key":"a","effect":"NoExecute"}]}}`), "nothing else of a Node")
	refused("cordon", patch(own, "n1", `{"spec":{"unschedulable":true}}`), "nothing else of a Node")
	refused("a token without a node", client(filepath.Join(s.dir, agentToken+".conf"), defaultAnnotation).write(t.Context(), "n1", []byte("x")), "does not say which node")
	for _, value := range [][]byte{[]byte("x"), []byte("y"), nil, []byte("x")} {
		if err := own.write(t.Context(), "n1", value); err != nil {
			t.Errorf("its own annotation, %q: %v", value, err)
		}
	}
	// The policy does not affect other users.
	if err := client(filepath.Join(s.dir, adminToken+".conf"), "other").write(t.Context(), "n2", []byte("x")); err != nil {
		t.Errorf("the administrator: %v", err)
	}
}

// TestThousandNodes measures what a change of one member costs the agent of another member.
func TestThousandNodes(t *testing.T) {
	s := newServer(t)
	s.apply()
	list := s.allow(*members)
	policy, err := agent.Files{Allow: list}.Load()
	if err != nil {
		t.Fatal(err)
	}
	record := func(i, port int) string {
		self := member.Self{Addresses: []string{fmt.Sprintf("192.0.2.2:%d", port)}}
		r, err := self.Record(fmt.Sprint("n", i), policy)
		if err != nil {
			t.Fatal(err)
		}
		return string(r.Format())
	}
	var others []string
	s.addNode(1, nil)
	for i := 2; i <= *members; i++ {
		s.addNode(i, map[string]string{defaultAnnotation: record(i, 20000)})
		others = append(others, fmt.Sprint("n", i))
	}
	n := s.join(1, list)
	t.Logf("%d members are peers after %v", *members, n.await(time.Minute, others...))
	admin := dialed(t, filepath.Join(s.dir, adminToken+".conf"), defaultAnnotation)
	const changes = 50
	before := used(t)
	var took []time.Duration
	for i := range changes {
		text := record(2, 30000+i)
		if err := admin.write(t.Context(), "n2", []byte(text)); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		for {
			data, err := os.ReadFile(filepath.Join(n.dir, "fleet-n2.toml"))
			if err == nil && bytes.Contains(data, fmt.Appendf(nil, ":%d", 30000+i)) {
				break
			}
			if time.Since(begin) > 5*time.Second {
				t.Fatalf("change %d has not come", i)
			}
			time.Sleep(time.Millisecond)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	each := (used(t) - before) / changes
	t.Logf("a change is there after %v, at most %v, and costs %v of processor, writing it and looking for it included", took[changes/2], took[changes-1], each)
	if each > 10*time.Millisecond {
		t.Errorf("a change costs %v", each)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(status), "\n") {
		if strings.HasPrefix(line, "VmRSS") {
			t.Log(line, "with the test")
		}
	}
}

// used returns the processor time that this process has used. The process runs the agent.
func used(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
