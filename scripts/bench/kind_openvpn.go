package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

var openvpn = kind{"openvpn", "openvpn", startOpenVPN}

// openvpnFlags are those of both ends: a point-to-point link over UDP whose MTU
// keeps outer packets below 1500 bytes, with the queue length that the other
// daemons have.
var openvpnFlags = strings.Fields("--dev-type tun --topology p2p --proto udp4 --tun-mtu 1420 --mssfix 0" +
	" --data-ciphers AES-256-GCM --txqueuelen 500 --verb 2 --keepalive 5 30")

func startOpenVPN(b *bench, s *site) (*link, error) {
	dir, err := os.MkdirTemp(b.scratch, "openvpn")
	if err != nil {
		return nil, err
	}
	d := &daemons{}
	l := &link{to: innerB, dev: fabric.TunnelName("b"), close: func() error {
		return firstError(d.close(), os.RemoveAll(dir))
	}}
	printA, errA := selfSigned(dir, "a")
	printB, errB := selfSigned(dir, "b")
	if err := firstError(errA, errB); err != nil {
		return l, err
	}
	start := func(h *fabric.Host, name string, args ...string) error {
		args = append(args, "--dev", fabric.TunnelName(name), "--cert", filepath.Join(dir, name+".crt"), "--key", filepath.Join(dir, name+".key"))
		p, err := h.Start("openvpn", append(args, openvpnFlags...)...)
		if err != nil {
			return err
		}
		d.running, l.pids = append(d.running, p), append(l.pids, p.Pid())
		return nil
	}
	if err := start(s.b, "b", "--lport", "1194", "--tls-server", "--dh", "none", "--peer-fingerprint", printA,
		"--ifconfig", innerB.String(), innerA.String()); err != nil {
		return l, err
	}
	if err := start(s.a, "a", "--nobind", "--remote", s.b.Addr4().String(), "1194", "--tls-client", "--peer-fingerprint", printB,
		"--ifconfig", innerA.String(), innerB.String()); err != nil {
		return l, err
	}
	if err := reach(s.a, innerB); err != nil {
		return l, fmt.Errorf("%w\n%s%s", err, d.running[0].Log.String(), d.running[1].Log.String())
	}
	return l, nil
}

// certLife is longer than any run.
const certLife = 7 * 24 * time.Hour

// selfSigned writes NAME.key and NAME.crt and returns the fingerprint by which
// the other end knows it: SHA-256, in pairs of hexadecimal digits.
func selfSigned(dir, name string) (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	subject := pkix.Name{CommonName: name}
	// It begins in the past, for a clock that steps back between making and use.
	now := time.Now().Add(-time.Hour)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: subject, NotBefore: now, NotAfter: now.Add(certLife)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return "", err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", err
	}
	for file, block := range map[string]*pem.Block{
		name + ".key": {Type: "PRIVATE KEY", Bytes: secret},
		name + ".crt": {Type: "CERTIFICATE", Bytes: der},
	} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			return "", err
		}
	}
	var hex []string
	for _, b := range sha256.Sum256(der) {
		hex = append(hex, fmt.Sprintf("%02X", b))
	}
	return strings.Join(hex, ":"), nil
}
