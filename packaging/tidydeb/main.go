// Command tidydeb removes an empty list of conffiles from debs. Instead of an empty list
// nfpm writes one line end. dpkg-deb refuses such a list when somebody packs the deb
// again.
//
//	tidydeb FILE...
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
)

const (
	magic  = "!<arch>\n" // ar(5)
	header = 60          // bytes before each member
	sizeAt = 48          // of the member's size in its header, ten digits
	sizeTo = 58

	control   = "control.tar.gz"
	conffiles = "conffiles"
)

func main() {
	for _, file := range os.Args[1:] {
		if err := tidy(file); err != nil {
			fmt.Fprintf(os.Stderr, "tidydeb: %s: %v\n", file, err)
			os.Exit(1)
		}
	}
}

func tidy(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	rest, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok {
		return errors.New("no ar archive")
	}
	out := bytes.NewBufferString(magic)
	found := false
	for len(rest) >= header {
		head := bytes.Clone(rest[:header])
		n, err := strconv.Atoi(strings.TrimSpace(string(head[sizeAt:sizeTo])))
		if err != nil || n < 0 || n > len(rest)-header {
			return errors.New("a member has no size")
		}
		body := rest[header : header+n]
		rest = rest[min(len(rest), header+n+n%2):]
		if name := strings.TrimRight(string(head[:16]), " /"); name == control {
			found = true
			if body, err = without(body); err != nil {
				return err
			}
			copy(head[sizeAt:sizeTo], fmt.Sprintf("%-10d", len(body)))
		}
		out.Write(head)
		out.Write(body)
		if len(body)%2 == 1 {
			out.WriteByte('\n')
		}
	}
	if !found {
		return errors.New("no " + control)
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

// without returns a tar file without the file conffiles, if that file contains only
// blanks.
func without(packed []byte) ([]byte, error) {
	in, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	from, to := tar.NewReader(in), tar.NewWriter(z)
	for {
		h, err := from.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(from)
		if err != nil {
			return nil, err
		}
		if path.Base(h.Name) == conffiles && len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if err := to.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := to.Write(text); err != nil {
			return nil, err
		}
	}
	err = errors.Join(to.Close(), z.Close())
	return b.Bytes(), err
}
