package ep

import "context"

// Write copies data to a place in a region of a handle's peer. It uses no receive there. The
// peer's program notices it only by immediate data (see OpWritten). It waits and fails like Send,
// and its completion comes to Sends. The status is StatusRemoteInvalid if the peer has no such
// region for this endpoint, or if data is longer than the region. Then nothing is written. After
// another failure a part may have been written.
func (e *Endpoint) Write(ctx context.Context, h *Handle, to Remote, data []byte, o SendOptions) error {
	if err := h.acquire(ctx); err != nil {
		return err
	}
	return e.submit(h, work{OpWrite, data, to}, &o, nil)
}

// TryWrite is like Write, but returns ErrFull instead of waiting.
func (e *Endpoint) TryWrite(h *Handle, to Remote, data []byte, o SendOptions) error {
	if !h.tryOrPush() {
		return ErrFull
	}
	return e.submit(h, work{OpWrite, data, to}, &o, nil)
}

// Read fills buf from a place in a region of a handle's peer, without notice to the peer's
// program. Immediate and Solicited have no effect. Read waits and fails like Send, and its
// completion comes to Sends. The buffer belongs to the endpoint until the completion is polled.
func (e *Endpoint) Read(ctx context.Context, h *Handle, from Remote, buf []byte, o SendOptions) error {
	if err := h.acquire(ctx); err != nil {
		return err
	}
	return e.submit(h, work{OpRead, buf, from}, &o, nil)
}

// TryRead is like Read, but returns ErrFull instead of waiting.
func (e *Endpoint) TryRead(h *Handle, from Remote, buf []byte, o SendOptions) error {
	if !h.tryOrPush() {
		return ErrFull
	}
	return e.submit(h, work{OpRead, buf, from}, &o, nil)
}
