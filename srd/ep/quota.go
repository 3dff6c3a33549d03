package ep

import "sync"

// quota counts the messages of one peer that occupy receives, or the program's memory. It
// outlives the peer's sessions, so a peer that makes another session gains nothing. It is
// safe for concurrent use, and its lock is a leaf.
type quota struct {
	most int

	mu    sync.Mutex
	held  int
	waits *link // was refused
}

// take counts a message, or returns false and notes whom to tell of the next release.
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

// give takes a message from the count. It returns a link to tell of it, if one waits.
func (q *quota) give() (tell *link) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held--
	tell, q.waits = q.waits, nil
	return tell
}

// forget removes a link that ends.
func (q *quota) forget(l *link) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waits == l {
		q.waits = nil
	}
}
