package udp

import (
	"fmt"
	"math"
	"runtime"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/internal/wire"
)

const (
	// judgedMost is the largest packet that the filter judges by itself, in bytes: what
	// an Ethernet packet over IPv4 has room for. What is longer may be a train that the
	// kernel has merged. Of that the filter sees the first packet alone, and whoever
	// forges one in front must not take the others away, so the reader judges it, until
	// there is too much of that (Shares).
	judgedMost = 1472

	// doubtShare: one in so many, a power of two, of those that seem not to be ours
	// comes through all the same. So `show` still tells what strangers send, and whoever
	// forges a small packet in front of small ones that the kernel merges with it takes
	// most of those away, but not all.
	doubtShare = 64
)

// Refuse has the kernel drop, on all sockets, most packets that cannot be for us: of a
// type that is not ours, shorter than their type, or for receiver indices that do not
// begin with the 16 bits of prefix. They take no room in the sockets' buffers then, and
// none of the reader's time. It proves nothing: whoever has seen one packet knows the
// prefix.
func (b *Bank) Refuse(prefix uint16) error {
	b.prefix = prefix
	for i := range b.socks {
		if err := b.Thin(i, Shares{1, 1, 1}); err != nil {
			return err
		}
	}
	return nil
}

// Shares say how much of what a filter cannot judge comes through: one in so many, each
// a power of two.
type Shares struct {
	Initiations uint32 // without a cookie's MAC: all alike, whoever they are from
	Cookies     uint32 // initiations with something in its place
	Trains      uint32 // those whose first packet seems not to be ours
}

// Thin is Refuse for socket i with other shares than all.
func (b *Bank) Thin(i int, s Shares) error {
	for _, fd := range b.socks[i].FDs() {
		if err := b.attach(fd, s); err != nil {
			return err
		}
	}
	return nil
}

// attach gives one socket the filter.
func (b *Bank) attach(fd int, s Shares) error {
	code, err := bpf.Assemble(resolve(judge(b.prefix, s)))
	if err != nil {
		return err
	}
	filter := make([]unix.SockFilter, len(code))
	for i, c := range code {
		filter[i] = unix.SockFilter{Code: c.Op, Jt: c.Jt, Jf: c.Jf, K: c.K}
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	defer runtime.KeepAlive(filter)
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &prog); err != nil {
		return fmt.Errorf("udp: socket filter: %w", err)
	}
	return nil
}

// line is one instruction of a filter, with names in place of distances.
type line struct {
	label   string // its own
	do      bpf.Instruction
	yes, no string // where a conditional jump leads; "": to the next line
}

// behindUDP is the offset of the packet in what the filter sees, which begins with the
// UDP header.
const behindUDP = 8

// judge is the filter, in classic BPF, which the kernel takes from anybody. A load
// beyond the packet's end refuses it.
func judge(prefix uint16, shares Shares) []line {
	load := func(at, size int) line {
		return line{do: bpf.LoadAbsolute{Off: uint32(behindUDP + at), Size: size}}
	}
	is := func(v uint32, yes, no string) line {
		return line{do: bpf.JumpIf{Cond: bpf.JumpEqual, Val: v}, yes: yes, no: no}
	}
	least := func(size int) line {
		return line{do: bpf.LoadConstant{Dst: bpf.RegX, Val: uint32(behindUDP + size)}}
	}
	first := func(kind int) uint32 { return uint32(wire.Version<<4 | kind) }
	oneIn := func(n uint32) line {
		return line{do: bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: n - 1}, yes: "refuse", no: "accept"}
	}
	from := func(label string, l line) line { l.label = label; return l }
	const reserved = 24 // bits below the first byte, zero in all handshake packets
	measure, draw := line{do: bpf.LoadExtension{Num: bpf.ExtLen}}, line{do: bpf.LoadExtension{Num: bpf.ExtRand}}
	return []line{
		measure,
		{do: bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: behindUDP + judgedMost}, yes: "long"},
		load(0, 2), // a data packet's type, and its flags
		least(wire.Overhead),
		is(first(wire.TypeData)<<8, "data", ""),
		load(0, 4),
		is(first(handshake.TypeInitiation)<<reserved, "initiation", ""),
		least(handshake.ResponseSize),
		is(first(handshake.TypeResponse)<<reserved, "response", ""),
		least(handshake.CookieSize),
		is(first(handshake.TypeCookie)<<reserved, "cookie", "doubt"),
		from("long", load(0, 4)),
		is(first(handshake.TypeInitiation)<<reserved, "initiation", ""),
		load(0, 2),
		is(first(wire.TypeData)<<8, "", "train"),
		load(4, 2),
		is(uint32(prefix), "accept", ""),
		from("train", draw),
		oneIn(shares.Trains),
		from("response", load(8, 2)),
		is(uint32(prefix), "length", "doubt"),
		from("cookie", load(4, 2)),
		is(uint32(prefix), "length", "doubt"),
		from("data", load(4, 2)),
		is(uint32(prefix), "length", "doubt"),
		from("length", measure),
		{do: bpf.JumpIfX{Cond: bpf.JumpGreaterOrEqual}, yes: "accept", no: "doubt"},
		from("initiation", least(handshake.InitiationSize)),
		measure,
		{do: bpf.JumpIfX{Cond: bpf.JumpGreaterOrEqual}, no: "doubt"},
		load(handshake.InitiationSize-16, 4), // the second MAC, zeros without a cookie
		is(0, "", "cookied"),
		draw,
		oneIn(shares.Initiations),
		from("cookied", draw),
		oneIn(shares.Cookies),
		from("doubt", draw),
		oneIn(doubtShare),
		{label: "refuse", do: bpf.RetConstant{Val: 0}},
		{label: "accept", do: bpf.RetConstant{Val: math.MaxUint32}},
	}
}

// resolve puts distances in place of names.
func resolve(lines []line) []bpf.Instruction {
	place := map[string]int{}
	for i, l := range lines {
		if l.label != "" {
			place[l.label] = i
		}
	}
	code := make([]bpf.Instruction, len(lines))
	for i, l := range lines {
		skip := func(label string) uint8 {
			if label == "" {
				return 0
			}
			return uint8(place[label] - i - 1)
		}
		switch do := l.do.(type) {
		case bpf.JumpIf:
			do.SkipTrue, do.SkipFalse = skip(l.yes), skip(l.no)
			code[i] = do
		case bpf.JumpIfX:
			do.SkipTrue, do.SkipFalse = skip(l.yes), skip(l.no)
			code[i] = do
		default:
			code[i] = do
		}
	}
	return code
}
