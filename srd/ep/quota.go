package ep

import "sync"

// quota counts one peer's messages that occupy receives or the program's memory. A quota
// outlives the peer's sessions, so a peer gains nothing by a new session. A quota is safe for
// concurrent use. No other lock is taken while its lock is held.
type quota struct {
	most int

	mu    sync.Mutex
	held  int
	waits *link // a link whose message was refused
}

// take counts a message. If the quota is exhausted, take() returns false and records l for
// the next call of give().
func (q *quota) take(l *link) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held >= q.most {
		q.waits = l
		return false
	}
	q.held++
	return true
}

// give removes a message from the count, and returns the link that the last refused call of
// take() recorded, or nil.
func (q *quota) give() (tell *link) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held--
	tell, q.waits = q.waits, nil
	return tell
}

// forget removes the reference to a link that is ending.
func (q *quota) forget(l *link) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waits == l {
		q.waits = nil
	}
}
