package config

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// wgKey is a wg(8) or wg-quick(8) key that has a counterpart in srdtun.
type wgKey struct {
	section, key string // in srdtun's configuration
	word         string // spelling in the manual of wg-quick(8)
	empty        bool   // wg-quick(8) accepts an empty value, and ignores the line
	// The function one() parses a value without spaces, and returns it as TOML, or "" for
	// srdtun's default.
	one func(im *importer, value string) (string, error)
	// The function list() adds the members of a value to the section's list.
	list func(im *importer, k wgKey, value string) error
}

// wgKeys has the wg-quick keys by their names in lower case.
var wgKeys map[string]wgKey

func init() { // init avoids an initialization cycle, because functions in the table read the table
	wgKeys = map[string]wgKey{}
	for _, k := range []wgKey{
		{"interface", "private_key", "PrivateKey", false, wgKeyText, nil},
		{"interface", "address", "Address", true, nil, wgAddresses},
		{"interface", "listen_port", "ListenPort", false, wgPort, nil},
		{"interface", "mtu", "MTU", true, wgMTU, nil},
		{"interface", "fwmark", "FwMark", false, wgMark, nil},
		{"interface", "table", "Table", true, wgTable, nil},
		{"interface", "dns", "DNS", true, nil, wgResolvers},
		{"interface", "saveconfig", "SaveConfig", false, wgSave, nil},
		{"peer", "public_key", "PublicKey", false, wgKeyText, nil},
		{"peer", "preshared_key", "PresharedKey", false, wgPreshared, nil},
		{"peer", "endpoints", "Endpoint", false, wgEndpoint, nil},
		{"peer", "allowed_ips", "AllowedIPs", true, nil, wgAllowed},
		{"peer", "persistent_keepalive", "PersistentKeepalive", false, wgKeepalive, nil},
	} {
		wgKeys[strings.ToLower(k.word)] = k
	}
}

const (
	isAmnezia  = "a setting of AmneziaWG that disguises packets; srdtun does not disguise packets"
	isAndroid  = "a setting of the Android app that selects programs"
	isTunSafe  = "a setting of TunSafe"
	isWireSock = "a setting of WireSock for Windows"
	isWARP     = "a setting of Cloudflare WARP, which does not support srdtun"
)

// wgForeign has keys that other programs add to wg-quick files. The keys in wgForeign affect
// nothing inside the tunnel, so the file keeps its meaning without them. A key that affects
// routing, such as ExcludedIPs, is not in wgForeign, so the import fails.
var wgForeign = map[string]string{
	"jc": isAmnezia, "jmin": isAmnezia, "jmax": isAmnezia, "itime": isAmnezia,
	"s1": isAmnezia, "s2": isAmnezia, "s3": isAmnezia, "s4": isAmnezia,
	"h1": isAmnezia, "h2": isAmnezia, "h3": isAmnezia, "h4": isAmnezia,
	"i1": isAmnezia, "i2": isAmnezia, "i3": isAmnezia, "i4": isAmnezia, "i5": isAmnezia,
	"j1": isAmnezia, "j2": isAmnezia, "j3": isAmnezia,
	"advancedsecurity": isAmnezia, "headerprotectionkey": isAmnezia, "contentpaddingaddition": isAmnezia, "randomtrailers": isAmnezia,
	"disablecookies": isAmnezia, "rekeyaftertime": isAmnezia, "rekeytimeout": isAmnezia, "rejectaftertime": isAmnezia,
	"keepalivetimeout": isAmnezia, "maxhandshakeattempts": isAmnezia,
	"includedapplications": isAndroid, "excludedapplications": isAndroid,
	"blockdns": isTunSafe, "blockinternet": isTunSafe, "obfuscatekey": isTunSafe, "obfuscatetcp": isTunSafe,
	"allowmulticast": isTunSafe, "features": isTunSafe,
	"allowedapps": isWireSock, "disallowedapps": isWireSock, "bypasslantraffic": isWireSock, "virtualadaptermode": isWireSock,
	"id": isWireSock, "ip": isWireSock, "ib": isWireSock,
	"reserved": isWARP, "clientid": isWARP,
}

// wgWord returns the wg-quick(8) name of a configuration key, or "".
func wgWord(key string) string {
	for _, k := range wgKeys {
		if k.key == key {
			return k.word
		}
	}
	return ""
}

