package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func example() *image {
	return &image{arch: "arm64", tag: "srdtun:0.3.0", made: time.Unix(1795000000, 0).UTC(), health: true, program: []byte("program"), license: []byte("licence")}
}

// unpack returns the files of a tar file. It fails the test unless all files belong to root and
// have the image's time.
func unpack(t *testing.T, text []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(text)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.ModTime.Unix() != 1795000000 {
			t.Errorf("%s is of user %d, %s", h.Name, h.Uid, h.ModTime)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = data
	}
}

func decode(t *testing.T, text []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// podman and skopeo read the index, and docker reads manifest.json. Both must refer to the same
// files, and each file must match its digest.
func TestImageIsReadBothWays(t *testing.T) {
	var b bytes.Buffer
	if err := example().write(&b); err != nil {
		t.Fatal(err)
	}
	files := unpack(t, b.Bytes())
	for name, text := range files {
		if digest, is := strings.CutPrefix(name, blobs); is && digest != sum(text) {
			t.Errorf("%s is %s", name, sum(text))
		}
	}
	blob := func(d descriptor) []byte {
		text, ok := files[blobs+strings.TrimPrefix(d.Digest, "sha256:")]
		if !ok || len(text) != d.Size {
			t.Fatalf("%s: %d bytes, want %d", d.Digest, len(text), d.Size)
		}
		return text
	}
	var top index
	decode(t, files["index.json"], &top)
	var m manifest
	decode(t, blob(top.Manifests[0]), &m)
	var docker []saved
	decode(t, files["manifest.json"], &docker)
	if !bytes.Equal(blob(m.Config), files[docker[0].Config]) || !bytes.Equal(blob(m.Layers[0]), files[docker[0].Layers[0]]) || docker[0].RepoTags[0] != "srdtun:0.3.0" {
		t.Errorf("manifest.json is %+v", docker)
	}
	var c imageConfig
	decode(t, blob(m.Config), &c)
	if c.Architecture != "arm64" || c.RootFS.DiffIDs[0] != m.Layers[0].Digest {
		t.Errorf("the configuration is %+v", c)
	}
	inside := unpack(t, blob(m.Layers[0]))
	if string(inside[programPath]) != "program" || string(inside[licensePath]) != "licence" {
		t.Errorf("the image has %q", inside)
	}
	var again bytes.Buffer
	if err := example().write(&again); err != nil || !bytes.Equal(again.Bytes(), b.Bytes()) {
		t.Errorf("a second image is another: %v", err)
	}
}

// The image must have the same settings as the image that the Dockerfile builds.
func TestImageIsThatOfTheDockerfile(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	words := func(instruction string) (v []string) {
		found := regexp.MustCompile(`(?m)^` + instruction + ` (\[.*\])$`).FindSubmatch(text)
		if found == nil {
			t.Fatalf("the Dockerfile has no %s", instruction)
		}
		decode(t, found[1], &v)
		return v
	}
	c := example().config(nil).Config
	h := c.Healthcheck
	timing := fmt.Sprintf("HEALTHCHECK --interval=%s --timeout=%s --start-period=%s CMD", h.Interval, h.Timeout, h.StartPeriod)
	if !slices.Equal(c.Entrypoint, words("ENTRYPOINT")) || !slices.Equal(c.Cmd, words("CMD")) || !slices.Equal(h.Test[1:], words(timing)) {
		t.Errorf("the image is run as %+v %+v", c, *h)
	}
	for _, file := range []string{programPath, licensePath} {
		if !strings.Contains(string(text), " /"+file+"\n") {
			t.Errorf("the Dockerfile has no /%s", file)
		}
	}
}
