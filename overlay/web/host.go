package web

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// Literal accepts requests only for an address or for localhost, and refuses other host names. A
// web site can make its own host name resolve to an address of this host (DNS rebinding). Then a
// browser would let the site's scripts read the responses. If a request names an address, it is not
// part of such an attack. No browser reaches a unix socket, but a proxy in front of it must check
// host names itself.
func Literal(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, file := r.Context().Value(http.LocalAddrContextKey).(*net.UnixAddr)
		if !file && !literal(r.Host) {
			http.Error(w, "use the address of this host, not a name", http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// literal reports whether host is an address or localhost, with or without a port.
func literal(host string) bool {
	name := host
	if h, port, err := net.SplitHostPort(host); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return false
		}
		name = h
	} else {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	_, err := netip.ParseAddr(name)
	return err == nil
}