// inWGWords replaces configuration keys in a message by wg-quick(8) names.
func inWGWords(msg string) string {
	for _, s := range schema {
		for _, k := range s.keys {
			if word := wgWord(k.name); word != "" && strings.ContainsRune(k.name, '_') {
				msg = strings.ReplaceAll(msg, k.name, word)
			}
		}
	}
	return strings.ReplaceAll(msg, "interface.", "")
}

// wgWords returns the wg-quick(8) keys, sorted.
func wgWords() (words []string) {
	for _, k := range wgKeys {
		words = append(words, k.word)
	}
	words = append(words, wgHooks...)
	slices.Sort(words)
	return words
}

// wgKeyText parses a private or public key. Parse later checks the spelling of a public key in
// the result.
func wgKeyText(_ *importer, value string) (string, error) {
	k, err := ParseSecret(value)
	if err == nil && k.IsZero() {
		err = errors.New("is not a key: it is all zeros")
	}
	return inTOML(value), err
}

// wgPreshared parses a preshared key. A preshared key of zeros means no key (wg(8)).
func wgPreshared(_ *importer, value string) (string, error) {
	k, err := ParseSecret(value)
	if err != nil || k.IsZero() {
		return "", err
	}
	return inTOML(value), nil
}

func wgPort(_ *importer, value string) (string, error) {
	port, err := parsePort(value)
	if err != nil {
		return "", fmt.Errorf("%s is not a port; want a number from 0 to 65535", quoted(value))
	}
	return strconv.Itoa(int(port)), nil
}

// leastMTU is the packet size in bytes that every host must accept (RFC 791, section 3.1). An MTU
// below leastMTU is refused as a mistake.
const leastMTU = 576

// wgMTU raises an MTU below srdtun's minimum. A wg-quick file may have a small MTU because of the
// outer network. In srdtun the outer network does not limit the size of inner packets.
func wgMTU(im *importer, value string) (string, error) {
	n, err := strconv.ParseUint(value, 0, 31) // ip(8) accepts hexadecimal too
	switch {
	case err != nil || n < leastMTU || n > maxMTU:
		return "", fmt.Errorf("%s is not an MTU; want a number from %d to %d", quoted(value), leastMTU, maxMTU)
	case n < minMTU:
		im.note(im.line, "MTU", "%d is raised to %d, which IPv6 needs; srdtun cuts packets to the size that the network outside carries", n, minMTU)
		n = minMTU
	}
	return strconv.FormatUint(n, 10), nil
}

