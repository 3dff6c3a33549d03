package main

import (
	"encoding/json"
	"fmt"
	"time"
)

// shaken is when the hosts last shook hands, in seconds since 1970, as each of them says.
type shaken struct{ lab, far int64 }

func (shaken) now() (v shaken, err error) {
	if v.lab, err = handshakeOf("lab"); err == nil {
		v.far, err = handshakeOf("far")
	}
	return v, err
}

// as reports whether v is u, but for the rounding to seconds.
func (v shaken) as(u shaken) bool {
	return max(v.lab, u.lab)-min(v.lab, u.lab) <= 1 && max(v.far, u.far)-min(v.far, u.far) <= 1
}

func handshakeOf(name string) (int64, error) {
	out, err := output("srdtun", "show", name, "--json")
	if err != nil {
		return 0, err
	}
	var v struct {
		Peers []struct {
			Latest int64 `json:"latest_handshake_unix_s"`
		} `json:"peers"`
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil || len(v.Peers) != 1 || v.Peers[0].Latest == 0 {
		return 0, fmt.Errorf("%s: %v in %s", name, err, out)
	}
	return v.Peers[0].Latest, nil
}

// settled waits until a handshake from now on would be seen by its time, and no keys are
// about to be renewed, which is done after 120 s.
func settled() (v shaken, err error) {
	const young, old = 2 * time.Second, 110 * time.Second
	for range 100 {
		if v, err = v.now(); err != nil {
			return v, err
		}
		age := min(time.Since(time.Unix(v.lab, 0)), time.Since(time.Unix(v.far, 0)))
		if age > young && age < old {
			return v, nil
		}
		time.Sleep(time.Second)
	}
	return v, fmt.Errorf("handshakes at %+v", v)
}
