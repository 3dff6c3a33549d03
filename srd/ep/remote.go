package ep

import "context"

// Write copies data to a position in a region of a handle's peer. A write without immediate data
// uses no receive of the peer. The peer's program gets a completion only if the write has
// immediate data (see OpWritten). Write waits and fails like Send, and its completion is added
// to the queue of Sends. The status is StatusRemoteInvalid if the peer has no such region for
// this endpoint, or if data does not fit in the region. A write to a missing or too short region
// writes nothing. After another failure a part of data may have been written.
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

// Read fills buf from a position in a region of a handle's peer. The peer's program gets no
// completion for a read. The options Immediate and Solicited have no effect on a read. Read
// waits and fails like Send, and its completion is added to the queue of Sends. The buffer
// belongs to the endpoint until the completion is polled.
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
