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
	// judgedMost is the largest packet in bytes about which the filter decides: the UDP payload of
	// an Ethernet packet over IPv4. A longer packet may be a train that the kernel merged, of which
	// the filter sees only the first packet. An attacker who forges a packet at the front of a
	// train must not make the filter drop the other packets. So the receiving process checks the
	// packets of trains. If there are too many trains, the filter drops a part of them (Shares).
	judgedMost = 1472

	// One in doubtShare of the packets that seem foreign passes. So `srdtun show` still reports
	// strangers' packets. This also matters for short trains: the kernel may merge a forged small
	// packet with small packets after it, and the filter then drops most of these trains, but not
	// all. The value of doubtShare must be a power of two.
	doubtShare = 64
)

// Refuse makes the kernel drop most foreign packets, on all sockets. A foreign packet has an
// unknown type, is too short for its type, or has a receiver index that does not begin with the
// 16 bits of `prefix`. Dropped packets take no space in the sockets' buffers and no time of this
// process. The filter is no proof of origin, because an observer of one packet learns the
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

// Shares sets how many packets pass of those that the filter can neither accept nor reject. A
// share of n, a power of two, means one in n packets.
type Shares struct {
	Initiations uint32 // initiations without a cookie's MAC: the filter cannot distinguish their senders
	Cookies     uint32 // initiations with a cookie's MAC, valid or not
	Trains      uint32 // trains whose first packet seems foreign
}

// Thin is like Refuse for socket i only, with the shares s.
func (b *Bank) Thin(i int, s Shares) error {
	for _, fd := range b.socks[i].FDs() {
		if err := b.attach(fd, s); err != nil {
			return err
		}
	}
	return nil
}

// attach sets the filter of one socket.
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

// line is one instruction of a filter, with labels in place of jump distances.
type line struct {
	label   string // label of this instruction
	do      bpf.Instruction
	yes, no string // target of a conditional jump; "": the next line
}

// udpHeaderLen is the length of the UDP header. The filter's input begins with this header.
const udpHeaderLen = 8

// judge returns the filter as a program in classic BPF, which needs no privilege. A load beyond
// the packet's end makes the kernel drop the packet.
func judge(prefix uint16, shares Shares) []line {
	load := func(at, size int) line {
		return line{do: bpf.LoadAbsolute{Off: uint32(udpHeaderLen + at), Size: size}}
	}
	is := func(v uint32, yes, no string) line {
		return line{do: bpf.JumpIf{Cond: bpf.JumpEqual, Val: v}, yes: yes, no: no}
	}
	least := func(size int) line {
		return line{do: bpf.LoadConstant{Dst: bpf.RegX, Val: uint32(udpHeaderLen + size)}}
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
		{do: bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: udpHeaderLen + judgedMost}, yes: "long"},
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
		load(handshake.InitiationSize-16, 4), // the second MAC, zero without a cookie
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

// resolve replaces labels by jump distances.
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
