package tundev

import (
	"errors"
	"fmt"
	"os"

	"github.com/srdtun/srdtun/overlay/frame"
	"golang.org/x/sys/unix"
)

// MaxQueues bounds the number of queues of a device, one for each thread that reads.
const MaxQueues = 16

// Queue is one of the device's queues. The kernel assigns all packets of a flow to one queue.
// Only one goroutine may call ReadBatch.
type Queue struct {
	dev    *Device
	file   *os.File // nil for the first queue, whose file the field native owns
	fd     int
	reader reader
}

// FD returns the queue's descriptor, for polling. A read of the descriptor does not block.
// Device.Close closes the descriptor.
func (q *Queue) FD() int { return q.fd }

// Queue returns the queue with index i, which must be below Queues.
func (d *Device) Queue(i int) *Queue { return d.queues[i] }

// Queues returns the number of queues of the device.
func (d *Device) Queues() int { return len(d.queues) }

// cloneDevice is the device file through which TUN devices are created.
const cloneDevice = "/dev/net/tun"

// attach opens a queue of the device with the given name. The first attached queue creates the
// device. If the name contains %d, the kernel inserts a number. The descriptor is set non-blocking
// only after it is wrapped in a file. Otherwise Go's poller would watch it, and wake up for every
// packet.
func attach(name string, several bool) (f *os.File, actual string, err error) {
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		return nil, "", err
	}
	flags := uint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if several {
		flags |= unix.IFF_MULTI_QUEUE
	}
	ifr.SetUint16(flags)
	fd, err := openClone()
	if err != nil {
		return nil, "", err
	}
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr); err != nil {
		return nil, "", errors.Join(notCreated(err), unix.Close(fd))
	}
	f = os.NewFile(uintptr(fd), cloneDevice)
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, "", errors.Join(err, f.Close())
	}
	return f, ifr.Name(), nil
}

// addQueues opens n queues in addition to the first, and records refusals of the kernel. The
// device works with fewer queues too.
func (d *Device) addQueues(n int) {
	for range n {
		f, _, err := attach(d.name, true)
		if err != nil {
			d.offloads.Problems = append(d.offloads.Problems, fmt.Sprintf("queue %d: %v", len(d.queues), err))
			return
		}
		if !d.addQueue(f) {
			return
		}
	}
}

// addQueue adds a queue for an open file of the device, and takes ownership of the file.
func (d *Device) addQueue(f *os.File) bool {
	q := &Queue{dev: d, file: f}
	raw, err := f.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { q.fd = int(fd) })
	}
	if err != nil {
		f.Close()
		d.offloads.Problems = append(d.offloads.Problems, err.Error())
		return false
	}
	d.queues = append(d.queues, q)
	return true
}

// ReadBatch reads frames into dst and returns their number, without blocking. ReadBatch ends
// when the queue is empty, when dst is full, or when at least `most` bytes have been read.
// ReadBatch parses each frame, and sets its Data, Facts, Flow and TCP. The caller owns the
// returned frames. ReadBatch drops and counts packets that cannot be carried. ReadBatch returns
// os.ErrClosed after Close, ErrGone, or an error of read(2).
func (q *Queue) ReadBatch(dst []*frame.Frame, most int) (int, error) {
	d := q.dev
	d.life.RLock()
	defer d.life.RUnlock()
	if d.closed {
		return 0, os.ErrClosed
	}
	n := 0
	for bytes := 0; n < len(dst) && bytes < most; {
		f, err := q.next()
		if err == unix.EAGAIN || err != nil && n > 0 {
			break // the next call returns the error again
		}
		if err != nil {
			return 0, err
		}
		if f != nil {
			dst[n] = f
			n++
			bytes += len(f.Data)
		}
	}
	return n, nil
}