func wgMark(_ *importer, value string) (string, error) {
	if strings.EqualFold(value, "off") {
		return `"off"`, nil
	}
	digits, base := value, 10
	if hex, ok := strings.CutPrefix(strings.ToLower(value), "0x"); ok {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil {
		return "", fmt.Errorf("%s is not a mark; want off or a number from 0 to 0xffffffff", quoted(value))
	}
	if base == 16 {
		return fmt.Sprintf("0x%x", n), nil
	}
	return strconv.FormatUint(n, 10), nil
}

// wgTables has the routing tables that have a name in ip(8) on every host.
var wgTables = map[string]uint32{"main": 254, "default": 253, "local": 255, "0": 254}

func wgTable(im *importer, value string) (string, error) {
	if low := strings.ToLower(value); low == "auto" || low == "off" {
		return inTOML(low), nil
	}
	id, ok := im.opt.Tables[value]
	if !ok {
		id, ok = wgTables[value]
	}
	if ok && id > 0 {
		return strconv.FormatUint(uint64(id), 10), nil
	}
	if n, err := strconv.ParseUint(value, 0, 32); err == nil && n > 0 {
		return strconv.FormatUint(n, 10), nil
	}
	return "", fmt.Errorf("no routing table of this host has the name %s (/etc/iproute2/rt_tables); want off, auto, a number from 1 to %d or such a name", quoted(value), uint32(math.MaxUint32))
}

// wgSave leaves out SaveConfig, because srdtun never writes the file on its own.
func wgSave(im *importer, value string) (string, error) {
	switch strings.ToLower(value) {
	case "true":
		why := "not taken over: " + insteadOfSave
		im.note(im.line, "SaveConfig", "%s", why)
		im.at.remarks = append(im.at.remarks, "SaveConfig = true", "  ^ "+why)
	case "false":
	default:
		return "", fmt.Errorf("%s is neither true nor false", quoted(value))
	}
	return "", nil
}

// insteadOfSave is the advice for a file with SaveConfig.
const insteadOfSave = "srdtun set --save writes its changes to the file"

func wgKeepalive(_ *importer, value string) (string, error) {
	if strings.EqualFold(value, "off") {
		return `"off"`, nil
	}
	n, err := strconv.ParseUint(value, 10, 16)
	if err != nil || value[0] == '+' {
		return "", fmt.Errorf("%s is not an interval; want off or a number of seconds from 0 to %d", quoted(value), maxKeepaliveSeconds)
	}
	return strconv.FormatUint(n, 10), nil
}

// wgEndpoint accepts the syntax of wg(8): the port follows the last colon, even in an IPv6
// address without brackets.
func wgEndpoint(_ *importer, value string) (string, error) {
	host, port := value, ""
	if inner, ok := strings.CutPrefix(value, "["); ok {
		host, port, ok = strings.Cut(inner, "]:")
		if !ok {
			return "", fmt.Errorf("%s: want [address]:port", quoted(value))
		}
	} else if cut := strings.LastIndexByte(value, ':'); cut >= 0 {
		host, port = value[:cut], value[cut+1:]
	}
	n, err := parsePort(port)
	switch {
	case port == "":
		return "", fmt.Errorf("%s: the port is missing; want host:port", quoted(value))
	case strings.ContainsRune(value, ','):
		return "", fmt.Errorf("%s: want one host:port; a peer of wg's has no second", quoted(value))
	case err != nil || n == 0:
		return "", fmt.Errorf("%s: the port must be a number from 1 to 65535", quoted(value))
	}
	if host, err = checkHost(host); err != nil {
		return "", fmt.Errorf("%s: %w", quoted(value), err)
	}
	return listTOML([]string{Endpoint{Host: host, Port: n}.String()}), nil
}

// wgSplit splits a list at commas and spaces, as wg-quick(8) does.
func wgSplit(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
}

// put adds a member to a list that does not have it yet.
func (f *wgField) put(text string, line int) {
	one := wgItem{inTOML(text), line}
	if !slices.ContainsFunc(f.items, func(i wgItem) bool { return i.text == one.text }) {
		f.items = append(f.items, one)
	}
}

func wgAddresses(im *importer, k wgKey, value string) error {
	for _, part := range wgSplit(value) {
		prefix, err := wgPrefix(part)
		if err == nil {
			if _, err = parseAddr(prefix.Addr().String()); err != nil {
				err = fmt.Errorf("%s: %w", quoted(part), err)
			}
		}
		if err != nil {
			return im.fail(im.line, k.word, "%v", err)
		}
		text := prefix.String()
		if !strings.Contains(part, "/") {
			text = prefix.Addr().String()
		}
		im.at.add(k.key, k.word, im.line).put(text, im.line)
	}
	return nil
}

func wgResolvers(im *importer, k wgKey, value string) error {
	for _, part := range wgSplit(value) {
		if err := checkDNS(part); err != nil {
			return im.fail(im.line, k.word, "%s: %v", quoted(part), err)
		}
		im.at.add(k.key, k.word, im.line).put(part, im.line)
	}
	return nil
}

// wgAllowed adds prefixes to the list, and removes prefixes with a minus sign (wg(8),
// allowed-ips).
func wgAllowed(im *importer, k wgKey, value string) error {
	f := im.at.add(k.key, k.word, im.line)
	for part := range strings.SplitSeq(strings.Join(strings.Fields(value), ""), ",") {
		if part == "" {
			continue
		}
		prefix, err := wgPrefix(strings.TrimLeft(part[:1], "+-") + part[1:])
		if err != nil {
			return im.fail(im.line, k.word, "%v", err)
		}
		text := prefix.Masked().String()
		if part[0] != '-' {
			f.put(text, im.line)
			continue
		}
		f.items = slices.DeleteFunc(f.items, func(i wgItem) bool { return i.text == inTOML(text) })
	}
	return nil
}

// wgPrefix parses a prefix, and accepts leading zeros in the length, as wg(8) does.
func wgPrefix(text string) (netip.Prefix, error) {
	addr, length, ok := strings.Cut(text, "/")
	if n, err := strconv.ParseUint(length, 10, 8); ok && err == nil && length[0] != '+' {
		return parsePrefix(addr + "/" + strconv.FormatUint(n, 10))
	}
	return parsePrefix(text)
}
