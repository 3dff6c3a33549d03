//go:build race

package ep

import (
	"runtime"
	"unsafe"
)

// sends stands for all messages of the process. As package syscall does, the race detector is told
// that a call of Send happens before the poll of a message. The detector cannot see that, because
// the bytes pass through the kernel. So it would report races between two endpoints of a process.
var sends byte

func noteSend() { runtime.RaceReleaseMerge(unsafe.Pointer(&sends)) }
func notePoll() { runtime.RaceAcquire(unsafe.Pointer(&sends)) }
